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

/// All markers: `[1]`, `[1, 2]`, `[^1]`, `【1】` and `【1†source】`.
pub(super) fn all(answer: &str) -> Vec<Marker> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(rest) = answer.get(from..) {
        let Some(at) = rest.find(['[', '【']) else { break };
        let open = from + at;
        match read(answer, open) {
            Some(marker) => {
                from = marker.range.end;
                found.push(marker);
            }
            None => {
                from = open
                    + if rest.get(at..).is_some_and(|rest| rest.starts_with('[')) {
                        1
                    } else {
                        '【'.len_utf8()
                    }
            }
        }
    }
    found
}

/// The marker that begins here.
fn read(answer: &str, open: usize) -> Option<Marker> {
    let rest = answer.get(open..)?;
    let wide = rest.starts_with('【');
    let (opening, closing) = if wide { ('【', '】') } else { ('[', ']') };
    let inner = rest.get(opening.len_utf8()..)?;
    let allowed = |c: char| c.is_numeric() || matches!(c, ',' | ';' | ' ' | '^' | '\u{a0}');
    let end = inner.find(|c| !allowed(c))?;
    let (numbers, tail) = inner.split_at_checked(end)?;
    let mut length = opening.len_utf8() + end;
    if wide && tail.starts_with('†') {
        length += tail.get(..60.min(tail.len())).unwrap_or(tail).find(closing)?;
    } else if !tail.starts_with(closing) {
        return None;
    }
    let numbers: Vec<usize> = numbers
        .split([',', ';', ' ', '\u{a0}'])
        .map(|number| number.trim_start_matches('^'))
        .filter(|number| !number.is_empty())
        .map(|number| number.parse().unwrap_or(0))
        .collect();
    let range = open..open + length + closing.len_utf8();
    (!numbers.is_empty()).then_some(Marker { range, numbers })
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
            if c == ']' && self.drops_stray() {
                self.close_up(text.get(at + 1..).unwrap_or_default());
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
    fn drops_stray(&mut self) -> bool {
        let since = self.text.get(self.floor..).unwrap_or_default();
        let digits = since.trim_end_matches(char::is_numeric);
        if digits.len() == since.len() || !digits.ends_with('[') {
            return false;
        }
        self.text.truncate(self.floor + digits.len() - 1);
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
