//! Normalises plain text as the library stores it: NFC, one space between words, no invisible characters.

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Maximum length of a title or name, in characters (contract.md, 11: v1).
pub const MAX_NAME_CHARS: usize = 300;

/// Normalises lines: a run of white space within a line becomes one space, empty lines are removed.
pub fn normalize_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split('\n').map(normalize_line).filter(|line| !line.is_empty()) {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&line);
    }
    out
}

/// Normalises a text to one line without white space at its ends.
pub fn normalize_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        let before = out.len();
        if before > 0 {
            out.push(' ');
        }
        out.extend(word.chars().filter(|c| !is_hidden(*c)).nfc());
        // A word of hidden characters alone leaves no second space behind.
        if out.len() == before + usize::from(before > 0) {
            out.truncate(before);
        }
    }
    out
}

/// Returns one line of at most `max_chars` characters; `None` if it has no word.
pub fn clean_line(text: &str, max_chars: usize) -> Option<String> {
    let text = truncate(&normalize_line(text), max_chars);
    text.chars().any(char::is_alphanumeric).then_some(text)
}

/// Normalises code: NFC, indentation kept, without control characters and surrounding empty lines, and with at most one
/// empty line in a row.
pub fn normalize_verbatim(text: &str) -> String {
    let kept = |c: &char| matches!(c, '\n' | '\t') || !(c.is_control() || is_hidden(*c));
    let text: String = text.replace("\r\n", "\n").chars().filter(kept).nfc().collect();
    let mut out = String::with_capacity(text.len());
    for line in text.trim_end().trim_start_matches('\n').split('\n') {
        if !(line.is_empty() && out.ends_with("\n\n")) {
            out.push_str(line);
            out.push('\n');
        }
    }
    out.pop();
    out
}

/// Returns the first `max_chars` characters, cut between words if possible.
pub fn truncate(text: &str, max_chars: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(max_chars) else { return text.to_owned() };
    let head = text.get(..end).unwrap_or_default();
    // A text without a space is cut within its word, because it would be empty otherwise.
    head.rsplit_once(' ').map_or(head, |(whole, _)| whole).to_owned()
}

/// Returns whether a character is unchanged by normalisation: not white space, a control or a hidden character, and not combining
/// with the character before it.
pub fn is_visible(c: char) -> bool {
    // Composition to NFC may join such a character with the one before it, and then the count of characters changes.
    let joins =
        || canonical_combining_class(c) != 0 || is_nfc_quick(std::iter::once(c)) == IsNormalized::Maybe;
    c.is_ascii_graphic() || !(c.is_ascii() || c.is_whitespace() || c.is_control() || is_hidden(c) || joins())
}

/// Returns whether a character is hidden: soft hyphens, break hints, byte order marks, direction overrides and isolates, private use and
/// noncharacters. Joiners are kept, because emoji and several scripts need them.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{61c}'
        | '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}' | '\u{f0000}'..)
        // The last two code points of each plane are noncharacters.
        || u32::from(c) & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_normalization::is_nfc;

    use super::*;

    proptest! {
        #[test]
        fn lines_are_nfc_without_control_characters_and_double_spaces(text in any::<String>()) {
            let lines = normalize_lines(&text);

            prop_assert!(is_nfc(&lines));
            prop_assert!(!lines.contains("  ") && !lines.contains("\n\n"));
            prop_assert!(lines.chars().all(|c| c == '\n' || !c.is_control()));
            prop_assert_eq!(normalize_lines(&lines), lines);
        }

        #[test]
        fn truncation_is_a_prefix_within_the_bound(text in any::<String>(), most in 0_usize..40) {
            let cut = truncate(&text, most);

            prop_assert!(text.starts_with(&cut));
            prop_assert!(cut.chars().count() <= most);
        }
    }

    #[test]
    fn invisible_characters_are_removed() {
        assert_eq!(
            normalize_line(" so\u{ad}ft\u{a0}\u{a0}hyphen \u{200b} \u{202e}turned\u{0} e\u{301} "),
            "soft hyphen turned \u{e9}"
        );
    }

    #[test]
    fn joined_emoji_stay_joined() {
        assert_eq!(normalize_line("👩\u{200d}👧 ok"), "👩\u{200d}👧 ok");
    }

    #[test]
    fn code_keeps_its_indentation() {
        assert_eq!(normalize_verbatim("\n\nfn a() {\r\n\tb();\n}\n\n"), "fn a() {\n\tb();\n}");
        assert_eq!(normalize_verbatim("\ta\n\n\n\n\nb\n\nc"), "\ta\n\nb\n\nc");
    }
}
