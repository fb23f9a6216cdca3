//! The text of a page while it is laid out: its characters, each with the place at which it is painted.
//!
//! Text and places go through the same steps, so that a run that is drawn over the picture of a page and the text that is stored
//! cannot differ.

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, is_nfc_quick};

use super::glyphs::Glyph;

/// The place of a character on the page, in the upright coordinate system of its text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CharBox {
    /// Its left edge, in units of the page.
    pub x0: f64,
    /// The end of its advance.
    pub x1: f64,
    /// Its base line; y grows downwards.
    pub y: f64,
    /// The height of its font.
    pub size: f64,
    /// The direction of its text, in degrees clockwise from the upright one.
    pub turn: f64,
}

/// A character, with its place if it was painted. Spaces and line ends between words were not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacedChar {
    /// The character.
    pub c: char,
    /// Its place.
    pub place: Option<CharBox>,
}

/// A text whose characters have places.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlacedText(Vec<PlacedChar>);

impl PlacedText {
    /// Returns the text of a glyph. The characters of one glyph, such as a ligature, share its width.
    pub fn of_glyph(glyph: &Glyph) -> Self {
        let count = glyph.text.chars().count().max(1) as f64;
        let width = (glyph.x1 - glyph.x0) / count;
        let place = |n: usize| CharBox {
            x0: glyph.x0 + n as f64 * width,
            x1: glyph.x0 + (n + 1) as f64 * width,
            y: glyph.y,
            size: glyph.size,
            turn: 0.0,
        };
        let placed = |(n, c): (usize, char)| PlacedChar { c, place: Some(place(n)) };
        Self(glyph.text.chars().enumerate().map(placed).collect())
    }

    /// Returns whether it has no character.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the characters with their places.
    pub fn chars(&self) -> &[PlacedChar] {
        &self.0
    }

    /// Returns the last characters, at most this many.
    pub fn tail(&self, max_chars: usize) -> String {
        let start = self.0.len().saturating_sub(max_chars);
        self.0.iter().skip(start).map(|placed| placed.c).collect()
    }

    /// Appends characters that are not painted, such as the space between two words.
    pub fn push_str(&mut self, text: &str) {
        self.0.extend(text.chars().map(|c| PlacedChar { c, place: None }));
    }

    /// Appends another text.
    pub fn append(&mut self, other: PlacedText) {
        self.0.extend(other.0);
    }

    /// Removes the last character.
    pub fn pop(&mut self) {
        self.0.pop();
    }

    /// Splits it at the first space, which is in neither half. The second half is empty if there is no space.
    pub fn split_at_space(mut self) -> (PlacedText, PlacedText) {
        let Some(at) = self.0.iter().position(|placed| placed.c == ' ') else {
            return (self, Self::default());
        };
        let mut rest = self.0.split_off(at);
        rest.remove(0);
        (self, Self(rest))
    }

    /// Sets the direction of all its characters, in degrees clockwise.
    pub fn turn(&mut self, degrees: f64) {
        for place in self.0.iter_mut().filter_map(|placed| placed.place.as_mut()) {
            place.turn = degrees;
        }
    }

    /// Returns it as [`text::clean`] returns its text, without white space at either end.
    pub fn cleaned(self) -> Self {
        let mut cleaned = Vec::with_capacity(self.0.len());
        for segment in self.0.chunk_by(|_, next| !begins_segment(next.c)) {
            clean_segment(segment, &mut cleaned);
        }
        let start = cleaned.iter().position(|placed| !placed.c.is_whitespace()).unwrap_or(cleaned.len());
        let end = cleaned.iter().rposition(|placed| !placed.c.is_whitespace()).map_or(start, |last| last + 1);
        cleaned.truncate(end);
        cleaned.drain(..start);
        Self(cleaned)
    }
}

impl std::fmt::Display for PlacedText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|placed| std::fmt::Write::write_char(f, placed.c))
    }
}

/// Returns whether normalisation never joins a character to those before it. A control character may be removed, which joins its
/// neighbours, and the two characters of CRLF are one line end; so it begins no segment.
fn begins_segment(c: char) -> bool {
    let is_starter = canonical_combining_class(c) == 0;
    !c.is_control() && is_starter && is_nfc_quick(std::iter::once(c)) == IsNormalized::Yes
}

/// Appends the clean characters of a segment. They keep their places if their number is the same; a letter that was composed of
/// several has the place of the first of them.
fn clean_segment(segment: &[PlacedChar], cleaned: &mut Vec<PlacedChar>) {
    if let [one] = segment
        && !one.c.is_control()
        && begins_segment(one.c)
    {
        cleaned.push(*one);
        return;
    }
    let raw: String = segment.iter().map(|placed| placed.c).collect();
    let first = segment.iter().find_map(|placed| placed.place);
    let clean: Vec<char> = text::clean(&raw).chars().collect();
    let is_one_to_one = clean.len() == segment.len();
    let places = segment.iter().map(|placed| if is_one_to_one { placed.place } else { first });
    let places = places.chain(std::iter::repeat(first));
    cleaned.extend(clean.into_iter().zip(places).map(|(c, place)| PlacedChar { c, place }));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unplaced(text: &str) -> PlacedText {
        let mut placed = PlacedText::default();
        placed.push_str(text);
        placed
    }

    #[test]
    fn ligature_shares_the_width_of_its_glyph() {
        let glyph = Glyph { text: "ffi".to_owned(), x0: 10.0, x1: 16.0, y: 5.0, size: 8.0 };

        let edges: Vec<_> =
            PlacedText::of_glyph(&glyph).0.iter().map(|placed| placed.place.unwrap().x0).collect();

        assert_eq!(edges, [10.0, 12.0, 14.0]);
    }

    #[test]
    fn composed_letter_has_the_place_of_its_base() {
        let glyph = |text: &str, x0| Glyph { text: text.to_owned(), x0, x1: x0 + 5.0, y: 0.0, size: 10.0 };
        let mut text = PlacedText::of_glyph(&glyph("e", 0.0));
        text.append(PlacedText::of_glyph(&glyph("\u{301}", 2.0)));
        text.append(PlacedText::of_glyph(&glyph("t", 5.0)));

        let cleaned = text.cleaned();

        assert_eq!(cleaned.to_string(), "ét");
        assert_eq!(cleaned.0[0].place.unwrap().x0, 0.0);
        assert_eq!(cleaned.0[1].place.unwrap().x0, 5.0);
    }

    proptest! {
        #[test]
        fn cleaning_gives_what_a_clean_text_is(text in "[ \\x00-\\x20a-c\u{85}\u{301}\u{327}\u{e9}\u{1100}\u{1161}\u{11a8}\u{958}👩]{0,40}") {
            let cleaned = unplaced(&text).cleaned().to_string();

            let whole = text::clean(&text);

            prop_assert_eq!(&cleaned, whole.trim());
            prop_assert_eq!(text::clean(cleaned.trim()), cleaned);
        }
    }
}
