//! The open entry: its text as the sanitised rendition, and what can be done with it.

use actors::operations::entries::{ChangeEntry, EntryView, ShowEntry};
use actors::operations::feeds::ShowFeed;
use actors::operations::reading::{PartSelector, ReadPage, ReadPart};
use actors::target::Target;
use errors::Error;
use serde_json::json;
use url::Url;
use values::kind::{DocumentStatus, PictureMode};
use values::time::Timestamp;

use super::selection::FeedSelection;
use crate::http::session::is_from_own_site;
use crate::web::page::request::PageRequest;
use crate::web::reading_time::reading_minutes;

/// The entry in the reading pane.
pub(super) struct OpenEntry {
    pub id: String,
    pub title: String,
    pub feed: String,
    pub feed_href: String,
    pub author: Option<String>,
    pub published: Option<Timestamp>,
    pub minutes: Option<i64>,
    /// The sanitised HTML of the first part; `None` while there is no text.
    pub html: Option<String>,
    pub has_more: bool,
    pub summary: Option<String>,
    pub language: Option<String>,
    pub is_processing: bool,
    pub error: Option<String>,
    /// The address of its page; `None` unless it is one of the web.
    pub original: Option<String>,
    pub is_starred: bool,
    pub is_read: bool,
    pub reader_href: String,
    pub is_saved: bool,
    /// Whether its page can be saved: an entry without one has no URL of its own.
    pub has_page: bool,
    /// The address of its recording.
    pub recording: Option<String>,
}

/// Loads an entry and marks it as read, unless the address says to keep it unread, or another site caused the request: a link or a
/// picture of that site would change the library otherwise.
///
/// # Errors
/// [`Error::NotFound`] when the user has no such entry.
pub(super) async fn load(
    request: &PageRequest,
    selection: &FeedSelection,
    id: &str,
) -> Result<OpenEntry, Error> {
    let target = Target(vec![id.to_owned()]);
    let mut entry = request.run_query::<ShowEntry>(&target, &[]).await?.entry;
    let keeps_unread = request.query.get("keep") == Some("unread") || !is_from_own_site(&request.http);
    if !entry.read && !keeps_unread {
        entry = mark_read(request, &target, entry).await?;
    }
    let feed = Target(vec![entry.feed_id.to_string()]);
    let feed_title = request.run_query::<ShowFeed>(&feed, &[]).await?.feed.title;
    open(request, selection, entry, feed_title).await
}

/// Marks an entry as read. The entry is shown although that fails, such as on a full disk.
async fn mark_read(request: &PageRequest, target: &Target, entry: EntryView) -> Result<EntryView, Error> {
    match request.run_json::<ChangeEntry>(target, json!({ "read": true })).await {
        Ok(changed) => Ok(changed.entry),
        Err(error @ (Error::NotSignedIn | Error::NotFound(_))) => Err(error),
        Err(error) => {
            tracing::warn!(%error, "could not mark an entry as read");
            Ok(entry)
        }
    }
}

async fn open(
    request: &PageRequest,
    selection: &FeedSelection,
    entry: EntryView,
    feed: String,
) -> Result<OpenEntry, Error> {
    let document = request.run(ReadPage(entry.document_id)).await?;
    let picture_link = match request.viewer.settings.pictures {
        PictureMode::Shown => None,
        PictureMode::OnClick => Some(request.locale().t("feeds-picture")),
    };
    let part = match document.version {
        0 => None,
        _ => {
            let part = PartSelector::Number(1);
            let read = ReadPart { document: entry.document_id, part, target: None, picture_link };
            Some(request.run(read).await?)
        }
    };
    let words_per_minute = request.viewer.settings.reading.words_per_minute;
    let feed_selection =
        FeedSelection { feed: Some(entry.feed_id.to_string()), folder: None, show: selection.show };
    Ok(OpenEntry {
        id: entry.entry_id.to_string(),
        feed_href: feed_selection.href(&[]),
        feed,
        minutes: document.word_count.map(|words| reading_minutes(words, words_per_minute)),
        has_more: part.as_ref().is_some_and(|part| part.parts > 1),
        html: part.map(|part| part.html),
        language: document.language,
        is_processing: document.status == DocumentStatus::Processing,
        error: document.error.filter(|_| document.status == DocumentStatus::Failed),
        original: web_address(&entry.url),
        reader_href: format!("/read/{}", entry.document_id),
        is_saved: entry.bookmark_id.is_some(),
        has_page: web_address(&entry.url).is_some(),
        recording: entry.enclosure.and_then(|enclosure| web_address(&enclosure.url)),
        title: entry.title,
        author: entry.author,
        published: entry.published_at,
        summary: entry.summary,
        is_starred: entry.starred,
        is_read: entry.read,
    })
}

/// Returns an address if it is one of the web: a feed may name any scheme.
fn web_address(url: &str) -> Option<String> {
    let parsed = Url::parse(url).ok()?;
    matches!(parsed.scheme(), "http" | "https").then(|| parsed.to_string())
}
