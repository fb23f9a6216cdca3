//! The words of a query as a text may contain them.

use unicode_segmentation::UnicodeSegmentation;

use crate::index::Language;
use crate::lexical::{QueryTerm, fold_word, is_ngram_letter, unify};

/// Minimum length of the common beginning of two forms of a word.
const MIN_STEM_CHARS: usize = 3;
/// Maximum length of the endings in which two forms of a word differ.
const MAX_ENDING_CHARS: usize = 4;
/// Minimum length of a part of a compound, and of a code that is found across the borders of words.
const MIN_PART_CHARS: usize = 4;

/// The distinct words of a query, with their weights and with the ids by which the index knows them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SnippetTerms {
    pub(super) terms: Vec<SnippetTerm>,
    /// The languages in which the query was analysed.
    pub(super) languages: Vec<Language>,
}

/// A word of a query.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SnippetTerm {
    /// Its folded letters, as [`fold`] returns them.
    pub(super) letters: Vec<char>,
    /// Its ids in the index; none for a stop word.
    ids: Vec<u32>,
    /// Its weight in the coverage of a text; 0 for a stop word.
    pub(super) weight: f32,
    /// Whether it is a whole word of the query, and not a part of one, such as `44228` or `sullivan`.
    is_whole_word: bool,
    /// Whether it is a number in parts, such as a date.
    is_number_in_parts: bool,
}

/// How a word of a text compares with one of the query by their letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordSimilarity {
    /// They are the same.
    Same,
    /// One may be another form of the other, or a compound of it.
    Similar,
    /// They are different words.
    Different,
}

impl SnippetTerms {
    /// Returns the words of a query, of which these are the terms that the index was asked for, each with its weight. They were analysed
    /// in these languages.
    #[must_use]
    pub fn of(query: &str, terms: &[QueryTerm], weights: &[f32], languages: &[Language]) -> Self {
        let mut found: Vec<SnippetTerm> = query.unicode_words().map(SnippetTerm::stop_word).collect();
        found.sort_unstable_by(|a, b| a.letters.cmp(&b.letters));
        found.dedup_by(|a, b| a.letters == b.letters);
        for (term, weight) in terms.iter().zip(weights) {
            let letters = fold(&term.text);
            match found.iter_mut().find(|known| known.letters == letters) {
                Some(known) => {
                    known.ids.extend(&term.sparse.indices);
                    known.weight += weight;
                    known.is_number_in_parts |= term.is_number_in_parts();
                }
                None => found.push(SnippetTerm {
                    letters,
                    ids: term.sparse.indices.clone(),
                    weight: *weight,
                    is_whole_word: false,
                    is_number_in_parts: term.is_number_in_parts(),
                }),
            }
        }
        Self { terms: found, languages: languages.to_vec() }
    }

    /// Returns whether the query has a number in parts, such as the date `2024-06-06`, whose parts follow each other in none of these
    /// texts, whatever signs stand between them.
    #[must_use]
    pub fn has_number_missing_from(&self, texts: &[&str]) -> bool {
        let numbers = self.terms.iter().filter(|term| term.is_number_in_parts);
        let numbers: Vec<String> = numbers.filter_map(SnippetTerm::joined).collect();
        // Most queries have none, and then no text is read.
        if numbers.is_empty() {
            return false;
        }
        let texts: Vec<String> = texts.iter().map(|text| joined_letters(text)).collect();
        numbers.iter().any(|number| !texts.iter().any(|text| text.contains(number.as_str())))
    }
}

/// Returns the folded letters and digits of a text, without what stands between them.
pub(super) fn joined_letters(text: &str) -> String {
    fold(text).into_iter().filter(|c| c.is_alphanumeric()).collect()
}

impl SnippetTerm {
    fn stop_word(word: &str) -> Self {
        Self {
            letters: fold(word),
            ids: Vec::new(),
            weight: 0.0,
            is_whole_word: true,
            is_number_in_parts: false,
        }
    }

    /// Compares it with the folded letters of a word.
    pub(super) fn compare(&self, word: &[char]) -> WordSimilarity {
        let common = self.letters.iter().zip(word).take_while(|(a, b)| a == b).count();
        if common == self.letters.len() && common == word.len() {
            return WordSimilarity::Same;
        }
        let ending = self.letters.len().max(word.len()) - common;
        let is_same_stem = common >= MIN_STEM_CHARS && ending <= MAX_ENDING_CHARS;
        if is_same_stem || self.is_part_of(word) {
            WordSimilarity::Similar
        } else {
            WordSimilarity::Different
        }
    }

    /// Returns whether a word contains it but for its ending, as compounds do.
    fn is_part_of(&self, word: &[char]) -> bool {
        let length = self.letters.len().saturating_sub(2).max(MIN_PART_CHARS);
        let part = self.letters.get(..length);
        part.is_some_and(|part| word.windows(length).skip(1).any(|letters| letters == part))
    }

    /// Returns whether the index knows it: not as a stop word.
    pub(super) fn has_ids(&self) -> bool {
        !self.ids.is_empty()
    }

    /// Returns whether it has one of these ids, which are in ascending order.
    pub(super) fn has_any_id(&self, ids: &[u32]) -> bool {
        self.ids.iter().any(|id| ids.binary_search(id).is_ok())
    }

    /// Returns its letters and digits if a text contains it when they follow each other there, whatever stands between: codes are written
    /// with and without spaces and signs, and some scripts have no spaces.
    pub(super) fn joined(&self) -> Option<String> {
        let joined: String = self.letters.iter().filter(|c| c.is_alphanumeric()).collect();
        let is_code = joined.contains(char::is_numeric) && joined.chars().count() >= MIN_PART_CHARS;
        let is_part = !self.is_whole_word && !joined.is_empty();
        (is_code || is_part || joined.contains(is_ngram_letter)).then_some(joined)
    }
}

/// Folds a word as the index does, and removes its apostrophes: `OSullivan` is `O'Sullivan`.
pub(super) fn fold(word: &str) -> Vec<char> {
    if word.is_ascii() {
        // ASCII has no accents and no compatibility forms.
        let letters = word.bytes().filter(|byte| *byte != b'\'');
        return letters.map(|byte| char::from(byte.to_ascii_lowercase())).collect();
    }
    fold_word(&unify(word)).chars().filter(|c| !matches!(*c, '\'' | '\u{2019}')).collect()
}
