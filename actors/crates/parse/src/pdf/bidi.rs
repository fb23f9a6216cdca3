//! Converts lines from right to left from visual to logical order.

use unicode_bidi::{BidiInfo, Level};

use super::glyphs::Glyph;
use super::letters;
use super::placed_text::PlacedText;

/// A glyph or a space of a line.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The letter, with the marks on it.
    pub text: String,
    /// The same characters with their places.
    pub placed: PlacedText,
}

impl Unit {
    /// Returns the unit of a glyph.
    pub fn of_glyph(glyph: &Glyph) -> Self {
        Self { text: glyph.text.clone(), placed: PlacedText::of_glyph(glyph) }
    }

    /// Returns a space, which is not painted.
    pub fn space() -> Self {
        let mut placed = PlacedText::default();
        placed.push_str(" ");
        Self { text: " ".to_owned(), placed }
    }

    /// Adds a mark to the letter.
    pub fn push(&mut self, mark: &Glyph) {
        self.text.push_str(&mark.text);
        self.placed.append(PlacedText::of_glyph(mark));
    }
}

/// Returns the text of a line in logical order. `units` are in visual order, from left to right; `right_to_left` is the base direction.
///
/// The rules of UAX #9 for visual order are their own inverse: applied to the visual order they restore the logical one, because
/// neighbouring characters are the same.
pub fn logical(units: Vec<Unit>, right_to_left: bool) -> PlacedText {
    // A unit is reversed as a whole: a ligature is one glyph of several letters, which are in logical order already.
    let visual: String = units.iter().map(|unit| unit.text.as_str()).collect();
    let base = if right_to_left { Level::rtl() } else { Level::ltr() };
    let info = BidiInfo::new(&visual, Some(base));
    let mut at = 0;
    let mut levelled: Vec<(u8, Unit)> = Vec::with_capacity(units.len());
    for unit in units {
        let level = info.levels.get(at).map_or(base.number(), Level::number);
        at += unit.text.len();
        levelled.push((level, unit));
    }
    let mut text = PlacedText::default();
    for (_, unit) in reverse(levelled) {
        text.append(unit.placed);
    }
    text
}

/// Rule L2: from the highest level down to the lowest odd one, runs at that level or above are reversed.
fn reverse(mut units: Vec<(u8, Unit)>) -> Vec<(u8, Unit)> {
    let highest = units.iter().map(|(level, _)| *level).max().unwrap_or_default();
    for level in (1..=highest).rev() {
        for run in units.chunk_by_mut(|a, b| (a.0 >= level) == (b.0 >= level)) {
            if run.first().is_some_and(|(at, _)| *at >= level) {
                run.reverse();
            }
        }
    }
    units
}

/// Returns whether most letters are written from right to left; `None` if neither direction clearly prevails.
pub fn direction<'a>(glyphs: impl Iterator<Item = &'a Glyph>) -> Option<bool> {
    let (mut left, mut right) = (0usize, 0usize);
    for c in glyphs.flat_map(|glyph| glyph.text.chars()) {
        left += usize::from(letters::is_left_to_right(c));
        right += usize::from(letters::is_right_to_left(c));
    }
    match (left, right) {
        (0, 0) => None,
        // Three letters to two: on a page of both directions neither prevails, and the caller decides.
        (left, right) if right * 2 >= left * 3 => Some(true),
        (left, right) if left * 2 >= right * 3 => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_bidi::BidiInfo;

    use super::*;

    fn unit(text: &str) -> Unit {
        let mut placed = PlacedText::default();
        placed.push_str(text);
        Unit { text: text.to_owned(), placed }
    }

    fn units(visual: &str) -> Vec<Unit> {
        visual.chars().map(|c| unit(&c.to_string())).collect()
    }

    fn logical_text(units: Vec<Unit>, right_to_left: bool) -> String {
        logical(units, right_to_left).to_string()
    }

    #[test]
    fn rtl_line_is_reversed_and_numbers_are_not() {
        assert_eq!(logical_text(units(".1948 תנש"), true), "שנת 1948.");
        assert_eq!(logical_text(units("תומואה Paris ריעב"), true), "בעיר Paris האומות");
    }

    #[test]
    fn rtl_quotation_in_an_ltr_line_is_reversed() {
        assert_eq!(logical_text(units("he said םולש to all"), false), "he said שלום to all");
    }

    #[test]
    fn ligature_keeps_its_order() {
        let visual = ["م", "لا", "س"].map(unit).to_vec();

        assert_eq!(logical_text(visual, true), "سلام");
    }

    proptest! {
        #[test]
        fn visual_order_is_converted_back_to_logical_order(text in "[א-ת]{1,5}( ([0-9]{1,4}|[a-z]{1,5}|[a-z]{1,4} [a-z]{1,4}) [א-ת]{1,5}){0,4}") {
            let info = BidiInfo::new(&text, Some(Level::rtl()));
            let visual = info.reorder_line(&info.paragraphs[0], 0..text.len()).into_owned();

            prop_assert_eq!(logical_text(units(&visual), true), text);
        }
    }
}
