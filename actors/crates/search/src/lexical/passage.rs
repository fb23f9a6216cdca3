//! The words of a passage, with the ids of all spellings that a query may have of them.

use super::code_prefixes::{is_named_in_capitals, prefixes};
use super::codes;
use super::compounds::{COMPOUND_PART_OCCURRENCES, each_part, may_be_compound};
use super::fold::lowercase;
use super::normalize::{TextRole, normalize};
use super::spellings::SpellingIds;
use super::stem::{plain_id, prefix_id};
use super::stop_words::is_stop_word;
use super::weights::WordCounts;
use super::words::{Token, split_tokens};
use crate::index::{Language, SparseVector};

/// How often the words of a title count. Measured (nDCG@10, SciFact and Cranfield): twice gains 0.8 and 0.5 points over once; no title at
/// all loses 1.3 and 5.4.
const TITLE_TIMES: f32 = 2.0;

/// How many occurrences a part of a code counts as (`LM` and `385` of `LM385`).
const PART_OCCURRENCES: f32 = 0.5;

/// How many occurrences the beginning of a code counts as (`LM3` of `LM385`). The weight is then about 0.4 of that of a word.
const PREFIX_OCCURRENCES: f32 = 0.27;

/// Analyses a passage. The words of its title count twice.
#[must_use]
pub fn analyze_passage(title: &str, text: &str, language: Language) -> SparseVector {
    let mut counts = WordCounts::default();
    count_words(title, TITLE_TIMES, language, &mut counts);
    count_words(text, 1.0, language, &mut counts);
    counts.into_weights(language)
}

/// Returns whether it is certain that a word of a text has one id in the index, and neither parts nor other spellings: it consists of
/// ASCII letters, in lower case except for the first one, and is no compound.
#[must_use]
pub fn has_one_id(word: &str, language: Language) -> bool {
    let [first, rest @ ..] = word.as_bytes() else { return false };
    first.is_ascii_alphabetic() && rest.iter().all(u8::is_ascii_lowercase) && !may_be_compound(language, word)
}

/// Returns the ids of a word of a text in ascending order: those that a passage of this word alone has.
#[must_use]
pub fn word_ids(word: &str, language: Language) -> Vec<u32> {
    if has_one_id(word, language) {
        return SpellingIds::of(language, &lowercase(word)).as_slice().to_vec();
    }
    analyze_passage("", word, language).indices
}

/// Adds the words of a text in a language, each this many times.
pub(super) fn count_words(text: &str, times: f32, language: Language, counts: &mut WordCounts) {
    let text = normalize(text, TextRole::Passage);
    let tokens = split_tokens(&text);
    let mut counter = WordCounter { language, times, counts };
    for token in &tokens {
        counter.add_token(token);
    }
    for chain in tokens.chunk_by(codes::connects) {
        if let Some(joined) = codes::join(chain) {
            counter.add_joined(&joined, chain);
        }
    }
    for pair in tokens.windows(2) {
        if let [name, number] = pair
            && let Some(joined) = codes::join_series(name, number)
            && !is_stop_word(language, name.text)
        {
            counter.add_joined(&joined, pair);
        }
    }
}

/// Counts the words of a text.
struct WordCounter<'a> {
    language: Language,
    times: f32,
    counts: &'a mut WordCounts,
}

impl WordCounter<'_> {
    /// Adds a word of the text, with its parts. Only the word itself adds to the length.
    fn add_token(&mut self, token: &Token<'_>) {
        let times = self.times;
        self.counts.lengthen(times);
        let word = lowercase(token.text);
        self.add_word(&word, times);
        self.add_prefixes(&word);
        let part_times = times * COMPOUND_PART_OCCURRENCES;
        each_part(self.language, &word, |id| self.counts.add(id, part_times));
        for part in codes::parts(token.text) {
            self.add_word(&lowercase(part), times * PART_OCCURRENCES);
        }
        if let Some(signed) = token.signed {
            self.counts.add(plain_id(&signed.to_ascii_lowercase()), times);
        }
    }

    /// Adds several words as one.
    fn add_joined(&mut self, joined: &str, words: &[Token<'_>]) {
        let joined = lowercase(joined);
        self.add_word(&joined, self.times);
        if is_named_in_capitals(words) {
            self.add_prefixes(&joined);
        }
    }

    /// Adds the beginnings of a word in lower case if it is a code, and those of a hexadecimal number without its prefix `0x`.
    fn add_prefixes(&mut self, word: &str) {
        let digits = codes::shortened(word).filter(|code| !word.starts_with(*code));
        for code in [Some(word), digits].into_iter().flatten() {
            for prefix in prefixes(code) {
                self.counts.add(prefix_id(prefix), self.times * PREFIX_OCCURRENCES);
            }
        }
    }

    /// Adds all spellings of a word in lower case.
    fn add_word(&mut self, word: &str, times: f32) {
        for id in SpellingIds::of(self.language, word).as_slice() {
            self.counts.add(*id, times);
        }
        if let Some(shortened) = codes::shortened(word) {
            self.counts.add(plain_id(shortened), times);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ids_of_a_word_are_those_of_its_passage(
            word in "[a-zA-Z]{1,2}[a-z]{0,14}|[a-zA-Zé0-9']{0,12}",
            language in prop::sample::select(Language::ALL.to_vec()),
        ) {
            let passage = analyze_passage("", &word, language).indices;
            prop_assert!(!has_one_id(&word, language) || passage.len() == 1);
            prop_assert_eq!(word_ids(&word, language), passage);
        }
    }
}
