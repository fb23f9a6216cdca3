//! The table format of a program, and the cells of a row.

use csv::StringRecord;
use text::cut;

use super::super::format::Format;
use super::super::row::{ForeignBookmark, Row, RowContent};
use super::record_reader::RecordReader;

/// The table format of a program.
pub struct Table {
    /// The format that a table with these columns has.
    pub format: Format,
    /// Columns that identify the table, in lower case.
    pub(super) needs: &'static [&'static str],
    /// Columns that are read, or ignored deliberately.
    pub(super) known: &'static [&'static str],
    pub(super) read: fn(&Cells<'_>) -> Result<ForeignBookmark, &'static str>,
}

/// The most unread columns that are reported.
const MAX_UNREAD_COLUMNS: usize = 100;
/// The longest reported name of an unread column, in characters.
const MAX_UNREAD_CHARS: usize = 100;

/// The cells of a row by the names of their columns.
pub struct Cells<'a> {
    header: &'a [String],
    record: &'a StringRecord,
}

impl<'a> Cells<'a> {
    /// Returns the cell of a column; `None` if it is blank or missing.
    pub fn get(&self, column: &str) -> Option<&'a str> {
        // Of columns with the same name the first counts.
        let at = self.header.iter().position(|name| name == column)?;
        self.record.get(at).map(str::trim).filter(|cell| !cell.is_empty())
    }

    /// Returns the cell of a column as an owned string.
    pub fn text(&self, column: &str) -> Option<String> {
        self.get(column).map(str::to_owned)
    }

    /// Returns whether the cell is a true value.
    pub fn is(&self, column: &str) -> bool {
        self.get(column)
            .is_some_and(|cell| matches!(cell.to_ascii_lowercase().as_str(), "true" | "1" | "yes"))
    }
}

pub(super) fn header(text: &str) -> Vec<String> {
    RecordReader::new(text).0
}

impl Table {
    /// Returns the first columns that are not read, with their names shortened.
    pub fn unread_columns(&self, text: &str) -> Vec<String> {
        let is_known = |name: &String| self.known.contains(&name.as_str());
        let unread = header(text).into_iter().filter(|name| !is_known(name));
        unread.take(MAX_UNREAD_COLUMNS).map(|name| cut(&name, MAX_UNREAD_CHARS)).collect()
    }

    /// Reads every row after the header.
    pub fn rows(&'static self, text: &str) -> impl Iterator<Item = Row> + use<> {
        let (header, mut records) = RecordReader::new(text);
        std::iter::from_fn(move || {
            let (line, record) = records.next_record()?;
            let content = match record {
                Ok(record) => self.read_row(&Cells { header: &header, record: &record }),
                Err(reason) => RowContent::skipped(reason),
            };
            Some(Row { line, content })
        })
    }

    fn read_row(&self, cells: &Cells<'_>) -> RowContent {
        match (self.read)(cells) {
            Ok(page) => page.into(),
            Err(reason) => {
                let name = cells.text("title").or_else(|| cells.text("url"));
                RowContent::skipped_with_name(reason, name)
            }
        }
    }
}

/// Returns the URL of a row.
pub(super) fn address(cells: &Cells<'_>) -> Result<String, &'static str> {
    cells.text("url").ok_or("has no URL")
}
