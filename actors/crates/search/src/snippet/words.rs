//! Splits a passage into its words. Most of a text is ASCII, which is split without the tables of Unicode.

use text::{char_count, word_bounds};

/// A word of the passage, or the text between two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<'a> {
    pub text: &'a str,
    /// Offset of its first byte in the passage.
    pub byte: usize,
    /// Its range in scalar values.
    pub from: usize,
    pub to: usize,
}

/// Replaces white space by single spaces, and removes control characters.
pub fn collapse_whitespace(passage: &str) -> String {
    let mut text = String::with_capacity(passage.len());
    for word in passage.split_whitespace() {
        let before = text.len();
        if word.bytes().all(|byte| byte.is_ascii_graphic()) {
            text.push_str(word);
        } else {
            text.extend(word.chars().filter(|c| !c.is_control()));
        }
        if text.len() > before {
            text.push(' ');
        }
    }
    text.truncate(text.trim_end_matches(' ').len());
    text
}

/// Splits the text into words and the text between them, at the boundaries of [`word_bounds`]. The text has no control characters and
/// no white space but single spaces ([`collapse_whitespace`]).
pub fn split_words(text: &str) -> Vec<Word<'_>> {
    let mut splitter = Splitter { text, words: Vec::with_capacity(text.len() / 3), byte: 0, from: 0 };
    let mut start = 0;
    while start < text.len() {
        let end = part_end(text.as_bytes(), start);
        splitter.push_part(start, end);
        start = end;
    }
    splitter.words
}

/// Returns the end of the part of the text that starts at an offset. Its words do not depend on the text around it.
fn part_end(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    // A mark after a space belongs to the space, and a sign may join the space after it. So a part begins with a space, and only with one
    // that follows a letter, digit or sign of ASCII.
    let is_bound = |pair: &[u8]| matches!(pair, [before, b' '] if before.is_ascii());
    rest.windows(2).position(is_bound).map_or(bytes.len(), |at| start + at + 1)
}

struct Splitter<'a> {
    text: &'a str,
    words: Vec<Word<'a>>,
    /// The end of the last word: in bytes, and in scalar values.
    byte: usize,
    from: usize,
}

impl Splitter<'_> {
    /// Adds the words of a part of the text.
    fn push_part(&mut self, start: usize, end: usize) {
        let Some(part) = self.text.get(start..end) else { return };
        if part.is_ascii() {
            while self.byte < end {
                let length = ascii_word_length(part.as_bytes().get(self.byte - start..).unwrap_or_default());
                self.push_word(self.byte + length.max(1), length.max(1));
            }
        } else {
            for bound in word_bounds(part) {
                let length = self.text.get(self.byte..start + bound).map_or(0, char_count);
                self.push_word(start + bound, length);
            }
        }
    }

    fn push_word(&mut self, end: usize, chars: usize) {
        let Some(text) = self.text.get(self.byte..end) else { return };
        let to = self.from + chars;
        self.words.push(Word { text, byte: self.byte, from: self.from, to });
        (self.byte, self.from) = (end, to);
    }
}

/// Returns the length of the first word of a text in ASCII, by the rules of UAX #29: letters, digits and `_` stay together, and with them a
/// sign between two letters or two digits.
fn ascii_word_length(text: &[u8]) -> usize {
    let mut length = text.iter().take_while(|byte| is_word_byte(**byte)).count();
    if length == 0 {
        // A space or a sign is a word by itself.
        return text.len().min(1);
    }
    while let Some([before, sign, after]) = text.get(length - 1..length + 2)
        && joins(*before, *sign, *after)
    {
        length += 1;
        length += text.iter().skip(length).take_while(|byte| is_word_byte(**byte)).count();
    }
    length
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn joins(before: u8, sign: u8, after: u8) -> bool {
    match sign {
        b'\'' | b'.' => {
            (before.is_ascii_alphabetic() && after.is_ascii_alphabetic())
                || (before.is_ascii_digit() && after.is_ascii_digit())
        }
        b':' => before.is_ascii_alphabetic() && after.is_ascii_alphabetic(),
        b',' | b';' => before.is_ascii_digit() && after.is_ascii_digit(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same by the general rule alone.
    fn split_by_tables(text: &str) -> Vec<Word<'_>> {
        let (mut byte, mut from) = (0, 0);
        let word = |end: usize| {
            let word = text.get(byte..end)?;
            let word = Word { text: word, byte, from, to: from + char_count(word) };
            (byte, from) = (end, word.to);
            Some(word)
        };
        word_bounds(text).filter_map(word).collect()
    }

    fn texts(text: &str) -> Vec<&str> {
        split_words(text).into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn signs_between_letters_or_digits_are_part_of_a_word() {
        assert_eq!(texts("can't 3.14,5 a.b: x_1"), ["can't", " ", "3.14,5", " ", "a.b", ":", " ", "x_1"]);
        assert_eq!(
            texts("a,b 1:2 a.1 \"q\""),
            ["a", ",", "b", " ", "1", ":", "2", " ", "a", ".", "1", " ", "\"", "q", "\""]
        );
    }

    #[test]
    fn text_without_words_has_none() {
        assert!(split_words("").is_empty());
        assert_eq!(collapse_whitespace(" \u{0} \n"), "");
    }

    proptest! {
        #[test]
        fn ascii_is_split_by_the_general_rule(text in "[ -~]{0,80}") {
            let text = collapse_whitespace(&text);
            prop_assert_eq!(split_words(&text), split_by_tables(&text));
        }

        #[test]
        fn mixed_text_is_split_by_the_general_rule(
            text in "([a-z]{1,3}|[0-9]|[_.,;:'\"-]| | |é|e\u{301}|“|”|’|\u{301}|\u{200d}|\u{600}|👩|🇳🇱|ж|א|\u{5f4}|自|カ|น้ำ|\u{2003}|\u{ad}){0,60}",
        ) {
            let text = collapse_whitespace(&text);
            prop_assert_eq!(split_words(&text), split_by_tables(&text));
        }

        #[test]
        fn any_text_is_split_by_the_general_rule(text in any::<String>(), other in any::<String>()) {
            let text = collapse_whitespace(&format!("{text} a {other}, b"));
            prop_assert_eq!(split_words(&text), split_by_tables(&text));
        }
    }
}
