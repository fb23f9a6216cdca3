//! A text as the sequence of its words, without what people write in different ways: case, accents, punctuation and spaces.

use super::fold::fold_word;
use super::normalize::{is_ngram_letter, unify};
use super::words::sign_after;

/// The words of a text in their order, each in lower case and without accents, but as it is written otherwise: it is not reduced to its
/// stem. The sign of a name of one letter is part of it (`C++`, `C#`). Each letter of a script without spaces, and of Korean, is a word of
/// its own, so that a part of a sentence is a sequence of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WordSequence {
    /// The words, a space before each and after the last one.
    words: String,
}

impl WordSequence {
    /// Folds a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut words = String::with_capacity(text.len() + 2);
        if text.is_ascii() {
            push_words(text, &mut words);
        } else {
            push_words(&unify(text), &mut words);
        }
        if !words.is_empty() {
            words.push(' ');
        }
        Self { words }
    }

    /// Returns whether the words of a phrase follow each other in this text. No text contains a phrase without words.
    #[must_use]
    pub fn contains(&self, phrase: &Self) -> bool {
        !phrase.is_empty() && self.words.contains(&phrase.words)
    }

    /// Returns whether the text has no words.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the words in their order.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.words.split(' ').filter(|word| !word.is_empty())
    }
}

/// Adds the words of a normalized text.
fn push_words(text: &str, words: &mut String) {
    let mut rest = text;
    while let Some(start) = rest.find(char::is_alphanumeric) {
        let from = rest.get(start..).unwrap_or_default();
        let end = word_end(from);
        let (word, after) = from.split_at(end);
        push_word(word, words);
        words.push_str(sign_after(word, after).unwrap_or_default());
        rest = after;
    }
}

/// Returns where the word ends with which a text begins, in bytes.
fn word_end(text: &str) -> usize {
    match text.chars().next() {
        Some(first) if is_ngram_letter(first) => first.len_utf8(),
        Some(_) | None => {
            text.find(|c: char| !c.is_alphanumeric() || is_ngram_letter(c)).unwrap_or(text.len())
        }
    }
}

fn push_word(word: &str, words: &mut String) {
    words.push(' ');
    if word.is_ascii() {
        words.extend(word.chars().map(|letter| letter.to_ascii_lowercase()));
    } else {
        words.push_str(&fold_word(word));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn contains(text: &str, phrase: &str) -> bool {
        WordSequence::of(text).contains(&WordSequence::of(phrase))
    }

    #[test]
    fn phrase_is_found_however_it_is_written() {
        for (text, phrase) in [
            ("A grey heron stands.", "grey heron"),
            ("The Grey, Heron!", "grey heron"),
            ("grey\n  heron", "GREY HERON"),
            ("grey-heron", "grey heron"),
            ("Crème brûlée", "creme brulee"),
            ("creme bru\u{301}lee", "crème brûlée"),
            ("Große Straße", "grosse strasse"),
            ("ΟΔΥΣΣΕΥΣ", "οδυσσεύς"),
            ("İstanbul'da", "istanbul"),
            ("ёлка", "елка"),
            ("don\u{2019}t panic", "don't panic"),
            ("我们昨天去了东京塔参观。", "东京塔"),
            ("서울에서", "서울"),
            ("ไปทะเลกัน", "ทะเล"),
            ("用Rust写", "rust"),
            ("ﬁnance Ｒust", "finance rust"),
            ("Modern C++17 code", "c++"),
            ("in (C#), mostly", "C#"),
            ("用C++写", "c++"),
            ("page.html#c#part", "c part"),
        ] {
            assert!(contains(text, phrase), "{phrase} in {text}");
        }
    }

    #[test]
    fn other_words_are_no_phrase() {
        for (text, phrase) in [
            ("grey herons", "grey heron"),
            ("heron grey", "grey heron"),
            ("grey night heron", "grey heron"),
            ("greyheron", "grey heron"),
            ("我们去了东方京塔", "东京塔"),
            ("vitamin C is", "C++"),
            ("C++ and C", "C#"),
            ("C++ today", "C today"),
            ("heron", ""),
            ("", "heron"),
            ("...", "?"),
        ] {
            assert!(!contains(text, phrase), "{phrase} in {text}");
        }
    }

    proptest! {
        #[test]
        fn text_contains_each_sequence_of_its_words(
            words in prop::collection::vec("[a-zA-Zéß東京и0-9]{1,5}|C\\+\\+|f#", 1..6),
            from in 0_usize..6,
            count in 1_usize..4,
        ) {
            let part: Vec<String> = words.iter().skip(from).take(count).cloned().collect();
            let has_words = !part.is_empty();
            prop_assert_eq!(contains(&words.join(" - "), &part.join(" ")), has_words);
        }

        #[test]
        fn folded_text_is_folded_no_further(text in any::<String>()) {
            let folded = WordSequence::of(&text);
            let words: Vec<&str> = folded.words().collect();
            prop_assert_eq!(&WordSequence::of(&words.join(" ")), &folded);
        }
    }
}
