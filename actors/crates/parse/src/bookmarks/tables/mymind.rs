//! mymind: `id,type,title,url,content,note,tags,created`, tags parted by `,`.

use super::super::format::Format;
use super::super::moment::moment;
use super::super::row::{Page, split};
use super::{Cells, Table};

pub const TABLE: Table = Table {
    format: Format::Mymind,
    needs: &["type", "url", "content", "note"],
    known: &["id", "type", "title", "url", "content", "note", "tags", "created"],
    read,
};

fn read(cells: &Cells<'_>) -> Result<Page, &'static str> {
    Ok(Page {
        // What was written down there has none.
        url: cells.text("url").unwrap_or_default(),
        title: cells.text("title"),
        tags: split(cells.get("tags").unwrap_or_default(), ','),
        notes: [cells.text("content"), cells.text("note")].into_iter().flatten().collect(),
        saved_at: cells.get("created").and_then(moment),
        ..Page::default()
    })
}
