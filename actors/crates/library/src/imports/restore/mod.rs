//! Restores the lines of an export, with the texts, highlights and positions that they had: nothing is fetched, extracted or
//! transcribed again.

pub mod bookmarks;
pub mod collections;
pub mod feeds;
pub mod highlights;
pub mod projects;

use parse::archive::Record;
use sea_orm::ConnectionTrait;
use serde_json::Value;
use values::time::Timestamp;

use super::archived_document;
use super::reading::archive_file::ArchiveFile;
use super::rows::result::RowResult;
use super::session::ImportSession;
use errors::Error;

/// Restores the object of a line of an export, or finds it if it exists.
pub async fn restore_record(
    session: &mut ImportSession,
    txn: &impl ConnectionTrait,
    line: Value,
    file: Option<ArchiveFile>,
    now: Timestamp,
) -> Result<RowResult, Error> {
    let Some(record) = read_record(line) else { return Ok(RowResult::unknown_record()) };
    match record {
        Record::Collection(record) => collections::restore(session, txn, record, now).await,
        Record::Feed(record) => feeds::restore_feed(session, txn, record, now).await,
        Record::Bookmark(record) => bookmarks::restore(session, txn, *record, file, now).await,
        Record::Highlight(record) => highlights::restore(session, txn, record, now).await,
        Record::Entry(record) => feeds::restore_entry(session, txn, *record, now).await,
        Record::Project(record) => projects::restore_project(session, txn, record).await,
        Record::Decision(record) => projects::restore_decision(session, txn, record, now).await,
        Record::Note(record) => projects::restore_note(session, txn, record, now).await,
        Record::Item(record) => projects::restore_item(session, txn, record, now).await,
    }
}

/// Reads a line of an export; `None` if it has none of the known shapes. A text that this server could not have written is left
/// out, so that it is extracted again.
pub fn read_record(line: Value) -> Option<Record> {
    let mut record = serde_json::from_value(line).ok()?;
    if let Record::Bookmark(bookmark) = &mut record {
        bookmark.text = archived_document::keep_valid(bookmark.text.take());
    }
    if let Record::Entry(entry) = &mut record {
        entry.text = archived_document::keep_valid(entry.text.take());
    }
    Some(record)
}
