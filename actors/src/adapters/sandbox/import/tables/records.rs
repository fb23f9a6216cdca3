//! The records of a table, with the lines on which they begin.
//!
//! A quote that nobody closes takes what follows with it, up to the next one or to the end. A record of several lines whose
//! quotes do not go together is given up at its first line, and the rest is read anew.

use std::io::Cursor;
use std::sync::Arc;

use csv::{Position, Reader, ReaderBuilder, StringRecord};

/// So many records are given up before the table is read as it is: each makes all behind it be read once more.
const MOST_BROKEN: usize = 100;

/// See the file's head.
pub struct Records {
    text: Arc<[u8]>,
    reader: Reader<Cursor<Arc<[u8]>>>,
    /// Where the reader began: the byte, and how many lines are before it.
    begun: (usize, u64),
    broken: usize,
}

impl Records {
    /// Those behind the header, and the header.
    pub fn of(text: &str) -> (Vec<String>, Self) {
        let text: Arc<[u8]> = text.as_bytes().into();
        let mut reader = reader_at(&text, 0);
        let mut first = StringRecord::new();
        let _ = reader.read_record(&mut first);
        let header = first.iter().map(|name| name.trim().to_lowercase()).collect();
        (header, Self { text, reader, begun: (0, 0), broken: 0 })
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
                if self.broken < MOST_BROKEN
                    && let Some(first) = broken_line(raw)
                {
                    self.broken += 1;
                    self.begun = (start + first, line);
                    self.reader = reader_at(&self.text, start + first);
                    return Some((line, Err("has a quote that is not closed")));
                }
                Some((line, Ok(record)))
            }
        }
    }
}

fn reader_at(text: &Arc<[u8]>, at: usize) -> Reader<Cursor<Arc<[u8]>>> {
    let mut from = Cursor::new(text.clone());
    from.set_position(at as u64);
    ReaderBuilder::new().flexible(true).has_headers(false).from_reader(from)
}

fn byte(position: &Position) -> usize {
    usize::try_from(position.byte()).unwrap_or(usize::MAX)
}

/// The length of the first line of a record of several, where its quotes do not go together.
fn broken_line(raw: &[u8]) -> Option<usize> {
    let first = raw.iter().position(|byte| *byte == b'\n')? + 1;
    let several = raw.get(first..).is_some_and(|rest| !rest.trim_ascii().is_empty());
    (several && !is_well_quoted(raw)).then_some(first)
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
fn is_well_quoted(raw: &[u8]) -> bool {
    let mut place = Place::Between;
    for byte in raw {
        place = match (place, byte) {
            (Place::Between, b'"') | (Place::Closed, b'"') => Place::Quoted,
            (Place::Quoted, b'"') => Place::Closed,
            (Place::Quoted, _) => Place::Quoted,
            (_, b',' | b'\n' | b'\r') => Place::Between,
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
    fn quotes_in_a_cell_without_quotes_are_its_own() {
        assert_eq!(
            told("a,b\n1,6\" tall\n2,\"\"\r\n\r\n3,\"\"\"\""),
            [(2, cells(&["1", "6\" tall"])), (3, cells(&["2", ""])), (5, cells(&["3", "\""]))]
        );
    }

    #[test]
    fn a_table_of_open_quotes_is_read_to_its_end() {
        let text = format!("a,b\n{}", "a\",\"b\n".repeat(1000));
        assert!(told(&text).len() >= MOST_BROKEN);
    }
}
