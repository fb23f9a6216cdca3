//! Raindrop: its header names the columns, of which those below are read; folders nest with `/`, tags are parted by `,`. Any
//! other table with addresses is read in the same way.

use super::super::format::Format;
use super::super::moment::moment;
use super::super::row::{Page, quoted, split};
use super::{Cells, Table, address};

pub const TABLE: Table = Table {
    format: Format::Raindrop,
    needs: &["url"],
    known: &[
        "id",
        "title",
        "note",
        "excerpt",
        "url",
        "folder",
        "tags",
        "created",
        "cover",
        "highlights",
        "favorite",
    ],
    read,
};

fn read(cells: &Cells<'_>) -> Result<Page, &'static str> {
    let marked = cells.get("highlights").map(|text| quoted(text.trim_start_matches("Highlight:")));
    let folders = split(cells.get("folder").unwrap_or_default(), '/');
    Ok(Page {
        url: address(cells)?,
        title: cells.text("title"),
        tags: split(cells.get("tags").unwrap_or_default(), ','),
        folders: if folders == ["Unsorted"] { Vec::new() } else { folders },
        notes: [cells.text("note"), marked].into_iter().flatten().collect(),
        saved_at: cells.get("created").and_then(moment),
        favorite: cells.is("favorite"),
        ..Page::default()
    })
}
