//! Instapaper: `URL,Title,Selection,Folder[,Timestamp,Tags]`, tags as a list in JSON.

use super::super::format::Format;
use super::super::mark::Mark;
use super::super::moment::moment;
use super::super::row::Page;
use super::{Cells, Table, address};

pub const TABLE: Table = Table {
    format: Format::Instapaper,
    needs: &["url", "selection", "folder"],
    known: &["url", "title", "selection", "folder", "timestamp", "tags"],
    read,
};

fn read(cells: &Cells<'_>) -> Result<Page, &'static str> {
    let folder = cells.get("folder").unwrap_or("Unread");
    let own = !matches!(folder, "Unread" | "Archive" | "Starred");
    Ok(Page {
        url: address(cells)?,
        title: cells.text("title"),
        tags: cells.get("tags").and_then(|tags| serde_json::from_str(tags).ok()).unwrap_or_default(),
        folders: own.then(|| folder.to_owned()).into_iter().collect(),
        // Often the page's description: nothing that its text must say.
        notes: cells.get("selection").map(|words| Mark::of(words, None).paragraph()).into_iter().collect(),
        saved_at: cells.get("timestamp").and_then(moment),
        favorite: folder == "Starred",
        archived: folder == "Archive",
        ..Page::default()
    })
}
