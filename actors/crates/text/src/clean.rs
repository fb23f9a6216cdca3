//! Normalises text before it is stored: to NFC, and extracted text also to one kind of line ending without control characters. Nothing
//! is trimmed.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Normalises text that a user wrote to NFC. Nothing else is changed (contract.md, section 11), so white space and line endings
/// stay as they were sent.
pub fn normalize_input(text: &str) -> String {
    text.nfc().collect()
}

/// Normalises text that was extracted from a page or file.
///
/// CRLF, CR, NEL, vertical tab and form feed become a line feed. Other control characters except tabs are removed, because JSON, XML and
/// PostgreSQL do not accept them. The function is idempotent.
pub fn clean(text: &str) -> String {
    if is_clean(text) {
        return text.to_owned();
    }
    let mut chars = text.chars().peekable();
    let cleaned = std::iter::from_fn(move || {
        loop {
            match chars.next()? {
                // CRLF is one line ending: the line feed that follows is returned in the next round.
                '\r' if chars.peek() == Some(&'\n') => {}
                ending if is_line_ending(ending) => return Some('\n'),
                '\t' => return Some('\t'),
                control if control.is_control() => {}
                other => return Some(other),
            }
        }
    });
    // Control characters are removed first: one between a letter and its accent would prevent their composition.
    cleaned.nfc().collect()
}

/// Reduces an untrusted name to one line, without characters that are invisible or reorder text.
pub fn one_line(name: &str) -> String {
    // `clean` comes first: it turns all line endings into line feeds, which are then joined like other white space.
    let plain: String = clean(name).chars().filter(|c| !is_invisible(*c)).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Replaces the control characters of a title or a name by spaces.
pub fn without_controls(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Returns whether a character is invisible and hides, joins or reorders the text around it.
fn is_invisible(c: char) -> bool {
    // Besides format characters these are letters and signs that are drawn as nothing, such as the Hangul fillers
    // and the blank Braille pattern.
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}' | '\u{e0000}'..='\u{e007f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Returns whether a character is a control character, ends a line or a paragraph, or changes the direction of the text around
/// it (UAX #9, section 2).
pub fn is_control_or_bidi(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns whether a character can make one name look like another: a control character, the end of a line or a paragraph, a format
/// character (general category Cf), or another invisible character. E-mail addresses refuse them; names of keys do too, except for joiners
/// ([`is_joiner`]).
pub fn is_deceptive(c: char) -> bool {
    is_control_or_bidi(c) || is_invisible(c) || is_other_format(c)
}

/// Returns whether a character is the zero width joiner or non-joiner, which are deceptive, but belong to words of Persian and of
/// Indic languages, and to emoji.
pub fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Returns whether a character is a format character that [`is_control_or_bidi`] and [`is_invisible`] do not cover (Unicode 17).
fn is_other_format(c: char) -> bool {
    // The standard library has no test of the general category, and the list changes only with a version of Unicode.
    matches!(c, '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}')
}

/// Returns whether a text needs no change, which is the case for most text of the web.
fn is_clean(text: &str) -> bool {
    let plain = text.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control());
    // The quick check returns `Maybe` for some text that is in NFC. Such text is normalised for
    // nothing, which does no harm.
    plain && (text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes)
}

fn is_line_ending(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_normalization::is_nfc;

    use super::*;

    #[test]
    fn names_lose_control_characters() {
        assert_eq!(without_controls("a\u{1b}[31m\u{7}\r\nb\u{200b}"), "a [31m   b\u{200b}");
    }

    #[test]
    fn line_endings_become_line_feeds() {
        assert_eq!(clean("a\r\nb\rc\n\rd\u{85}e\u{c}f\r\r\ng"), "a\nb\nc\n\nd\ne\nf\n\ng");
    }

    #[test]
    fn controls_are_removed_and_white_space_is_kept() {
        assert_eq!(clean("  a\0b\u{7}\tc\u{9b}\u{a0}d \n\n"), "  ab\tc\u{a0}d \n\n");
    }

    #[test]
    fn accents_are_composed_across_a_control_character() {
        assert_eq!(clean("e\u{301} e\0\u{301}"), "é é");
    }

    #[test]
    fn input_keeps_its_line_endings_and_controls() {
        assert_eq!(normalize_input(" a\r\nb\rc\u{b}\u{7}e\u{301}\t\n"), " a\r\nb\rc\u{b}\u{7}é\t\n");
    }

    proptest! {
        #[test]
        fn clean_is_idempotent(text in "[\\x00-\\x20a-c\u{85}\u{301}\u{327}\u{e9}\u{1100}\u{1161}\u{958}👩]{0,40}") {
            let once = clean(&text);
            prop_assert!(is_nfc(&once));
            prop_assert!(once.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()));
            prop_assert_eq!(clean(&once), once);
        }

        #[test]
        fn any_text_can_be_cleaned(text in any::<String>()) {
            clean(&text);
        }
    }
}
