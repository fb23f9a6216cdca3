//! Beginnings of codes, which users type alone: `LM3` of `LM385` and of `LM 385P`.

use super::words::Token;

/// Length of the beginnings by which a code is found, in bytes: a code has six of them at most. Shorter ones begin too many codes,
/// and longer ones are mostly typed as the whole code.
const MIN_PREFIX_BYTES: usize = 3;
const MAX_PREFIX_BYTES: usize = 8;

/// Minimum length of the name of a series that is written in capital letters (`BWV 578`), in letters.
const MIN_CAPITAL_LETTERS: usize = 2;

/// Maximum length of a code that is found by its beginnings, in bytes. Longer ones are hashes.
const MAX_CODE_BYTES: usize = 32;

/// Returns the beginnings of a code in lower case by which it is found, at most six: each has a letter and a digit. Short codes are among
/// them themselves, so that a passage with the whole code never has less of a query than one that only begins with it. None for words
/// that are no codes of ASCII letters and digits, and for hashes.
pub fn prefixes(code: &str) -> impl Iterator<Item = &str> {
    // Most words have no digit, and then nothing else is looked at.
    let is_code = code.bytes().any(|byte| byte.is_ascii_digit())
        && code.len() <= MAX_CODE_BYTES
        && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (MIN_PREFIX_BYTES..=MAX_PREFIX_BYTES)
        .take_while(move |_| is_code)
        .filter_map(move |length| code.get(..length))
        .filter(|prefix| has_letter_and_digit(prefix))
}

/// Returns whether a word in lower case is a beginning by which codes are found.
pub fn is_prefix(word: &str) -> bool {
    prefixes(word).any(|prefix| prefix.len() == word.len())
}

fn has_letter_and_digit(code: &str) -> bool {
    code.bytes().any(|byte| byte.is_ascii_digit()) && code.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Returns whether several words begin with a name in capital letters and a number, as codes do (`LM 385P`), but not `May 2024`.
pub fn is_named_in_capitals(words: &[Token<'_>]) -> bool {
    let [name, number, ..] = words else { return false };
    name.text.len() >= MIN_CAPITAL_LETTERS
        && name.text.bytes().all(|byte| byte.is_ascii_uppercase())
        && number.text.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexical::words::split_tokens;

    #[test]
    fn code_has_few_beginnings() {
        for (code, expected) in [
            ("lm385", vec!["lm3", "lm38", "lm385"]),
            ("9e3779b1", vec!["9e3", "9e37", "9e377", "9e3779", "9e3779b", "9e3779b1"]),
            ("1n4148", vec!["1n4", "1n41", "1n414", "1n4148"]),
            ("atmega328p", vec!["atmega3", "atmega32"]),
            ("1990s", vec!["1990s"]),
            ("cve202144228", vec!["cve2", "cve20", "cve202", "cve2021", "cve20214"]),
            ("h2", vec![]),
            ("heron", vec![]),
            ("20240606", vec![]),
            ("größe5", vec![]),
        ] {
            assert_eq!(prefixes(code).collect::<Vec<_>>(), expected, "{code}");
        }
        assert_eq!(prefixes(&"a1".repeat(MAX_CODE_BYTES)).count(), 0);
    }

    #[test]
    fn beginnings_are_told_from_other_words() {
        for (word, expected) in
            [("lm3", true), ("9e3779b1", true), ("k62", true), ("lm", false), ("385", false), ("d9", false)]
        {
            assert_eq!(is_prefix(word), expected, "{word}");
        }
        assert!(!is_prefix("9e3779b1u"), "it is longer than the longest beginning");
    }

    #[test]
    fn codes_of_several_words_have_a_name_in_capitals() {
        for (text, expected) in [
            ("LM 385P", true),
            ("CVE-2021-44228", true),
            ("May 2024", false),
            ("K 622", false),
            ("LM", false),
            ("NASA Ames", false),
            ("ГОСТ 12345", false),
        ] {
            assert_eq!(is_named_in_capitals(&split_tokens(text)), expected, "{text}");
        }
    }
}
