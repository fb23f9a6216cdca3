//! Lines of a file, one at a time: a line of any length costs no more memory than the longest that is taken.

use std::io::{self, BufRead, Read};

use super::row::{Found, Row};

/// A line is taken up to this many bytes, as what is saved by the API; with a page's HTML it may be long.
pub const LONGEST: u64 = 32 << 20;

/// What stood in a line.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// Its bytes, without its end.
    Whole(Vec<u8>),
    /// It is longer than a line may be.
    TooLong,
}

/// Lines with their numbers, from 1. Those that are empty or blank are passed over.
pub struct Lines<R> {
    from: R,
    longest: u64,
    number: u64,
    broken: bool,
}

impl<R: BufRead> Lines<R> {
    /// The lines of a file.
    pub fn of(from: R) -> Self {
        Self { from, longest: LONGEST, number: 0, broken: false }
    }

    /// The next line as a row; where the file cannot be read on, that is the last one.
    pub fn row(&mut self, read: impl FnOnce(Line) -> Found) -> Option<Row> {
        if self.broken {
            return None;
        }
        match self.next() {
            Ok(None) => None,
            Ok(Some((line, content))) => Some(Row { line, found: read(content) }),
            Err(_) => {
                self.broken = true;
                let found = Found::Passed("the file cannot be read on from here".to_owned());
                Some(Row { line: self.number + 1, found })
            }
        }
    }

    /// The next line that holds something.
    pub fn next(&mut self) -> io::Result<Option<(u64, Line)>> {
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
                self.from.skip_until(b'\n')?;
                return Ok(Some((self.number, Line::TooLong)));
            }
            if self.number == 1 && bytes.starts_with(b"\xef\xbb\xbf") {
                bytes.drain(..3);
            }
            if !bytes.trim_ascii().is_empty() {
                return Ok(Some((self.number, Line::Whole(bytes))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &[u8], longest: u64) -> Vec<(u64, Line)> {
        let mut lines = Lines { from: text, longest, number: 0, broken: false };
        std::iter::from_fn(|| lines.next().unwrap()).collect()
    }

    fn whole(number: u64, text: &str) -> (u64, Line) {
        (number, Line::Whole(text.as_bytes().to_vec()))
    }

    #[test]
    fn lines_keep_their_numbers_over_blank_ones() {
        assert_eq!(read(b"one\n\n  \r\ntwo", 10), [whole(1, "one"), whole(4, "two")]);
        assert_eq!(read(b"", 10), []);
        assert_eq!(read(b"\n\n", 10), []);
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_is_read() {
        assert_eq!(
            read(b"123\n1234\n12345\n1", 4),
            [whole(1, "123"), whole(2, "1234"), (3, Line::TooLong), whole(4, "1")]
        );
        assert_eq!(read(b"12345", 4), [(1, Line::TooLong)]);
        assert_eq!(read(b"1234", 4), [whole(1, "1234")]);
    }

    #[test]
    fn the_mark_of_utf_8_is_no_part_of_the_first_line() {
        assert_eq!(read(b"\xef\xbb\xbf{}\n{}", 10), [whole(1, "{}"), whole(2, "{}")]);
    }

    proptest! {
        #[test]
        fn every_line_comes_once_and_in_order(lines in prop::collection::vec("[a-c]{1,6}", 0..20)) {
            let read = read(lines.join("\n").as_bytes(), 4);

            let expected: Vec<_> = lines
                .iter()
                .zip(1..)
                .map(|(line, n)| if line.len() > 4 { (n, Line::TooLong) } else { whole(n, line) })
                .collect();
            prop_assert_eq!(read, expected);
        }
    }
}
