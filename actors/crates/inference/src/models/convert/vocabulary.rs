//! The vocabulary of Whisper: a file with one token per line, in which bytes are encoded as printable characters (as in GPT-2).

use std::collections::HashMap;

use super::convert_error::ConvertError;

/// Number of tokens before the special tokens for languages, tasks and times, which whisper.cpp adds.
const TEXT_TOKENS: usize = 50_257;

/// Returns the bytes of each token, in order.
pub fn read_words(file: &str) -> Result<Vec<Vec<u8>>, ConvertError> {
    let bytes = byte_of_each_character();
    let word = |line: &str| {
        line.chars().map(|character| bytes.get(&character).copied()).collect::<Option<Vec<u8>>>()
    };
    let words: Option<Vec<_>> = file.split('\n').take(TEXT_TOKENS).map(word).collect();
    words.filter(|words| words.len() == TEXT_TOKENS).ok_or(ConvertError::Format("the vocabulary"))
}

/// Returns the byte of each character: printable characters of Latin-1 encode themselves, characters from U+0100 on the other bytes.
fn byte_of_each_character() -> HashMap<char, u8> {
    let is_printable = |byte: u8| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    let themselves = (0..=255).filter(|byte| is_printable(*byte)).map(|byte| (char::from(byte), byte));
    let others = (0..=255).filter(|byte| !is_printable(*byte)).zip(256..);
    let others = others.filter_map(|(byte, code)| Some((char::from_u32(code)?, byte)));
    themselves.chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_one_character() {
        let bytes = byte_of_each_character();

        assert_eq!(bytes.len(), 256);
        assert_eq!(
            (bytes.get(&'Ġ'), bytes.get(&'A'), bytes.get(&'Ċ')),
            (Some(&b' '), Some(&b'A'), Some(&b'\n'))
        );
    }

    #[test]
    fn truncated_vocabulary_is_an_error() {
        assert!(read_words("a\nb\n").is_err());
    }
}
