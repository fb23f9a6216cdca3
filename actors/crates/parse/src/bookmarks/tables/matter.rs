//! Matter: `Title,Author,Publisher,URL,Tags,Word Count,In Queue,Favorited,Read,Highlight_Count,Last Interaction Date,File
//! Id`, tags separated by `;`. It has no time of saving; the time of the last interaction is used.

use super::super::format::Format;
use super::super::row::{ForeignBookmark, split_names};
use super::super::time_formats::parse_time;
use super::table::{Cells, Table, address};

pub const TABLE: Table = Table {
    format: Format::Matter,
    needs: &["url", "in queue", "last interaction date"],
    known: &[
        "title",
        "url",
        "tags",
        "word count",
        "in queue",
        "favorited",
        "read",
        "highlight_count",
        "last interaction date",
        "file id",
    ],
    read: read_bookmark,
};

fn read_bookmark(cells: &Cells<'_>) -> Result<ForeignBookmark, &'static str> {
    Ok(ForeignBookmark {
        url: address(cells)?,
        title: cells.text("title"),
        tags: split_names(cells.get("tags").unwrap_or_default(), ';'),
        saved_at: cells.get("last interaction date").and_then(parse_time),
        favorite: cells.is("favorited"),
        archived: !cells.is("in queue"),
        progress: cells.is("read").then_some(1.0),
        ..ForeignBookmark::default()
    })
}
