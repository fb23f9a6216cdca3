//! Codes and names that are written in several ways: joined or in parts (`CVE-2021-44228`, `O'Sullivan`, `BWV 578`, `TooManyRequests`),
//! and with endings that are mostly left out (`LM385P`, `0x9E3779B1UL`).

use super::normalize::is_ngram_letter;
use super::words::{Separator, Token};

/// Longer chains are paths and addresses, which users do not type as one word.
const MAX_JOINED_WORDS: usize = 6;

/// Maximum length of a joined word in bytes.
const MAX_JOINED_BYTES: usize = 48;

/// Minimum length of joined digits: a date such as `2024-06`. Shorter ones are decimal numbers and times of day.
const MIN_JOINED_DIGITS: usize = 6;

/// Maximum length of the name of a series before a number (`BWV 578`), in letters.
const MAX_SERIES_LETTERS: usize = 6;

/// The same before a full stop, which ends a sentence after most longer words (`K. 622`).
const MAX_ABBREVIATION_LETTERS: usize = 4;

/// Maximum length of the number in a series, in bytes.
const MAX_NUMBER_BYTES: usize = 12;

/// Maximum length of a word that is split into its parts, in bytes. Longer ones are hashes.
const MAX_SPLIT_BYTES: usize = 32;

/// Minimum length of a part of a word: letters, and digits.
const MIN_PART_LETTERS: usize = 2;
const MIN_PART_DIGITS: usize = 3;

/// Minimum length of a code of letters and two digits whose ending is cut, without the ending (`IRFZ44` of `IRFZ44N`), in bytes.
const MIN_SHORT_CODE_BYTES: usize = 5;

/// Words before an apostrophe that are short forms of articles, pronouns and conjunctions in French and Italian.
const ELISIONS: [&str; 20] = [
    "l", "d", "j", "m", "n", "s", "t", "c", "qu", "jusqu", "lorsqu", "puisqu", "un", "all", "dall", "dell",
    "nell", "sull", "quell", "quest",
];

/// English words after an apostrophe that are endings or short forms of verbs.
const ENCLITICS: [&str; 7] = ["s", "t", "d", "m", "ll", "re", "ve"];

/// Returns whether two neighbouring words are parts of one code or name.
pub fn connects(left: &Token<'_>, right: &Token<'_>) -> bool {
    match right.separator {
        Separator::Connector => true,
        Separator::Apostrophe => !is_elision(left, right) && !is_one_of(&ENCLITICS, right.text),
        Separator::Space | Separator::StopAndSpace | Separator::Break => false,
    }
}

fn is_elision(left: &Token<'_>, right: &Token<'_>) -> bool {
    // A capital letter follows in names too, such as `L'Oréal`.
    right.text.starts_with(char::is_lowercase) && is_one_of(&ELISIONS, left.text)
}

fn is_one_of(words: &[&str], word: &str) -> bool {
    words.iter().any(|one| one.eq_ignore_ascii_case(word))
}

/// Returns neighbouring words as one; `None` for a single word, and for words that are not written as one.
pub fn join(words: &[Token<'_>]) -> Option<String> {
    let length: usize = words.iter().map(|word| word.text.len()).sum();
    if !(2..=MAX_JOINED_WORDS).contains(&words.len()) || length > MAX_JOINED_BYTES {
        return None;
    }
    if words.iter().any(|word| word.text.starts_with(is_ngram_letter)) {
        return None;
    }
    let is_number = words.iter().all(|word| word.text.bytes().all(|byte| byte.is_ascii_digit()));
    (!is_number || length >= MIN_JOINED_DIGITS).then(|| words.iter().map(|word| word.text).collect())
}

/// Returns whether connected words are one number in parts, such as the date `2024-06-06`. Two numbers of the same length are a range
/// (`1914-1918`), of which a text may have each by itself.
pub fn is_number_in_parts(words: &[Token<'_>]) -> bool {
    let is_range = || matches!(words, [from, to] if from.text.len() == to.text.len());
    words.iter().all(|word| word.text.bytes().all(|byte| byte.is_ascii_digit()))
        && join(words).is_some()
        && !is_range()
}

/// Returns the name of a series and a number after one space as one word (`BWV 578`, `Op. 27`); `None` for other words.
pub fn join_series(name: &Token<'_>, number: &Token<'_>) -> Option<String> {
    let max_letters = match number.separator {
        Separator::Space => MAX_SERIES_LETTERS,
        Separator::StopAndSpace => MAX_ABBREVIATION_LETTERS,
        Separator::Apostrophe | Separator::Connector | Separator::Break => return None,
    };
    let is_number =
        number.text.len() <= MAX_NUMBER_BYTES && number.text.starts_with(|c: char| c.is_ascii_digit());
    let is_name = || {
        name.text.chars().count() <= max_letters
            && name.text.chars().all(|letter| letter.is_alphabetic() && !is_ngram_letter(letter))
    };
    (is_number && is_name()).then(|| [name.text, number.text].concat())
}

/// Returns the parts of a word as it is written: its runs of letters and of digits, and the words that capital letters begin. None for
/// a word of one part.
pub fn parts(word: &str) -> Vec<&str> {
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    let has_inner_capital = word.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
    // Most words have neither, and then nothing is allocated.
    if word.len() > MAX_SPLIT_BYTES || !(has_digit || has_inner_capital) {
        return Vec::new();
    }
    let mut parts = Vec::new();
    let mut start = 0;
    let mut before: Option<char> = None;
    for (at, letter) in word.char_indices() {
        let rest = word.get(at..).unwrap_or_default();
        if before.is_some_and(|before| begins_part(before, rest)) {
            parts.extend(word.get(start..at));
            start = at;
        }
        before = Some(letter);
    }
    if start == 0 {
        return Vec::new();
    }
    parts.extend(word.get(start..));
    parts.retain(|part| is_searched_part(part));
    parts
}

/// Returns whether the rest of a word begins a new part after a letter or digit.
fn begins_part(before: char, rest: &str) -> bool {
    let mut letters = rest.chars();
    let Some(letter) = letters.next() else { return false };
    if before.is_numeric() || letter.is_numeric() {
        return before.is_numeric() != letter.is_numeric();
    }
    // In `HTTPServer` the last capital letter begins a word; `PDFs` is one.
    let is_word = letters.take(2).filter(|next| next.is_lowercase()).count() == 2;
    letter.is_uppercase() && (before.is_lowercase() || is_word)
}

fn is_searched_part(part: &str) -> bool {
    let is_number = part.starts_with(char::is_numeric);
    part.chars().count() >= if is_number { MIN_PART_DIGITS } else { MIN_PART_LETTERS }
}

/// Returns a code in lower case without what is mostly left out: the prefix and the type of a hexadecimal number, or one or two letters
/// after at least three digits, or after two digits that end a longer code. `None` if it has neither.
pub fn shortened(code: &str) -> Option<&str> {
    hexadecimal_digits(code).or_else(|| without_ending(code))
}

fn hexadecimal_digits(code: &str) -> Option<&str> {
    let digits = code.strip_prefix("0x")?.trim_end_matches(['u', 'l']);
    (digits.len() > 1 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(digits)
}

fn without_ending(code: &str) -> Option<&str> {
    let core = code.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let has_ending = matches!(code.len() - core.len(), 1 | 2);
    let digits = core.bytes().rev().take_while(u8::is_ascii_digit).count();
    let is_code = digits >= MIN_PART_DIGITS || (digits == 2 && core.len() >= MIN_SHORT_CODE_BYTES);
    (has_ending && is_code).then_some(core)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexical::words::split_tokens;

    fn joined(text: &str) -> Vec<String> {
        split_tokens(text).chunk_by(connects).filter_map(join).collect()
    }

    #[test]
    fn connected_words_are_joined() {
        for (text, expected) in [
            ("CVE-2021-44228", "CVE202144228"),
            ("2024-06-06", "20240606"),
            ("e-mail", "email"),
            ("O'Sullivan", "OSullivan"),
            ("O\u{2019}Sullivan", "OSullivan"),
            ("L'Oréal", "LOréal"),
            ("Node.js", "Nodejs"),
            ("v1.2.3", "v123"),
        ] {
            assert_eq!(joined(text), [expected], "{text}");
        }
    }

    #[test]
    fn words_that_are_not_one_code_stay_apart() {
        for text in [
            "Newton's",
            "don't",
            "we're",
            "l'homme",
            "all'opera",
            "3.14",
            "10:30",
            "a, b",
            "web site",
            "/a/b/c/d/e/f/g",
        ] {
            assert_eq!(joined(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn dates_are_numbers_in_parts_and_ranges_are_not() {
        for (text, expected) in [
            ("2024-06-06", true),
            ("2024-06", true),
            ("6.2.1412", true),
            ("1914-1918", false),
            ("3.14", false),
            ("2024", false),
            ("CVE-2021-44228", false),
            ("v2024-06-06", false),
        ] {
            assert_eq!(is_number_in_parts(&split_tokens(text)), expected, "{text}");
        }
    }

    #[test]
    fn number_is_joined_with_its_series() {
        for (text, expected) in [
            ("BWV 578", Some("BWV578")),
            ("LM 385P", Some("LM385P")),
            ("ГОСТ 12345", Some("ГОСТ12345")),
            ("Kepler stars", None),
            ("BWV, 578", None),
            ("K. 622", Some("K622")),
            ("Op. 27", Some("Op27")),
            ("years. 578", None),
            ("K.  622", None),
            ("catalogue 578", None),
            ("年 2024", None),
        ] {
            let tokens = split_tokens(text);
            assert_eq!(join_series(&tokens[0], &tokens[1]).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn codes_are_split_into_their_parts() {
        for (word, expected) in [
            ("LM385", vec!["LM", "385"]),
            ("TooManyRequests", vec!["Too", "Many", "Requests"]),
            ("HTTPServer", vec!["HTTP", "Server"]),
            ("OSullivan", vec!["Sullivan"]),
            ("9E3779B1", vec!["3779"]),
            ("PDFs", vec![]),
            ("NASA", vec![]),
            ("Heron", vec![]),
            ("2026", vec![]),
        ] {
            assert_eq!(parts(word), expected, "{word}");
        }
    }

    #[test]
    fn endings_of_codes_are_cut() {
        for (code, expected) in [
            ("0x9e3779b1ul", Some("9e3779b1")),
            ("9e3779b1ul", None),
            ("lm385p", Some("lm385")),
            ("1990s", Some("1990")),
            ("irfz44n", Some("irfz44")),
            ("ab12c", None),
            ("3d", None),
            ("lm385", None),
            ("385mhz", None),
            ("heron", None),
        ] {
            assert_eq!(shortened(code), expected, "{code}");
        }
    }
}
