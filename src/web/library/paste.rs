//! Pastes the text of a page that the server cannot fetch.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actors::operations::bookmarks::{BookmarkView, ShowBookmark, SupplyContent};
use askama::Template;
use errors::Error;
use serde_json::json;

use crate::parts;
use crate::web::filters;
use crate::web::page::done::DoneMessage;
use crate::web::page::faults::FormFaults;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::{NavigationEntry, Shell};

/// The longest pasted page, in bytes.
pub const MAX_PASTED_BYTES: usize = 6 << 20;

/// The form for the text of a page.
#[derive(Template)]
#[template(path = "library/paste.html", blocks = ["dialog"])]
struct PastePage {
    shell: Shell,
    bookmark: BookmarkView,
    faults: FormFaults,
    back: String,
}

parts!(PastePage { "dialog" => as_dialog });

/// Shows the form.
pub async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    show_with(&request, StatusCode::OK, FormFaults::default()).await
}

/// Takes the text: HTML if it begins like a page, or plain text.
pub async fn supply(request: PageRequest) -> Result<HttpResponse, Error> {
    let pasted = request.form.text("content");
    let field = if is_html(pasted) { "html" } else { "text" };
    match request.run_json::<SupplyContent>(&request.target(), json!({ field: pasted })).await {
        Ok(_) => request.done(&request.back("/library"), DoneMessage::new("library-done-pasted")),
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            show_with(&request, status, faults).await
        }
    }
}

async fn show_with(
    request: &PageRequest,
    status: StatusCode,
    faults: FormFaults,
) -> Result<HttpResponse, Error> {
    let bookmark = request.run_query::<ShowBookmark>(&request.target(), &[]).await?.bookmark;
    let shell = request.shell(NavigationEntry::Library).await?;
    let back = request.back("/library");
    request.show_with_status(status, &PastePage { shell, bookmark, faults, back })
}

/// Returns whether a pasted text is the source of a page.
fn is_html(text: &str) -> bool {
    let start = text.trim_start().get(..200).unwrap_or(text.trim_start()).to_ascii_lowercase();
    ["<!doctype", "<html", "<head", "<body", "<article", "<main", "<div", "<p>", "<h1"]
        .iter()
        .any(|tag| start.starts_with(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_of_a_page_is_told_from_text() {
        for html in ["<!DOCTYPE html><p>", "\n <html lang=en>", "<p>A heron."] {
            assert!(is_html(html), "{html}");
        }
        for text in ["", "A heron <p> in text", "<3 herons", "ä".repeat(300).as_str()] {
            assert!(!is_html(text), "{text}");
        }
    }
}
