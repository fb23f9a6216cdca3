//! Instapaper: `URL,Title,Selection,Folder[,Timestamp,Tags]`, tags as a list in JSON.

use super::super::annotation::Annotation;
use super::super::format::Format;
use super::super::row::ForeignBookmark;
use super::super::time_formats::parse_time;
use super::table::{Cells, Table, address};

pub const TABLE: Table = Table {
    format: Format::Instapaper,
    needs: &["url", "selection", "folder"],
    known: &["url", "title", "selection", "folder", "timestamp", "tags"],
    read: read_bookmark,
};

fn read_bookmark(cells: &Cells<'_>) -> Result<ForeignBookmark, &'static str> {
    let folder = cells.get("folder").unwrap_or("Unread");
    let own = !matches!(folder, "Unread" | "Archive" | "Starred");
    Ok(ForeignBookmark {
        url: address(cells)?,
        title: cells.text("title"),
        tags: cells.get("tags").and_then(|tags| serde_json::from_str(tags).ok()).unwrap_or_default(),
        folders: own.then(|| folder.to_owned()).into_iter().collect(),
        // Often the description of the page, which need not occur in its text.
        notes: cells
            .get("selection")
            .map(|words| Annotation::new(words, None).to_paragraph())
            .into_iter()
            .collect(),
        saved_at: cells.get("timestamp").and_then(parse_time),
        favorite: folder == "Starred",
        archived: folder == "Archive",
        ..ForeignBookmark::default()
    })
}
