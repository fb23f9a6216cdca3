//! Finds quotations before a marker, and in a passage, up to white space and case.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use crate::lexical::lowercase_letter;

/// Maximum length of a quotation in bytes.
const MAX_QUOTATION_BYTES: usize = 4_000;
/// Number of quotation marks before the closing one that are tried as the opening one.
const MAX_OPENING_MARKS: usize = 16;

/// Returns the possible quotations that end just before `at`, as ranges in bytes of the answer, shortest first. All end with the same
/// quotation mark, but a quotation may contain others.
pub(super) fn find_before(answer: &str, at: usize) -> Vec<Range<usize>> {
    let is_between =
        |c: char| c.is_whitespace() || matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '…' | '(');
    let head = answer.get(..at).unwrap_or_default().trim_end_matches(is_between);
    let Some(closing) = head.chars().next_back() else { return Vec::new() };
    let Some(opening) = opening_marks(closing) else { return Vec::new() };
    let end = head.len() - closing.len_utf8();
    let within = head.get(..end).unwrap_or_default();
    // Each candidate is searched in every passage of the marker, so their number is bounded.
    let marks = within.rmatch_indices(opening).take(MAX_OPENING_MARKS);
    marks
        .map(|(at, mark)| at + mark.len()..end)
        .take_while(|range| range.len() <= MAX_QUOTATION_BYTES)
        .collect()
}

/// Returns the quotation marks that open a quotation which ends with this one.
fn opening_marks(closing: char) -> Option<&'static [char]> {
    match closing {
        '"' => Some(&['"', '“', '„']),
        '”' => Some(&['“', '„', '”', '"']),
        '“' => Some(&['„']),
        '»' => Some(&['«', '»']),
        '«' => Some(&['»', '«']),
        '」' => Some(&['「']),
        '』' => Some(&['『']),
        '＂' => Some(&['＂']),
        _ => None,
    }
}

/// A text prepared for finding quotations: in lower case, with single spaces.
pub struct FoldedText {
    text: String,
    /// For each byte of `text`, the scalar value of the source that it comes from.
    origin: Vec<usize>,
}

impl FoldedText {
    /// Prepares a text, which must be NFC.
    pub fn of(source: &str) -> Self {
        let mut folded =
            Self { text: String::with_capacity(source.len()), origin: Vec::with_capacity(source.len()) };
        for (at, c) in source.chars().enumerate() {
            if c.is_whitespace() {
                if !folded.text.ends_with(' ') {
                    folded.push(' ', at);
                }
            } else {
                lowercase_letter(c).for_each(|c| folded.push(c, at));
            }
        }
        folded
    }

    /// Returns the first range of the quotation in scalar values of the source; `None` if it is blank or not in the text.
    pub fn find(&self, quotation: &str) -> Option<Range<usize>> {
        // Passages are NFC; a model may write letters and accents apart.
        let nfc: String = quotation.trim().nfc().collect();
        let wanted = Self::of(&nfc).text;
        if wanted.is_empty() {
            return None;
        }
        let mut from = 0;
        while let Some(at) = self.text.get(from..)?.find(&wanted) {
            let start = from + at;
            if let Some(range) = self.source_range(start, start + wanted.len()) {
                return Some(range);
            }
            from = start + self.text.get(start..)?.chars().next()?.len_utf8();
        }
        None
    }

    /// Returns the range of the source, if both ends are between its characters.
    fn source_range(&self, start: usize, end: usize) -> Option<Range<usize>> {
        let first = *self.origin.get(start)?;
        let last = *self.origin.get(end.checked_sub(1)?)?;
        // The lower-case form of a letter may have several letters, and a range must not begin or end inside of one.
        let begins = start.checked_sub(1).and_then(|before| self.origin.get(before)) != Some(&first);
        let ends = self.origin.get(end) != Some(&last);
        (begins && ends).then_some(first..last + 1)
    }

    fn push(&mut self, c: char, at: usize) {
        self.text.push(c);
        self.origin.resize(self.text.len(), at);
    }
}
