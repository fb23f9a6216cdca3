//! Pocket: `title,url,time_added,tags,status`, tags separated by `|`.

use super::super::format::Format;
use super::super::row::{ForeignBookmark, split_names};
use super::super::time_formats::parse_time;
use super::table::{Cells, Table, address};

pub const TABLE: Table = Table {
    format: Format::Pocket,
    needs: &["url", "time_added", "status"],
    known: &["title", "url", "time_added", "tags", "status"],
    read: read_bookmark,
};

fn read_bookmark(cells: &Cells<'_>) -> Result<ForeignBookmark, &'static str> {
    Ok(ForeignBookmark {
        url: address(cells)?,
        title: cells.text("title"),
        tags: split_names(cells.get("tags").unwrap_or_default(), '|'),
        saved_at: cells.get("time_added").and_then(parse_time),
        archived: cells.get("status") == Some("archive"),
        ..ForeignBookmark::default()
    })
}
