//! Makes text fit to be kept: in NFC always, and what was extracted with one kind of line ending and no control
//! characters. Nothing is trimmed.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Text that a person gave (contract.md, section 11: as given, nothing trimmed inside, NFC).
pub fn as_given(text: &str) -> String {
    text.nfc().collect()
}

/// Text that was extracted from something.
///
/// CRLF, CR, NEL, vertical tab and form feed become a line feed; other control characters but the tab are
/// left out, so that what is kept fits into JSON, XML and PostgreSQL. Cleaning twice changes nothing more.
pub fn clean(text: &str) -> String {
    if is_clean(text) {
        return text.to_owned();
    }
    let mut chars = text.chars().peekable();
    let kept = std::iter::from_fn(move || {
        loop {
            match chars.next()? {
                '\r' if chars.peek() == Some(&'\n') => {}
                ending if is_line_ending(ending) => return Some('\n'),
                '\t' => return Some('\t'),
                control if control.is_control() => {}
                other => return Some(other),
            }
        }
    });
    // Controls go first: one that stood between a letter and its accent would keep the two apart.
    kept.nfc().collect()
}

/// A name that strangers choose and people decide by: one line, without what turns or hides letters.
pub fn one_line(name: &str) -> String {
    let plain: String = clean(name).chars().filter(|c| !is_invisible(*c)).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a character is not seen itself, but hides, joins or turns what is around it.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}' | '\u{e0000}'..='\u{e007f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Whether a character is a control character, ends a line or a paragraph, or changes the direction of the text around it
/// (UAX #9, section 2).
pub fn is_control_or_bidi(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a character can make one name look like another: a control character, the end of a line or a paragraph, a format
/// character (general category Cf), or another one that is not seen.
pub fn is_deceptive(c: char) -> bool {
    is_control_or_bidi(c) || is_invisible(c) || is_other_format(c)
}

/// Whether a character is the zero width joiner or non-joiner, which are deceptive, but belong to words of Persian and of Indic
/// languages, and to emoji.
pub fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// The format characters that neither [`is_control_or_bidi`] nor [`is_invisible`] has (Unicode 17).
fn is_other_format(c: char) -> bool {
    matches!(c, '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}')
}

/// Whether nothing is to be done, as for most text of the web.
fn is_clean(text: &str) -> bool {
    let plain = text.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control());
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
    fn line_endings_become_one_kind() {
        assert_eq!(clean("a\r\nb\rc\n\rd\u{85}e\u{c}f\r\r\ng"), "a\nb\nc\n\nd\ne\nf\n\ng");
    }

    #[test]
    fn controls_go_and_white_space_stays() {
        assert_eq!(clean("  a\0b\u{7}\tc\u{9b}\u{a0}d \n\n"), "  ab\tc\u{a0}d \n\n");
    }

    #[test]
    fn letters_and_their_accents_are_composed_even_across_a_control() {
        assert_eq!(clean("e\u{301} e\0\u{301}"), "é é");
    }

    #[test]
    fn what_a_person_gave_keeps_its_line_endings_and_controls() {
        assert_eq!(as_given(" a\r\nb\rc\u{b}\u{7}e\u{301}\t\n"), " a\r\nb\rc\u{b}\u{7}é\t\n");
    }

    proptest! {
        #[test]
        fn cleaning_twice_changes_nothing_more(text in "[\\x00-\\x20a-c\u{85}\u{301}\u{327}\u{e9}\u{1100}\u{1161}\u{958}👩]{0,40}") {
            let once = clean(&text);
            prop_assert!(is_nfc(&once));
            prop_assert!(once.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()));
            prop_assert_eq!(clean(&once), once);
        }

        #[test]
        fn any_text_is_taken(text in any::<String>()) {
            clean(&text);
        }
    }
}
