//! Markers in an answer: found as models write them, and written anew.

use std::ops::Range;

/// A marker as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Marker {
    /// Bytes of the answer.
    pub range: Range<usize>,
    /// The numbers in it; one that no passage can have is 0.
    pub numbers: Vec<usize>,
}

impl Marker {
    /// Places of the passages that it names, of so many that there are.
    pub fn passages(&self, count: usize) -> impl Iterator<Item = usize> {
        self.numbers.iter().filter_map(|number| number.checked_sub(1)).filter(move |place| *place < count)
    }
}

/// A range reaches no further: `[1999-2003]` speaks of years.
const LAST: usize = 99;

/// All markers: `[1]`, `[1, 2]`, `[1-3]`, `[^1]`, `[Passage 1]`, `[1, p. 2]`, `【1】`, `【1†source】` and `［1］`.
pub(super) fn all(answer: &str) -> Vec<Marker> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(rest) = answer.get(from..) {
        let Some(at) = rest.find(OPENING) else { break };
        let open = from + at;
        match read(answer, open) {
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

const OPENING: [char; 3] = ['[', '【', '［'];

fn closing(opening: char) -> char {
    match opening {
        '【' => '】',
        '［' => '］',
        _ => ']',
    }
}

fn is_dash(c: char) -> bool {
    matches!(c, '-' | '\u{2010}'..='\u{2015}')
}

/// Whether it may stand between the brackets of a marker.
fn may_stand(c: char) -> bool {
    c.is_numeric() || is_dash(c) || matches!(c, ',' | ';' | ' ' | '^' | '\u{a0}')
}

/// The numbers between the brackets; one that no passage can have is 0. None where they are no list of numbers and ranges.
fn numbers(inner: &str) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    for part in inner.split([',', ';']) {
        match part.split_once(is_dash) {
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                if first > last || last > LAST {
                    return None;
                }
                found.extend(first..=last);
            }
            None => {
                let single = part.split([' ', '\u{a0}']).filter(|part| !part.is_empty());
                found.extend(single.map(|part| number(part).unwrap_or(0)));
            }
        }
    }
    (!found.is_empty()).then_some(found)
}

fn number(text: &str) -> Option<usize> {
    text.trim_matches([' ', '\u{a0}']).trim_start_matches('^').parse().ok()
}

/// The marker that begins here.
fn read(answer: &str, open: usize) -> Option<Marker> {
    let rest = answer.get(open..)?;
    let opening = rest.chars().next()?;
    let closing = closing(opening);
    let inner = unnamed(rest.get(opening.len_utf8()..)?);
    let (inner, tail) = inner.split_at_checked(inner.find(|c| !may_stand(c))?)?;
    let end = if opening == '【' && tail.starts_with('†') {
        tail.get(tail.get(..60.min(tail.len())).unwrap_or(tail).find(closing)?..)?
    } else {
        without_page(tail)
    };
    let after = end.strip_prefix(closing)?;
    let range = open..answer.len() - after.len();
    numbers(inner).map(|numbers| Marker { range, numbers })
}

/// What stands behind the word that some models put before a number.
fn unnamed(inner: &str) -> &str {
    let word = inner.split(' ').next().unwrap_or_default();
    let names =
        ["passage", "passages", "source", "sources"].iter().any(|name| name.eq_ignore_ascii_case(word));
    if names { inner.get(word.len()..).unwrap_or_default() } else { inner }
}

/// What stands behind a page that some models put after a number: the citation has one of its own.
fn without_page(tail: &str) -> &str {
    let page = ["pp.", "p.", "pages ", "page "].iter().find_map(|word| tail.strip_prefix(word));
    page.map_or(tail, |page| page.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ' || is_dash(c)))
}

/// The answer with other numbers in its markers: `places` says which, for each marker; none takes it out.
pub(super) fn rewrite(answer: &str, markers: &[Marker], places: &[Option<Vec<usize>>]) -> String {
    let mut out = Rewritten::default();
    let mut from = 0;
    for (marker, places) in markers.iter().zip(places) {
        out.take(answer.get(from..marker.range.start).unwrap_or_default());
        from = marker.range.end;
        let rest = answer.get(from..).unwrap_or_default();
        match places {
            Some(places) if !places.is_empty() => places.iter().for_each(|number| out.mark(*number)),
            Some(_) | None => out.close_up(rest),
        }
    }
    out.take(answer.get(from..).unwrap_or_default());
    out.text.trim().to_owned()
}

/// Text that is written so that no marker comes about but those that are meant.
#[derive(Default)]
struct Rewritten {
    text: String,
    /// Where the last marker ends.
    floor: usize,
}

impl Rewritten {
    /// Adds text. What a marker that was taken out leaves behind may close to another: `[[9]1]`.
    fn take(&mut self, text: &str) {
        for (at, c) in text.char_indices() {
            if matches!(c, ']' | '】' | '］') && self.drops_stray(c) {
                self.close_up(text.get(at + c.len_utf8()..).unwrap_or_default());
            } else {
                self.text.push(c);
            }
        }
    }

    fn mark(&mut self, number: usize) {
        self.text.push_str(&format!("[{number}]"));
        self.floor = self.text.len();
    }

    /// Whether a stray marker would be closed now; its beginning is gone then.
    fn drops_stray(&mut self, end: char) -> bool {
        let since = self.text.get(self.floor..).unwrap_or_default();
        let before = since.trim_end_matches(may_stand);
        let Some(opening) = before.chars().next_back().filter(|c| OPENING.contains(c)) else { return false };
        let inner = since.get(before.len()..).unwrap_or_default();
        if closing(opening) != end || numbers(inner).is_none() {
            return false;
        }
        self.text.truncate(self.floor + before.len() - opening.len_utf8());
        true
    }

    /// Takes the space away that stood before a marker which is gone, where none is needed.
    fn close_up(&mut self, rest: &str) {
        let next = rest.chars().next();
        if next.is_none_or(|c| c.is_whitespace() || matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | ')')) {
            let kept = self.text.trim_end_matches(' ').len();
            self.text.truncate(kept.max(self.floor));
        }
    }
}
