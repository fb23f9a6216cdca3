//! The words of Whisper: a file of one a line, in which bytes stand as printable characters (the way of GPT-2).

use std::collections::HashMap;

use super::ConvertError;

/// Words before the marks for languages, tasks and times, which whisper.cpp knows by itself.
const WORDS: usize = 50_257;

/// The bytes of each word, in order.
pub fn read(file: &str) -> Result<Vec<Vec<u8>>, ConvertError> {
    let bytes = bytes_of_characters();
    let word = |line: &str| line.chars().map(|shown| bytes.get(&shown).copied()).collect::<Option<Vec<u8>>>();
    let words: Option<Vec<_>> = file.split('\n').take(WORDS).map(word).collect();
    words.filter(|words| words.len() == WORDS).ok_or(ConvertError::Format("the vocabulary"))
}

/// Printable bytes of Latin-1 stand for themselves, the others for the characters from U+0100 on.
fn bytes_of_characters() -> HashMap<char, u8> {
    let shown = |byte: u8| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    let themselves = (0..=255).filter(|byte| shown(*byte)).map(|byte| (char::from(byte), byte));
    let others = (0..=255).filter(|byte| !shown(*byte)).zip(256..);
    let others = others.filter_map(|(byte, code)| Some((char::from_u32(code)?, byte)));
    themselves.chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_one_character() {
        let bytes = bytes_of_characters();

        assert_eq!(bytes.len(), 256);
        assert_eq!(
            (bytes.get(&'Ġ'), bytes.get(&'A'), bytes.get(&'Ċ')),
            (Some(&b' '), Some(&b'A'), Some(&b'\n'))
        );
    }

    #[test]
    fn a_short_vocabulary_is_refused() {
        assert!(read("a\nb\n").is_err());
    }
}
