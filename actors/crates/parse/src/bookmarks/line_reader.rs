//! Reads a file line by line. Memory is bounded by [`MAX_LINE_BYTES`], whatever the length of a line.

use std::io::{self, BufRead, Read};

use super::row::{Row, RowContent};

/// The longest line, in bytes. A line with a page's HTML may be long.
pub const MAX_LINE_BYTES: u64 = 32 << 20;

/// Why a row is skipped whose line is longer.
pub fn too_long() -> RowContent {
    RowContent::skipped(format!("is longer than {} MiB", MAX_LINE_BYTES >> 20))
}

/// The content of a line.
#[derive(Debug, PartialEq, Eq)]
pub enum LineContent {
    /// Its bytes, without the line ending.
    Whole(Vec<u8>),
    /// The line is too long.
    TooLong,
}

/// Reads lines with their numbers, from 1. Blank lines are skipped.
pub struct LineReader<R> {
    from: R,
    longest: u64,
    number: u64,
    broken: bool,
}

impl<R: BufRead> LineReader<R> {
    /// Reads from the beginning of a file.
    pub fn new(from: R) -> Self {
        Self { from, longest: MAX_LINE_BYTES, number: 0, broken: false }
    }

    /// Returns the next line as a row. If reading fails, that is the last row.
    pub fn next_row(&mut self, read: impl FnOnce(LineContent) -> RowContent) -> Option<Row> {
        if self.broken {
            return None;
        }
        match self.next_line() {
            Ok(None) => None,
            Ok(Some((line, content))) => Some(Row { line, content: read(content) }),
            Err(_) => {
                // The next read may return the same error, without end.
                self.broken = true;
                let content = RowContent::skipped("the rest of the file cannot be read");
                Some(Row { line: self.number + 1, content })
            }
        }
    }

    /// Returns the next line that is not blank, with its number.
    pub fn next_line(&mut self) -> io::Result<Option<(u64, LineContent)>> {
        loop {
            let mut bytes = Vec::new();
            // One more than a line may have and one for its end: then it is known to be longer.
            let taken = (&mut self.from).take(self.longest + 1).read_until(b'\n', &mut bytes)?;
            if taken == 0 {
                return Ok(None);
            }
            self.number += 1;
            if bytes.last() == Some(&b'\n') {
                bytes.pop();
            } else if bytes.len() as u64 > self.longest {
                // The rest is skipped without being held, and the next line keeps its number.
                self.from.skip_until(b'\n')?;
                return Ok(Some((self.number, LineContent::TooLong)));
            }
            // JSON does not allow a byte order mark.
            if self.number == 1 && bytes.starts_with(b"\xef\xbb\xbf") {
                bytes.drain(..3);
            }
            if !bytes.trim_ascii().is_empty() {
                return Ok(Some((self.number, LineContent::Whole(bytes))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &[u8], longest: u64) -> Vec<(u64, LineContent)> {
        let mut lines = LineReader { from: text, longest, number: 0, broken: false };
        std::iter::from_fn(|| lines.next_line().unwrap()).collect()
    }

    fn whole(number: u64, text: &str) -> (u64, LineContent) {
        (number, LineContent::Whole(text.as_bytes().to_vec()))
    }

    #[test]
    fn lines_keep_their_numbers_over_blank_ones() {
        assert_eq!(read(b"one\n\n  \r\ntwo", 10), [whole(1, "one"), whole(4, "two")]);
        assert_eq!(read(b"", 10), []);
        assert_eq!(read(b"\n\n", 10), []);
    }

    #[test]
    fn line_that_is_too_long_is_skipped() {
        assert_eq!(
            read(b"123\n1234\n12345\n1", 4),
            [whole(1, "123"), whole(2, "1234"), (3, LineContent::TooLong), whole(4, "1")]
        );
        assert_eq!(read(b"12345", 4), [(1, LineContent::TooLong)]);
        assert_eq!(read(b"1234", 4), [whole(1, "1234")]);
    }

    #[test]
    fn byte_order_mark_is_not_part_of_the_first_line() {
        assert_eq!(read(b"\xef\xbb\xbf{}\n{}", 10), [whole(1, "{}"), whole(2, "{}")]);
    }

    proptest! {
        #[test]
        fn every_line_comes_once_and_in_order(lines in prop::collection::vec("[a-c]{1,6}", 0..20)) {
            let read = read(lines.join("\n").as_bytes(), 4);

            let expected: Vec<_> = lines
                .iter()
                .zip(1..)
                .map(|(line, n)| if line.len() > 4 { (n, LineContent::TooLong) } else { whole(n, line) })
                .collect();
            prop_assert_eq!(read, expected);
        }
    }
}
