//! Properties of characters: direction, folding, accents.

use unicode_bidi::{BidiClass, bidi_class};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Returns whether a character has no meaning: a replacement character, a control character, or a private-use character.
pub fn is_unknown(c: char) -> bool {
    c == char::REPLACEMENT_CHARACTER || (c.is_control() && !c.is_whitespace()) || is_private(c)
}

fn is_private(c: char) -> bool {
    // Fonts with a private encoding map their glyphs to these ranges, where a character means nothing to others.
    matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10fffd}')
}

/// Returns whether a character is written from right to left.
pub fn is_right_to_left(c: char) -> bool {
    matches!(bidi_class(c), BidiClass::R | BidiClass::AL)
}

/// Returns whether a character is a letter written from left to right.
pub fn is_left_to_right(c: char) -> bool {
    bidi_class(c) == BidiClass::L
}

/// Returns whether a character combines with the one before it.
pub fn is_mark(c: char) -> bool {
    is_combining_mark(c)
}

/// Returns whether a character belongs to a script that writes words without spaces between them, such as Thai, Chinese and Japanese.
pub fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Replaces presentation forms by letters: ligatures, joined forms of Arabic and Hebrew, letters of formulas. Other compatibility
/// characters are kept, because they have a meaning, such as `²`.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    text.chars().flat_map(fold_one).collect()
}

fn fold_one(c: char) -> Vec<char> {
    match c {
        // Only these ranges are folded: NFKC of all characters would turn `x²` into `x2`.
        '\u{fb00}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}' | '\u{1d400}'..='\u{1d7ff}' => {
            // The range of Arabic forms ends with U+FEFF, the zero width no-break space, which is not a letter.
            std::iter::once(c).nfkc().filter(|c| *c != '\u{feff}').collect()
        }
        // Every kind of space separates words.
        other if other.is_whitespace() => vec![' '],
        other => vec![other],
    }
}

/// Returns the combining form of a spacing accent, which old fonts paint above or below its letter.
pub fn combining(accent: &str) -> Option<char> {
    let combining = match accent {
        "`" | "\u{2cb}" => '\u{300}',
        "\u{b4}" | "\u{2ca}" => '\u{301}',
        "\u{2c6}" | "^" => '\u{302}',
        "\u{2dc}" | "~" => '\u{303}',
        "\u{af}" | "\u{2c9}" => '\u{304}',
        "\u{2d8}" => '\u{306}',
        "\u{2d9}" => '\u{307}',
        "\u{a8}" => '\u{308}',
        "\u{2da}" | "\u{b0}" => '\u{30a}',
        "\u{2dd}" => '\u{30b}',
        "\u{2c7}" => '\u{30c}',
        "\u{b8}" => '\u{327}',
        "\u{2db}" => '\u{328}',
        _ => return None,
    };
    Some(combining)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presentation_forms_are_folded_to_letters() {
        assert_eq!(fold("eﬃcient x² \u{1d465} \u{fee1}"), "efficient x² x \u{645}");
    }

    #[test]
    fn directions_of_letters_are_known() {
        assert!(is_right_to_left('ש') && is_right_to_left('م') && !is_right_to_left('1'));
        assert!(is_left_to_right('a') && !is_left_to_right('.'));
    }
}
