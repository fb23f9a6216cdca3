//! Finds markers in an answer, in all forms that models write, and rewrites them.

use std::ops::Range;

/// A marker as the model wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CitationMarker {
    /// Range in bytes of the answer.
    pub range: Range<usize>,
    /// Its numbers; 0 for one that cannot be the number of a passage.
    pub numbers: Vec<usize>,
}

impl CitationMarker {
    /// Positions of the passages that it refers to, of `count` passages.
    pub fn passages(&self, count: usize) -> impl Iterator<Item = usize> {
        self.numbers.iter().filter_map(|number| number.checked_sub(1)).filter(move |index| *index < count)
    }
}

/// Maximum end of a range of numbers: `[1999-2003]` are years.
const MAX_RANGE_END: usize = 99;

/// Finds all markers: `[1]`, `[1, 2]`, `[1-3]`, `[^1]`, `[Passage 1]`, `[1, p. 2]`, `【1】`, `【1†source】` and `［1］`.
pub(super) fn find_all(answer: &str) -> Vec<CitationMarker> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(rest) = answer.get(from..) {
        let Some(at) = rest.find(OPENING_BRACKETS) else { break };
        let open = from + at;
        match parse(answer, open) {
            Some(marker) => {
                from = marker.range.end;
                found.push(marker);
            }
            None => {
                from = open + rest.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
            }
        }
    }
    found
}

/// Returns whether a text has a letter or a digit outside of what looks like markers. One without says nothing, such as `[1], [2].`
pub fn has_words(text: &str) -> bool {
    let holds_word =
        |range: Range<usize>| text.get(range).unwrap_or_default().chars().any(char::is_alphanumeric);
    let mut from = 0;
    for marker in find_all(text) {
        if holds_word(from..marker.range.start) {
            return true;
        }
        from = marker.range.end;
    }
    holds_word(from..text.len())
}

const OPENING_BRACKETS: [char; 3] = ['[', '【', '［'];

fn closing_bracket(opening: char) -> char {
    match opening {
        '【' => '】',
        '［' => '］',
        _ => ']',
    }
}

fn is_dash(c: char) -> bool {
    matches!(c, '-' | '\u{2010}'..='\u{2015}')
}

/// Returns whether a character may occur between the brackets of a marker.
fn is_marker_char(c: char) -> bool {
    c.is_numeric() || is_dash(c) || matches!(c, ',' | ';' | ' ' | '^' | '\u{a0}')
}

/// Parses the text between brackets as a list of numbers and ranges; 0 stands for a number that cannot be that of a passage. `None` if
/// it is not such a list.
fn parse_numbers(inner: &str) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    for part in inner.split([',', ';']) {
        match part.split_once(is_dash) {
            Some((first, last)) => {
                let (first, last) = (parse_number(first)?, parse_number(last)?);
                if first > last || last > MAX_RANGE_END {
                    return None;
                }
                found.extend(first..=last);
            }
            None => {
                // Digits that are the number of no passage become 0, so that the marker is found nevertheless, and removed.
                let single = part.split([' ', '\u{a0}']).filter(|part| !part.is_empty());
                found.extend(single.map(|part| parse_number(part).unwrap_or(0)));
            }
        }
    }
    (!found.is_empty()).then_some(found)
}

fn parse_number(text: &str) -> Option<usize> {
    text.trim_matches([' ', '\u{a0}']).trim_start_matches('^').parse().ok()
}

/// Parses the marker that begins at `open`.
fn parse(answer: &str, open: usize) -> Option<CitationMarker> {
    let rest = answer.get(open..)?;
    let opening = rest.chars().next()?;
    let closing = closing_bracket(opening);
    let inner = without_name(rest.get(opening.len_utf8()..)?);
    let (inner, tail) = inner.split_at_checked(inner.find(|c| !is_marker_char(c))?)?;
    // Some models write the name of the source behind the number; it ends within 60 bytes.
    let end = if opening == '【' && tail.starts_with('†') {
        tail.get(tail.get(..60.min(tail.len())).unwrap_or(tail).find(closing)?..)?
    } else {
        without_page(tail)
    };
    let after = end.strip_prefix(closing)?;
    let range = open..answer.len() - after.len();
    parse_numbers(inner).map(|numbers| CitationMarker { range, numbers })
}

/// Skips the word that some models write before a number.
fn without_name(inner: &str) -> &str {
    let word = inner.split(' ').next().unwrap_or_default();
    let is_name =
        ["passage", "passages", "source", "sources"].iter().any(|name| name.eq_ignore_ascii_case(word));
    if is_name { inner.get(word.len()..).unwrap_or_default() } else { inner }
}

/// Skips the page number that some models write after a number: the citation contains the page separately.
fn without_page(tail: &str) -> &str {
    let page = ["pp.", "p.", "pages ", "page "].iter().find_map(|word| tail.strip_prefix(word));
    page.map_or(tail, |page| page.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ' || is_dash(c)))
}

/// Replaces each marker by one for each of its numbers in `numbers`; a marker without any is removed.
pub(super) fn rewrite(answer: &str, markers: &[CitationMarker], numbers: &[Option<Vec<usize>>]) -> String {
    let mut out = AnswerWriter::default();
    let mut from = 0;
    for (marker, numbers) in markers.iter().zip(numbers) {
        out.push_text(answer.get(from..marker.range.start).unwrap_or_default());
        from = marker.range.end;
        let rest = answer.get(from..).unwrap_or_default();
        match numbers {
            Some(numbers) if !numbers.is_empty() => {
                numbers.iter().for_each(|number| out.push_marker(*number));
            }
            Some(_) | None => out.trim_space_before(rest),
        }
    }
    out.push_text(answer.get(from..).unwrap_or_default());
    out.text.trim().to_owned()
}

/// Writes an answer so that its text contains no markers but those that are pushed.
#[derive(Default)]
struct AnswerWriter {
    text: String,
    /// End of the last marker in bytes. Nothing before it is changed.
    floor: usize,
}

impl AnswerWriter {
    /// Adds text. When a marker is removed, the text around it may form another one: `[[9]1]`.
    fn push_text(&mut self, text: &str) {
        for (at, c) in text.char_indices() {
            if matches!(c, ']' | '】' | '］') && self.remove_stray(c) {
                self.trim_space_before(text.get(at + c.len_utf8()..).unwrap_or_default());
            } else {
                self.text.push(c);
            }
        }
    }

    fn push_marker(&mut self, number: usize) {
        self.text.push_str(&format!("[{number}]"));
        self.floor = self.text.len();
    }

    /// Removes the beginning of a stray marker that this bracket would close. Returns whether there was one.
    fn remove_stray(&mut self, end: char) -> bool {
        let since = self.text.get(self.floor..).unwrap_or_default();
        let before = since.trim_end_matches(is_marker_char);
        let Some(opening) = before.chars().next_back().filter(|c| OPENING_BRACKETS.contains(c)) else {
            return false;
        };
        let inner = since.get(before.len()..).unwrap_or_default();
        if closing_bracket(opening) != end || parse_numbers(inner).is_none() {
            return false;
        }
        self.text.truncate(self.floor + before.len() - opening.len_utf8());
        true
    }

    /// Removes the space before a marker that was removed, unless the text behind it needs one.
    fn trim_space_before(&mut self, rest: &str) {
        let next = rest.chars().next();
        if next.is_none_or(|c| c.is_whitespace() || matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | ')')) {
            let kept = self.text.trim_end_matches(' ').len();
            self.text.truncate(kept.max(self.floor));
        }
    }
}
