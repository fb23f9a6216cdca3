//! What was deleted in the last 30 days, and how it is restored.

use actix_web::HttpResponse;
use actors::operations::bookmarks::{DeletedBookmarkView, ListTrash, RestoreBookmark};
use actors::target::Target;
use askama::Template;
use errors::Error;
use serde_json::json;
use url::form_urlencoded::byte_serialize;

use super::rows::LibraryRow;
use crate::parts;
use crate::web::filters;
use crate::web::page::done::DoneMessage;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::{NavigationEntry, Shell};
use crate::web::strings::MessageValue;

/// Bookmarks that one form restores.
const MAX_RESTORED_BOOKMARKS: usize = 100;

/// The deleted bookmarks.
#[derive(Template)]
#[template(path = "library/trash.html", blocks = ["trash"])]
struct TrashPage {
    shell: Shell,
    rows: Vec<DeletedRow>,
    here: String,
    next: Option<String>,
}

parts!(TrashPage { "trash-list" => as_trash });

/// A deleted bookmark in the list.
struct DeletedRow {
    row: LibraryRow,
    /// Until when it can be restored.
    until: String,
}

/// Shows the trash.
pub async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let listed = request.run_query::<ListTrash>(&Target::default(), &["cursor"]).await?;
    let shell = request.shell(NavigationEntry::Library).await?;
    let rows = listed.bookmarks.into_iter().map(|deleted: DeletedBookmarkView| {
        let until = request.locale().date(deleted.restorable_until);
        DeletedRow { row: LibraryRow::of_one(deleted.bookmark, &request), until }
    });
    let address = |cursor: &str| {
        let cursor: String = byte_serialize(cursor.as_bytes()).collect();
        format!("/library/trash?cursor={cursor}")
    };
    let here = request.query.get("cursor").map_or_else(|| "/library/trash".to_owned(), address);
    let next = listed.next_cursor.map(|cursor| address(&cursor));
    request.show(&TrashPage { shell, rows: rows.collect(), here, next })
}

/// Restores bookmarks.
pub async fn restore(request: PageRequest) -> Result<HttpResponse, Error> {
    let (mut restored, mut failed) = (0_i64, 0_i64);
    for id in request.form.all("id").take(MAX_RESTORED_BOOKMARKS) {
        match request.run_json::<RestoreBookmark>(&Target(vec![id.to_owned()]), json!({})).await {
            Ok(_) => restored = restored.saturating_add(1),
            // It is gone for good, or its URL was saved again.
            Err(Error::NotFound(_) | Error::Conflict(_)) => failed = failed.saturating_add(1),
            Err(error) => return Err(error),
        }
    }
    let back = request.back("/library/trash");
    let message = match (restored, failed) {
        (0, 0) => DoneMessage::new("library-done-nothing"),
        (restored, 0) => {
            DoneMessage::new("library-done-restored").with("count", MessageValue::Number(restored))
        }
        (_, failed) => {
            DoneMessage::new("library-done-not-restored").with("count", MessageValue::Number(failed))
        }
    };
    request.done(&back, message)
}
