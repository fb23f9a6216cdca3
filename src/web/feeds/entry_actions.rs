//! What the forms of entries do.

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use actors::operations::entries::{ChangeEntry, MarkAbove, SaveEntry, TranscribeEntry, UndoMark};
use actors::operations::feeds::RefreshFeeds;
use actors::target::Target;
use errors::Error;
use serde_json::{Value, json};

use super::selection::FeedSelection;
use crate::web::page::done::DoneMessage;
use crate::web::page::fields::Fields;
use crate::web::page::request::PageRequest;
use crate::web::page::route::PageRoute;
use crate::web::strings::MessageValue::Number;

pub(super) fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/feeds/mark").post(mark_above).mount(config);
    PageRoute::new("/feeds/mark/undo").post(undo_mark).mount(config);
    PageRoute::new("/feeds/refresh").post(refresh_all).mount(config);
    PageRoute::new("/feeds/entries/{id}/mark").post(change_mark).mount(config);
    PageRoute::new("/feeds/entries/{id}/save").post(save).mount(config);
    PageRoute::new("/feeds/entries/{id}/transcribe").post(transcribe).mount(config);
}

/// Marks the entries of a list as read from its start to one of them.
async fn mark_above(request: PageRequest) -> Result<HttpResponse, Error> {
    let selection = FeedSelection::of(&request.form);
    let mut members = selection.members();
    if let Some(entry) = request.form.get("up_to") {
        members.insert("upTo".to_owned(), entry.into());
    }
    let marked = request.run_json::<MarkAbove>(&Target(Vec::new()), Value::Object(members)).await?;
    let count = i64::try_from(marked.marked).unwrap_or(i64::MAX);
    let mut done = DoneMessage::new("feeds-marked").with("count", Number(count));
    if let Some(mark) = marked.mark_id {
        done = done.undo("/feeds/mark/undo", &[("mark", &mark.to_string())]);
    }
    request.done(&selection.href(&[]), done)
}

/// Marks the entries as unread again.
async fn undo_mark(request: PageRequest) -> Result<HttpResponse, Error> {
    let mark = Target(vec![request.form.text("mark").to_owned()]);
    let undone = request.run_form::<UndoMark>(&mark, &[]).await?;
    let count = i64::try_from(undone.unmarked).unwrap_or(i64::MAX);
    request.done(&request.back("/feeds"), DoneMessage::new("feeds-unmarked").with("count", Number(count)))
}

async fn refresh_all(request: PageRequest) -> Result<HttpResponse, Error> {
    let queued = request.run(RefreshFeeds).await?.queued;
    let count = i64::try_from(queued).unwrap_or(i64::MAX);
    request.done(&request.back("/feeds"), DoneMessage::new("feeds-refreshing").with("count", Number(count)))
}

/// Sets or removes the mark that the pressed button names.
async fn change_mark(request: PageRequest) -> Result<HttpResponse, Error> {
    let (change, keeps_unread) = match request.form.text("mark") {
        "read" => (json!({ "read": true }), false),
        "unread" => (json!({ "read": false }), true),
        "star" => (json!({ "starred": true }), false),
        "unstar" => (json!({ "starred": false }), false),
        _ => return Err(Error::invalid("mark", "must be one of read, unread, star, unstar")),
    };
    request.run_json::<ChangeEntry>(&request.target(), change).await?;
    let back = request.back("/feeds");
    // The page of an entry marks it as read, unless its address says otherwise.
    Ok(request.redirect(&if keeps_unread { with_kept_unread(&back) } else { back }))
}

/// Adds to an own address that the open entry stays unread.
fn with_kept_unread(path: &str) -> String {
    let (path, fragment) = path.split_once('#').map_or((path, ""), |(path, fragment)| (path, fragment));
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let kept = Fields::parse(query.as_bytes()).query_without(&["keep"]);
    let separator = if kept.is_empty() { "" } else { "&" };
    let fragment = if fragment.is_empty() { String::new() } else { format!("#{fragment}") };
    format!("{path}?{kept}{separator}keep=unread{fragment}")
}

async fn save(request: PageRequest) -> Result<HttpResponse, Error> {
    let saved = request.run_form::<SaveEntry>(&request.target(), &[]).await?;
    let key = if saved.created { "feeds-saved" } else { "feeds-saved-before" };
    request.done(&request.back("/feeds"), DoneMessage::new(key))
}

async fn transcribe(request: PageRequest) -> Result<HttpResponse, Error> {
    request.run_form::<TranscribeEntry>(&request.target(), &[]).await?;
    request.done(&request.back("/feeds"), DoneMessage::new("feeds-transcribing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_is_kept_unread_by_the_address() {
        assert_eq!(with_kept_unread("/feeds?entry=a#entry"), "/feeds?entry=a&keep=unread#entry");
        assert_eq!(with_kept_unread("/feeds?entry=a&keep=unread"), "/feeds?entry=a&keep=unread");
        assert_eq!(with_kept_unread("/feeds"), "/feeds?keep=unread");
    }
}
