//! Raindrop: its header names the columns, of which those below are read; folders nest with `/`, tags are parted by `,`. Any
//! other table with addresses is read in the same way.

use super::super::format::Format;
use super::super::mark::Mark;
use super::super::moment::moment;
use super::super::row::{Page, split};
use super::{Cells, Table, address};

pub const TABLE: Table = Table {
    format: Format::Raindrop,
    needs: &["url"],
    known: &["id", "title", "note", "url", "folder", "tags", "created", "highlights", "favorite"],
    read,
};

fn read(cells: &Cells<'_>) -> Result<Page, &'static str> {
    let folders = split(cells.get("folder").unwrap_or_default(), '/');
    Ok(Page {
        url: address(cells)?,
        title: cells.text("title"),
        tags: split(cells.get("tags").unwrap_or_default(), ','),
        folders: if folders == ["Unsorted"] { Vec::new() } else { folders },
        notes: cells.text("note").into_iter().collect(),
        marked: cells.get("highlights").map(marked).unwrap_or_default(),
        saved_at: cells.get("created").and_then(moment),
        favorite: cells.is("favorite"),
        ..Page::default()
    })
}

/// What was marked, each with what was written beside it: `Highlight:` and `Note:` before the words.
fn marked(text: &str) -> Vec<Mark> {
    let parts = text.split("Highlight:").filter(|part| !part.trim().is_empty());
    let mark = |part: &str| match part.split_once("\nNote:") {
        Some((words, note)) => Mark::of(words, Some(note)),
        None => Mark::of(part, None),
    };
    parts.map(mark).collect()
}
