//! Joins accents that are painted as separate glyphs to the letters below them.

use unicode_normalization::UnicodeNormalization;

use super::glyphs::Glyph;
use super::letters;

/// Returns the glyphs in the order of painting, with each accent joined to its letter.
pub fn join(glyphs: Vec<Glyph>) -> Vec<Glyph> {
    let mut joined: Vec<Glyph> = Vec::with_capacity(glyphs.len());
    for glyph in glyphs {
        match joined.last_mut() {
            // Programs paint the accent before or after its letter, so both orders are tried.
            Some(before) if is_accent_of(&glyph, before) => append(before, &glyph.text),
            Some(before) if is_accent_of(before, &glyph) => {
                let accent = std::mem::replace(before, glyph);
                append(before, &accent.text);
            }
            Some(_) | None => joined.push(glyph),
        }
    }
    joined
}

fn append(letter: &mut Glyph, accent: &str) {
    match letters::combining(accent) {
        Some(mark) => letter.text.push(mark),
        None => letter.text.push_str(accent),
    }
    // The text of a document is NFC throughout, so the pair becomes one character where Unicode has one.
    letter.text = letter.text.nfc().collect();
}

/// Returns whether `accent` is an accent at the position of `letter`.
fn is_accent_of(accent: &Glyph, letter: &Glyph) -> bool {
    let marks = accent.text.chars().all(letters::is_mark);
    if !marks && letters::combining(&accent.text).is_none() {
        return false;
    }
    let over = accent.x1.min(letter.x1) - accent.x0.max(letter.x0);
    let width = (accent.x1 - accent.x0).min(letter.x1 - letter.x0);
    let middle = (accent.x0 + accent.x1) / 2.0;
    let near = (accent.y - letter.y).abs() < letter.size * 0.6;
    let inside = middle >= letter.x0 - 0.1 * letter.size && middle <= letter.x1 + 0.1 * letter.size;
    // For a combining mark the position suffices. A spacing accent such as `^` or `~` may be a separate character, so it
    // must also overlap the letter.
    letter.text.chars().any(char::is_alphabetic) && near && inside && (marks || over > width * 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glyph(text: &str, x0: f64, x1: f64) -> Glyph {
        Glyph { text: text.to_owned(), x0, x1, y: 0.0, size: 10.0 }
    }

    fn texts(glyphs: Vec<Glyph>) -> Vec<String> {
        join(glyphs).into_iter().map(|glyph| glyph.text).collect()
    }

    #[test]
    fn accent_above_a_letter_joins_it() {
        assert_eq!(
            texts(vec![glyph("¨", 0.0, 5.0), glyph("u", 0.2, 5.2), glyph("b", 5.2, 10.0)]),
            ["ü", "b"]
        );
        assert_eq!(texts(vec![glyph("e", 0.0, 5.0), glyph("´", 0.5, 4.5)]), ["é"]);
    }

    #[test]
    fn accent_beside_a_letter_is_kept() {
        assert_eq!(
            texts(vec![glyph("a", 0.0, 5.0), glyph("^", 5.0, 10.0), glyph("b", 10.0, 15.0)]),
            ["a", "^", "b"]
        );
    }
}
