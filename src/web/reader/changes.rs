//! The forms for the bookmark of a document, and for a feed entry that is not saved.

use actix_web::HttpResponse;
use actors::operations::bookmarks::{
    ChangeBookmark, CreateBookmark, DeleteBookmark, RefetchBookmark, ShowBookmark,
};
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
        "finish" => finish(&request, bookmark, &action_path).await,
        "unfinish" => {
            let target = Target(vec![bookmark.to_string()]);
            request.run_form::<ChangeBookmark>(&target, &["archived", "progress"]).await?;
            request.done("/library", DoneMessage::new("reader-unfinished"))
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

/// Marks a bookmark as read to its end and archives it. The form that takes it back has what was stored before.
async fn finish(
    request: &PageRequest,
    bookmark: BookmarkId,
    action_path: &str,
) -> Result<HttpResponse, Error> {
    let target = Target(vec![bookmark.to_string()]);
    let before = request.run_json::<ShowBookmark>(&target, json!({})).await?.bookmark;
    change(request, bookmark, json!({ "archived": true, "progress": 1.0 })).await?;
    let (archived, progress) = (before.archived.to_string(), before.progress.to_string());
    let fields = [("action", "unfinish"), ("archived", archived.as_str()), ("progress", progress.as_str())];
    request.done("/library", DoneMessage::new("reader-finished").undo(action_path, &fields))
}

/// Saves the page of a feed entry to the library.
async fn save(request: &PageRequest, document: &ReadPageResponse, path: &str) -> Result<HttpResponse, Error> {
    let url = document.url.as_ref().ok_or(Error::not_found())?;
    let saved = request.run_json::<CreateBookmark>(&Target::default(), json!({ "url": url })).await?;
    let key = if saved.created { "reader-saved" } else { "reader-saved-before" };
    request.done(path, DoneMessage::new(key))
}
