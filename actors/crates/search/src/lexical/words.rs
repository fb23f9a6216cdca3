//! Splits a normalized text into words, and notes what stands between two of them: parts of a code or of a name are joined by a sign.

use super::normalize::is_ngram_letter;

/// A word of a text: a run of letters and digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// The word as it is written.
    pub text: &'a str,
    /// Where the word begins in the text, in bytes.
    pub start: usize,
    /// What stands between the word before and this one.
    pub separator: Separator,
    /// The word with the signs that are part of its name, such as `C++`, `C#` and `.NET`.
    pub signed: Option<&'a str>,
}

/// What stands between two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separator {
    /// One space.
    Space,
    /// A full stop and one space: the end of an abbreviation or of a sentence.
    StopAndSpace,
    /// One apostrophe.
    Apostrophe,
    /// One of the signs that join the parts of a code, such as a hyphen.
    Connector,
    /// Anything else, or the start of the text.
    Break,
}

/// Splits a text at every character that is neither a letter nor a digit.
pub fn split_tokens(text: &str) -> Vec<Token<'_>> {
    // Seldom exceeded: words of six bytes with what follows them.
    let mut tokens = Vec::with_capacity(text.len() / 6 + 1);
    let mut at = 0;
    while let Some(offset) = text.get(at..).and_then(|rest| rest.find(char::is_alphanumeric)) {
        let start = at + offset;
        let rest = text.get(start..).unwrap_or_default();
        let end = start + rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let separator = match text.get(at..start) {
            Some(between) if !tokens.is_empty() => separator_of(between),
            Some(_) | None => Separator::Break,
        };
        tokens.push(Token {
            text: text.get(start..end).unwrap_or_default(),
            start,
            separator,
            signed: signed(text, start, end),
        });
        at = end;
    }
    tokens
}

fn separator_of(between: &str) -> Separator {
    let mut signs = between.chars();
    match (signs.next(), signs.next()) {
        _ if between == ". " => Separator::StopAndSpace,
        (Some(' '), None) => Separator::Space,
        (Some('\'' | '\u{2019}'), None) => Separator::Apostrophe,
        // The last two are the hyphen and the dash of Unicode.
        (Some('-' | '_' | '.' | '/' | ':' | '+' | '\u{2010}' | '\u{2013}'), None) => Separator::Connector,
        (Some(_) | None, _) => Separator::Break,
    }
}

/// Returns a word with the signs of its name: one letter before `++` or `#`, or `net` after a dot that ends no other word.
fn signed(text: &str, start: usize, end: usize) -> Option<&str> {
    let word = text.get(start..end)?;
    if word.len() == 1 {
        let sign = sign_after(word, text.get(end..)?)?;
        return text.get(start..end + sign.len());
    }
    if word.len() == 3 && word.eq_ignore_ascii_case("net") {
        let before = text.get(..start)?.strip_suffix('.')?;
        return if before.ends_with(char::is_alphanumeric) { None } else { text.get(before.len()..end) };
    }
    None
}

/// Returns the sign that is part of the name of a language of one letter, which begins the text after the letter.
pub fn sign_after(word: &str, after: &str) -> Option<&'static str> {
    let is_letter = word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let sign = ["++", "#"].into_iter().find(|sign| after.starts_with(sign))?;
    // `c#part` is the address of a part of a page.
    let is_end = !after.strip_prefix(sign)?.starts_with(|c: char| c.is_alphabetic() && !is_ngram_letter(c));
    (is_letter && is_end).then_some(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_of_words_are_told_apart() {
        let found: Vec<(&str, Separator)> = split_tokens("  LM-385 O'Sullivan, a/b  c. d")
            .into_iter()
            .map(|token| (token.text, token.separator))
            .collect();
        assert_eq!(
            found,
            [
                ("LM", Separator::Break),
                ("385", Separator::Connector),
                ("O", Separator::Space),
                ("Sullivan", Separator::Apostrophe),
                ("a", Separator::Break),
                ("b", Separator::Connector),
                ("c", Separator::Break),
                ("d", Separator::StopAndSpace),
            ]
        );
    }

    #[test]
    fn signs_belong_to_names_of_languages_only() {
        for (text, expected) in [
            ("C++", Some("C++")),
            ("in C++17", Some("C++")),
            ("C#.", Some("C#")),
            (".NET", Some(".NET")),
            ("用 C++写", Some("C++")),
            ("on .net today", Some(".net")),
            ("page/c#part", None),
            ("example.net", None),
            ("4++", None),
            ("net", None),
        ] {
            let found = split_tokens(text).into_iter().find_map(|token| token.signed);
            assert_eq!(found, expected, "{text}");
        }
    }
}
