//! mymind: `id,type,title,url,content,note,tags,created`, tags separated by `,`.

use super::super::format::Format;
use super::super::row::{ForeignBookmark, split_names};
use super::super::time_formats::parse_time;
use super::table::{Cells, Table};

pub const TABLE: Table = Table {
    format: Format::Mymind,
    needs: &["type", "url", "content", "note"],
    known: &["id", "type", "title", "url", "content", "note", "tags", "created"],
    read: read_bookmark,
};

fn read_bookmark(cells: &Cells<'_>) -> Result<ForeignBookmark, &'static str> {
    Ok(ForeignBookmark {
        // A note has no URL. With an empty one it becomes a note here too.
        url: cells.text("url").unwrap_or_default(),
        title: cells.text("title"),
        tags: split_names(cells.get("tags").unwrap_or_default(), ','),
        notes: [cells.text("content"), cells.text("note")].into_iter().flatten().collect(),
        saved_at: cells.get("created").and_then(parse_time),
        ..ForeignBookmark::default()
    })
}
