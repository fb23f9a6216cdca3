//! Raindrop: its header names the columns, of which those below are read; folders nest with `/`, tags are separated by `,`. Any
//! other table with URLs is read in the same way.

use super::super::annotation::Annotation;
use super::super::format::Format;
use super::super::row::{ForeignBookmark, split_names};
use super::super::time_formats::parse_time;
use super::table::{Cells, Table, address};

pub const TABLE: Table = Table {
    format: Format::Raindrop,
    needs: &["url"],
    known: &["id", "title", "note", "url", "folder", "tags", "created", "highlights", "favorite"],
    read: read_bookmark,
};

fn read_bookmark(cells: &Cells<'_>) -> Result<ForeignBookmark, &'static str> {
    let folders = split_names(cells.get("folder").unwrap_or_default(), '/');
    Ok(ForeignBookmark {
        url: address(cells)?,
        title: cells.text("title"),
        tags: split_names(cells.get("tags").unwrap_or_default(), ','),
        // Raindrop's name for no folder.
        folders: if folders == ["Unsorted"] { Vec::new() } else { folders },
        notes: cells.text("note").into_iter().collect(),
        annotations: cells.get("highlights").map(parse_highlights).unwrap_or_default(),
        saved_at: cells.get("created").and_then(parse_time),
        favorite: cells.is("favorite"),
        ..ForeignBookmark::default()
    })
}

/// Parses the highlights, each with its note: lines with the prefixes `Highlight:` and `Note:`.
fn parse_highlights(text: &str) -> Vec<Annotation> {
    let parts = text.split("Highlight:").filter(|part| !part.trim().is_empty());
    let mark = |part: &str| match part.split_once("\nNote:") {
        Some((words, note)) => Annotation::new(words, Some(note)),
        None => Annotation::new(part, None),
    };
    parts.map(mark).collect()
}
