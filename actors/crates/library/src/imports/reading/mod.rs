//! Reads the rows of a file, and copies the files that they name from the archive into the store. That happens before the
//! transaction that applies the rows, because it may take long.

pub mod archive_file;
mod error;
mod read_ahead;

use entity::import;
use parse::archive::FileRecord;
use parse::bookmarks::{BookmarkDraft, Row, RowContent};
use sandbox::import::ImportReader;
use serde::Deserialize;
use uuid::Uuid;
use web::PageUrl;

use self::archive_file::ArchiveFile;
use super::context::ImportContext;

pub use error::ReadError;
pub use read_ahead::ReadAhead;

/// A row of a file, with the file of the archive that it names.
pub struct RowInput {
    /// The row as the child process parsed it.
    pub row: Row,
    /// The file, if the row names one and this is not a dry run.
    pub file: Option<ArchiveFile>,
}

impl RowInput {
    /// Returns the input of a row for which no file was copied.
    pub fn without_file(row: Row) -> Self {
        Self { row, file: None }
    }

    /// Returns the id that the object of a line of an export had.
    pub fn source_id(&self) -> Option<Uuid> {
        let RowContent::Record(value) = &self.row.content else { return None };
        value.get("id")?.as_str()?.parse().ok()
    }

    /// Returns the normalized URL of the feed that the row follows, which identifies the row of the feed's source.
    pub fn feed_url(&self) -> Option<String> {
        let url = match &self.row.content {
            RowContent::Feed(outline) => outline.url.as_str(),
            RowContent::Record(value) if value.get("kind")?.as_str()? == "feed" => {
                value.get("url")?.as_str()?
            }
            RowContent::Record(_)
            | RowContent::Bookmark(_)
            | RowContent::Note(_)
            | RowContent::Skipped(_) => return None,
        };
        Some(PageUrl::parse(url).ok()?.normalized())
    }
}

/// Adds the files that they name to rows that the reader returned last. For a dry run only the digests of the files are computed.
///
/// # Errors
/// [`ReadError::Sandbox`] when the file cannot be read any further; [`ReadError::Internal`] when the store or the database fails.
pub async fn add_files(
    context: &ImportContext,
    import: &import::Model,
    reader: &mut ImportReader,
    rows: Vec<Row>,
) -> Result<Vec<RowInput>, ReadError> {
    let (mut batch, mut copied_bytes) = (Vec::with_capacity(rows.len()), 0);
    for mut row in rows {
        if import.is_dry_run {
            add_digest(reader, &mut row).await?;
            batch.push(RowInput::without_file(row));
            continue;
        }
        let file = match named_file(&row) {
            Some(record) => {
                let file = archive_file::store(context, import, reader, &record, copied_bytes).await?;
                // A refused file takes no space in the user's quota.
                copied_bytes += if matches!(file, ArchiveFile::Stored(..)) { record.bytes } else { 0 };
                Some(file)
            }
            None => None,
        };
        batch.push(RowInput { row, file });
    }
    Ok(batch)
}

fn named_file(row: &Row) -> Option<FileRecord> {
    match &row.content {
        RowContent::Record(value) => {
            let file = value.get("file").filter(|file| file.is_object())?;
            FileRecord::deserialize(file).ok()
        }
        RowContent::Bookmark(BookmarkDraft { file, .. }) => file.clone(),
        RowContent::Note(_) | RowContent::Feed(_) | RowContent::Skipped(_) => None,
    }
}

/// Adds the digest of its file to a row that does not state it. A dry run finds an existing upload by the digest.
async fn add_digest(reader: &mut ImportReader, row: &mut Row) -> Result<(), ReadError> {
    if let RowContent::Bookmark(BookmarkDraft { file: Some(file), .. }) = &mut row.content
        && file.sha256.is_none()
    {
        file.sha256 = archive_file::digest(reader, file).await?;
    }
    Ok(())
}
