//! The records of a table, with the lines on which they begin.
//!
//! A quote that nobody closes takes what follows with it, up to the next one or to the end. A record of several lines whose
//! quotes do not go together is given up at its first line, and the rest is read anew.

use std::io::Cursor;
use std::sync::Arc;

use csv::{Position, Reader, ReaderBuilder, StringRecord};

/// So many times its length of a table is read once more for records that were given up; what is beyond that is passed over
/// with the lines that it took.
const AGAIN: usize = 20;

/// See the file's head.
pub struct Records {
    text: Arc<[u8]>,
    reader: Reader<Cursor<Arc<[u8]>>>,
    /// What parts its cells.
    by: u8,
    /// Where the reader began: the byte, and how many lines are before it.
    begun: (usize, u64),
    /// Bytes that may still be read once more.
    again: usize,
}

impl Records {
    /// Those behind the header, and the header.
    pub fn of(text: &str) -> (Vec<String>, Self) {
        let text: Arc<[u8]> = text.as_bytes().into();
        let by = parted_by(&text);
        let mut reader = reader_at(&text, 0, by);
        let mut first = StringRecord::new();
        let _ = reader.read_record(&mut first);
        let header = first.iter().map(|name| name.trim().to_lowercase()).collect();
        let again = text.len().saturating_mul(AGAIN);
        (header, Self { text, reader, by, begun: (0, 0), again })
    }

    /// The next record and its line; `Err` says why it is none.
    pub fn next(&mut self) -> Option<(u64, Result<StringRecord, &'static str>)> {
        let mut record = StringRecord::new();
        let (from, lines) = self.begun;
        let before = self.reader.position().clone();
        let read = self.reader.read_record(&mut record);
        let at = record.position().cloned().unwrap_or(before);
        match read {
            Ok(false) => None,
            Err(_) => Some((lines + at.line(), Err("is no row of a table"))),
            Ok(true) => {
                let (start, end) = (from + byte(&at), from + byte(self.reader.position()));
                let raw = self.text.get(start..end).unwrap_or_default();
                // Empty lines before it are none of its own.
                let empty = raw.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
                let (above, raw) = raw.split_at(empty);
                let line = lines + at.line() + above.iter().filter(|byte| **byte == b'\n').count() as u64;
                let start = start + empty;
                let Some(first) = broken_line(raw, self.by) else { return Some((line, Ok(record))) };
                if let Some(left) = self.again.checked_sub(raw.len()) {
                    self.again = left;
                    self.begun = (start + first, line);
                    self.reader = reader_at(&self.text, start + first, self.by);
                }
                Some((line, Err("has a quote that is not closed")))
            }
        }
    }
}

/// What parts the names of the columns: a comma, or what tables of calculations write in its place.
fn parted_by(text: &[u8]) -> u8 {
    let header = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let count = |by: u8| header.iter().filter(|byte| **byte == by).count();
    [b'\t', b';', b','].into_iter().max_by_key(|by| count(*by)).unwrap_or(b',')
}

fn reader_at(text: &Arc<[u8]>, at: usize, by: u8) -> Reader<Cursor<Arc<[u8]>>> {
    let mut from = Cursor::new(text.clone());
    from.set_position(at as u64);
    ReaderBuilder::new().delimiter(by).flexible(true).has_headers(false).from_reader(from)
}

fn byte(position: &Position) -> usize {
    usize::try_from(position.byte()).unwrap_or(usize::MAX)
}

/// The length of the first line of a record of several, where its quotes do not go together.
fn broken_line(raw: &[u8], by: u8) -> Option<usize> {
    let first = raw.iter().position(|byte| *byte == b'\n')? + 1;
    let several = raw.get(first..).is_some_and(|rest| !rest.trim_ascii().is_empty());
    (several && !is_well_quoted(raw, by)).then_some(first)
}

/// Where in a record a byte stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Between,
    Plain,
    Quoted,
    Closed,
}

/// Whether each quoted cell ends where a cell may end (RFC 4180, section 2).
fn is_well_quoted(raw: &[u8], by: u8) -> bool {
    let mut place = Place::Between;
    for byte in raw {
        place = match (place, byte) {
            (Place::Between, b'"') | (Place::Closed, b'"') => Place::Quoted,
            (Place::Quoted, b'"') => Place::Closed,
            (Place::Quoted, _) => Place::Quoted,
            (_, b'\n' | b'\r') => Place::Between,
            (_, byte) if *byte == by => Place::Between,
            (Place::Closed, _) => return false,
            (Place::Between | Place::Plain, _) => Place::Plain,
        };
    }
    place != Place::Quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<(u64, Result<Vec<String>, &'static str>)> {
        let (_, mut records) = Records::of(text);
        std::iter::from_fn(|| records.next())
            .map(|(line, record)| (line, record.map(|cells| cells.iter().map(str::to_owned).collect())))
            .collect()
    }

    fn cells(cells: &[&str]) -> Result<Vec<String>, &'static str> {
        Ok(cells.iter().map(|cell| (*cell).to_owned()).collect())
    }

    const UNCLOSED: Result<Vec<String>, &str> = Err("has a quote that is not closed");

    #[test]
    fn a_quote_that_is_not_closed_takes_no_other_row_with_it() {
        assert_eq!(
            told("a,b\n1,\"x\ny\"\n2,\"open\n3,z\n4,z\n"),
            [(2, cells(&["1", "x\ny"])), (4, UNCLOSED), (5, cells(&["3", "z"])), (6, cells(&["4", "z"]))]
        );
        // Where a later cell has quotes too.
        assert_eq!(
            told("a,b\n1,\"open\n2,\"x, y\"\n3,\"z \"\"q\"\"\"\n"),
            [(2, UNCLOSED), (3, cells(&["2", "x, y"])), (4, cells(&["3", "z \"q\""]))]
        );
    }

    #[test]
    fn cells_are_parted_by_what_parts_the_header() {
        for by in [";", "\t"] {
            let text = ["a", "b"].join(by) + "\n" + &["1, 2", "\"x"].join(by) + "\ny\"\n";
            assert_eq!(told(&text), [(2, cells(&["1, 2", "x\ny"]))]);
        }
    }

    #[test]
    fn quotes_in_a_cell_without_quotes_are_its_own() {
        assert_eq!(
            told("a,b\n1,6\" tall\n2,\"\"\r\n\r\n3,\"\"\"\""),
            [(2, cells(&["1", "6\" tall"])), (3, cells(&["2", ""])), (5, cells(&["3", "\""]))]
        );
    }

    #[test]
    fn a_table_of_open_quotes_is_read_to_its_end() {
        let text = format!("a,b\n{}", "a\",\"b\n".repeat(1000));
        let all = told(&text);
        assert!(all.len() > AGAIN && all.iter().all(|(_, record)| record.is_err()), "{all:?}");
        let many = format!("a,b\n{}{}", "\"open,b\n".repeat(130), "c,d\n".repeat(50));
        let all = told(&many);
        let whole = all.iter().filter(|(_, record)| record.is_ok()).count();
        assert_eq!((all.len(), whole), (180, 50), "{all:?}");
    }
}
