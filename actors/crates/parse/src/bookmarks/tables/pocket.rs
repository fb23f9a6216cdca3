//! Pocket: `title,url,time_added,tags,status`, tags parted by `|`.

use super::super::format::Format;
use super::super::moment::moment;
use super::super::row::{Page, split};
use super::{Cells, Table, address};

pub const TABLE: Table = Table {
    format: Format::Pocket,
    needs: &["url", "time_added", "status"],
    known: &["title", "url", "time_added", "tags", "status"],
    read,
};

fn read(cells: &Cells<'_>) -> Result<Page, &'static str> {
    Ok(Page {
        url: address(cells)?,
        title: cells.text("title"),
        tags: split(cells.get("tags").unwrap_or_default(), '|'),
        saved_at: cells.get("time_added").and_then(moment),
        archived: cells.get("status") == Some("archive"),
        ..Page::default()
    })
}
