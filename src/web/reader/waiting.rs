//! The page of a document without a text: it waits, or it failed.

use actix_web::HttpResponse;
use askama::Template;
use errors::Error;
use values::kind::ContentType;

use super::page_view::{ReaderView, is_in_progress};
use super::reader_page::ReaderPage;
use crate::parts;
use crate::web::filters;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::{NavigationEntry, Shell};

/// The state of a document without a text.
#[derive(Template)]
#[template(path = "reader/waiting.html", blocks = ["state"])]
struct WaitingPage {
    shell: Shell,
    view: ReaderView,
    is_waiting: bool,
    /// Why the text could not be read; empty if it was read and is empty.
    reason: String,
    can_retry: bool,
    /// Whether the text of the page can be pasted.
    can_paste: bool,
}

parts!(WaitingPage { "state" => as_state });

/// Shows that there is no text yet, or why there is none.
///
/// # Errors
/// Those of the operation that counts what is unread.
pub async fn show(request: &PageRequest, page: ReaderPage) -> Result<HttpResponse, Error> {
    let ReaderPage { document, view } = page;
    let waiting = WaitingPage {
        shell: request.shell(NavigationEntry::Library).await?,
        is_waiting: is_in_progress(&document),
        reason: document.error.clone().unwrap_or_default(),
        can_retry: document.bookmark.is_some() && document.url.is_some(),
        can_paste: document.url.is_some() && document.content_type == ContentType::Article,
        view,
    };
    request.show(&waiting)
}
