//! Quotations: where one stands before a marker, and whether a passage holds it, up to white space and case.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

/// A quotation is no longer than this, in bytes.
const LONGEST: usize = 4_000;
/// Quotation marks within a quotation that are tried as its beginning.
const OPENINGS: usize = 16;

/// The quotations that may be meant just before this place, in bytes of the answer, shortest first: all end with the same
/// quotation mark, and a quotation may hold others.
pub(super) fn before(answer: &str, at: usize) -> Vec<Range<usize>> {
    let is_between =
        |c: char| c.is_whitespace() || matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '…' | '(');
    let head = answer.get(..at).unwrap_or_default().trim_end_matches(is_between);
    let Some(closing) = head.chars().next_back() else { return Vec::new() };
    let Some(opening) = openings(closing) else { return Vec::new() };
    let end = head.len() - closing.len_utf8();
    let within = head.get(..end).unwrap_or_default();
    let marks = within.rmatch_indices(opening).take(OPENINGS);
    marks.map(|(at, mark)| at + mark.len()..end).take_while(|range| range.len() <= LONGEST).collect()
}

/// What a quotation begins with that ends so.
fn openings(closing: char) -> Option<&'static [char]> {
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

/// A text in which quotations are looked for.
pub struct Folded {
    text: String,
    /// For each byte of `text`, the scalar value of the source that it comes from.
    origin: Vec<usize>,
}

impl Folded {
    /// Of this text, which is NFC.
    pub fn of(source: &str) -> Self {
        let mut folded =
            Self { text: String::with_capacity(source.len()), origin: Vec::with_capacity(source.len()) };
        for (at, c) in source.chars().enumerate() {
            if c.is_whitespace() {
                if !folded.text.ends_with(' ') {
                    folded.push(' ', at);
                }
            } else {
                lower(c).for_each(|c| folded.push(c, at));
            }
        }
        folded
    }

    /// Where the quotation stands first, in scalar values of the source; nowhere where it is blank.
    pub fn find(&self, quotation: &str) -> Option<Range<usize>> {
        let nfc: String = quotation.trim().nfc().collect();
        let wanted = Self::of(&nfc).text;
        if wanted.is_empty() {
            return None;
        }
        let mut from = 0;
        while let Some(at) = self.text.get(from..)?.find(&wanted) {
            let start = from + at;
            if let Some(range) = self.whole(start, start + wanted.len()) {
                return Some(range);
            }
            from = start + self.text.get(start..)?.chars().next()?.len_utf8();
        }
        None
    }

    /// The source's range, where it begins and ends between its characters.
    fn whole(&self, start: usize, end: usize) -> Option<Range<usize>> {
        let first = *self.origin.get(start)?;
        let last = *self.origin.get(end.checked_sub(1)?)?;
        let begins = start.checked_sub(1).and_then(|before| self.origin.get(before)) != Some(&first);
        let ends = self.origin.get(end) != Some(&last);
        (begins && ends).then_some(first..last + 1)
    }

    fn push(&mut self, c: char, at: usize) {
        self.text.push(c);
        self.origin.resize(self.text.len(), at);
    }
}

fn lower(c: char) -> impl Iterator<Item = char> {
    // The sigma at a word's end is the same letter.
    c.to_lowercase().map(|c| if c == 'ς' { 'σ' } else { c })
}
