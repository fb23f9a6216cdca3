//! The records of a table, with the lines on which they begin.
//!
//! An unclosed quote extends a record up to the next quote or to the end. A record of several lines whose quotes are malformed is
//! skipped at its first line, and the rest is read again.

use std::io::Cursor;
use std::sync::Arc;

use csv::{Position, Reader, ReaderBuilder, StringRecord};

/// The most bytes that are read again for malformed records, as a multiple of the table's length. Beyond that, such records are
/// skipped with all of their lines.
const MAX_REREAD_FACTOR: usize = 20;

/// Reads the records of a table.
pub struct RecordReader {
    text: Arc<[u8]>,
    reader: Reader<Cursor<Arc<[u8]>>>,
    delimiter: u8,
    /// The start of the reader: the byte, and the number of lines before it.
    begun: (usize, u64),
    /// Bytes that may still be read again.
    reread_bytes: usize,
}

impl RecordReader {
    /// Returns the header, and a reader of the records after it.
    pub fn new(text: &str) -> (Vec<String>, Self) {
        // Shared, because each new reader starts within the same text.
        let text: Arc<[u8]> = text.as_bytes().into();
        let delimiter = detect_delimiter(&text);
        let mut reader = reader_at(&text, 0, delimiter);
        let mut first = StringRecord::new();
        // A header that cannot be read is empty, and then no table fits.
        let _ = reader.read_record(&mut first);
        let header = first.iter().map(|name| name.trim().to_lowercase()).collect();
        let reread_bytes = text.len().saturating_mul(MAX_REREAD_FACTOR);
        (header, Self { text, reader, delimiter, begun: (0, 0), reread_bytes })
    }

    /// Returns the next record with its line; `Err` is the reason why it is malformed.
    pub fn next_record(&mut self) -> Option<(u64, Result<StringRecord, &'static str>)> {
        let mut record = StringRecord::new();
        let (from, lines) = self.begun;
        let before = self.reader.position().clone();
        let read = self.reader.read_record(&mut record);
        let at = record.position().cloned().unwrap_or(before);
        match read {
            Ok(false) => None,
            Err(_) => Some((lines + at.line(), Err("is not a row of the table"))),
            Ok(true) => {
                let (start, end) = (from + byte(&at), from + byte(self.reader.position()));
                let raw = self.text.get(start..end).unwrap_or_default();
                // Empty lines before the record do not belong to it.
                let empty = raw.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
                let (above, raw) = raw.split_at(empty);
                let line = lines + at.line() + above.iter().filter(|byte| **byte == b'\n').count() as u64;
                let start = start + empty;
                let Some(first) = broken_line(raw, self.delimiter) else { return Some((line, Ok(record))) };
                // Read again from the second line of the record. Without the bound, a table of open
                // quotes would take quadratic time.
                if let Some(left) = self.reread_bytes.checked_sub(raw.len()) {
                    self.reread_bytes = left;
                    self.begun = (start + first, line);
                    self.reader = reader_at(&self.text, start + first, self.delimiter);
                }
                Some((line, Err("has a quote that is not closed")))
            }
        }
    }
}

/// Detects the delimiter by the header: a comma, or a tab or semicolon as spreadsheets write.
fn detect_delimiter(text: &[u8]) -> u8 {
    let header = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let count = |delimiter: u8| header.iter().filter(|byte| **byte == delimiter).count();
    // Of equal counts the last wins, so a header of one column is separated by commas.
    [b'\t', b';', b','].into_iter().max_by_key(|delimiter| count(*delimiter)).unwrap_or(b',')
}

fn reader_at(text: &Arc<[u8]>, at: usize, delimiter: u8) -> Reader<Cursor<Arc<[u8]>>> {
    let mut from = Cursor::new(text.clone());
    from.set_position(at as u64);
    // Flexible: rows may be shorter than the header, and a missing cell is a blank one.
    ReaderBuilder::new().delimiter(delimiter).flexible(true).has_headers(false).from_reader(from)
}

fn byte(position: &Position) -> usize {
    usize::try_from(position.byte()).unwrap_or(usize::MAX)
}

/// Returns the length of the first line of a record of several lines with malformed quotes.
fn broken_line(raw: &[u8], delimiter: u8) -> Option<usize> {
    // A record of one line harms no other, whatever its quotes are.
    let first = raw.iter().position(|byte| *byte == b'\n')? + 1;
    let several = raw.get(first..).is_some_and(|rest| !rest.trim_ascii().is_empty());
    (several && !is_well_quoted(raw, delimiter)).then_some(first)
}

/// The state of the current cell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CellState {
    Between,
    Plain,
    Quoted,
    Closed,
}

/// Returns whether each quoted cell ends where a cell may end (RFC 4180, section 2).
fn is_well_quoted(raw: &[u8], delimiter: u8) -> bool {
    let mut place = CellState::Between;
    for byte in raw {
        place = match (place, byte) {
            (CellState::Between, b'"') | (CellState::Closed, b'"') => CellState::Quoted,
            (CellState::Quoted, b'"') => CellState::Closed,
            (CellState::Quoted, _) => CellState::Quoted,
            (_, b'\n' | b'\r') => CellState::Between,
            (_, byte) if *byte == delimiter => CellState::Between,
            (CellState::Closed, _) => return false,
            (CellState::Between | CellState::Plain, _) => CellState::Plain,
        };
    }
    place != CellState::Quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records_of(text: &str) -> Vec<(u64, Result<Vec<String>, &'static str>)> {
        let (_, mut records) = RecordReader::new(text);
        std::iter::from_fn(|| records.next_record())
            .map(|(line, record)| (line, record.map(|cells| cells.iter().map(str::to_owned).collect())))
            .collect()
    }

    fn cells(cells: &[&str]) -> Result<Vec<String>, &'static str> {
        Ok(cells.iter().map(|cell| (*cell).to_owned()).collect())
    }

    const UNCLOSED: Result<Vec<String>, &str> = Err("has a quote that is not closed");

    #[test]
    fn unclosed_quote_damages_one_row_only() {
        assert_eq!(
            records_of("a,b\n1,\"x\ny\"\n2,\"open\n3,z\n4,z\n"),
            [(2, cells(&["1", "x\ny"])), (4, UNCLOSED), (5, cells(&["3", "z"])), (6, cells(&["4", "z"]))]
        );
        // Where a later cell has quotes too.
        assert_eq!(
            records_of("a,b\n1,\"open\n2,\"x, y\"\n3,\"z \"\"q\"\"\"\n"),
            [(2, UNCLOSED), (3, cells(&["2", "x, y"])), (4, cells(&["3", "z \"q\""]))]
        );
    }

    #[test]
    fn delimiter_of_the_header_separates_cells() {
        for delimiter in [";", "\t"] {
            let text = ["a", "b"].join(delimiter) + "\n" + &["1, 2", "\"x"].join(delimiter) + "\ny\"\n";
            assert_eq!(records_of(&text), [(2, cells(&["1, 2", "x\ny"]))]);
        }
    }

    #[test]
    fn quotes_in_an_unquoted_cell_are_literal() {
        assert_eq!(
            records_of("a,b\n1,6\" tall\n2,\"\"\r\n\r\n3,\"\"\"\""),
            [(2, cells(&["1", "6\" tall"])), (3, cells(&["2", ""])), (5, cells(&["3", "\""]))]
        );
    }

    #[test]
    fn table_of_unclosed_quotes_is_read_to_its_end() {
        let text = format!("a,b\n{}", "a\",\"b\n".repeat(1000));
        let all = records_of(&text);
        assert!(all.len() > MAX_REREAD_FACTOR && all.iter().all(|(_, record)| record.is_err()), "{all:?}");
        let many = format!("a,b\n{}{}", "\"open,b\n".repeat(130), "c,d\n".repeat(50));
        let all = records_of(&many);
        let whole = all.iter().filter(|(_, record)| record.is_ok()).count();
        assert_eq!((all.len(), whole), (180, 50), "{all:?}");
    }
}
