//! The forms for the bookmark of a document, and for a feed entry that is not saved.

use actix_web::HttpResponse;
use actors::operations::bookmarks::{ChangeBookmark, CreateBookmark, DeleteBookmark, RefetchBookmark};
use actors::operations::reading::{ReadPage, ReadPageResponse};
use actors::target::Target;
use errors::Error;
use serde_json::{Value, json};
use values::id::BookmarkId;

use crate::web::page::done::DoneMessage;
use crate::web::page::request::PageRequest;

/// Changes the bookmark of a document as the button of the form says, and leads back to the text.
///
/// # Errors
/// [`Error::NotFound`] when there is no such document or it has no bookmark; [`Error::Invalid`] for another action; those of the change.
pub async fn change_bookmark(request: PageRequest) -> Result<HttpResponse, Error> {
    let document = request.run(ReadPage(request.target().id(0)?)).await?;
    let path = format!("/read/{}", document.document_id);
    let action = request.form.text("action").to_owned();
    if action == "save" {
        return save(&request, &document, &path).await;
    }
    let bookmark = document.bookmark.as_ref().ok_or(Error::not_found())?.bookmark_id;
    let action_path = format!("{path}/bookmark");
    let undo = |done: DoneMessage, back: &str| done.undo(action_path.clone(), &[("action", back)]);
    match action.as_str() {
        "favorite" => {
            change(&request, bookmark, json!({ "favorite": true })).await?;
            request.done(&path, undo(DoneMessage::new("reader-favorite-on"), "unfavorite"))
        }
        "unfavorite" => {
            change(&request, bookmark, json!({ "favorite": false })).await?;
            request.done(&path, undo(DoneMessage::new("reader-favorite-off"), "favorite"))
        }
        "archive" => {
            change(&request, bookmark, json!({ "archived": true })).await?;
            request.done(&path, undo(DoneMessage::new("reader-archived"), "unarchive"))
        }
        "unarchive" => {
            change(&request, bookmark, json!({ "archived": false })).await?;
            request.done(&path, undo(DoneMessage::new("reader-unarchived"), "archive"))
        }
        "finish" => {
            change(&request, bookmark, json!({ "archived": true, "progress": 1.0 })).await?;
            request.done("/library", undo(DoneMessage::new("reader-finished"), "unarchive"))
        }
        "refetch" => {
            request.run_json::<RefetchBookmark>(&Target(vec![bookmark.to_string()]), json!({})).await?;
            request.done(&path, DoneMessage::new("reader-refetching"))
        }
        "delete" => {
            request.run(DeleteBookmark(bookmark)).await?;
            request.done("/library/trash", DoneMessage::new("reader-deleted"))
        }
        _ => Err(Error::invalid("action", "is none of the actions of the page")),
    }
}

async fn change(request: &PageRequest, bookmark: BookmarkId, fields: Value) -> Result<(), Error> {
    request.run_json::<ChangeBookmark>(&Target(vec![bookmark.to_string()]), fields).await?;
    Ok(())
}

/// Saves the page of a feed entry to the library.
async fn save(request: &PageRequest, document: &ReadPageResponse, path: &str) -> Result<HttpResponse, Error> {
    let url = document.url.as_ref().ok_or(Error::not_found())?;
    let saved = request.run_json::<CreateBookmark>(&Target::default(), json!({ "url": url })).await?;
    let key = if saved.created { "reader-saved" } else { "reader-saved-before" };
    request.done(path, DoneMessage::new(key))
}
