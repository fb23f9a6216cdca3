//! Finds the words of a query in texts.

use std::collections::HashMap;

use super::terms::{SnippetTerm, SnippetTerms, WordSimilarity, fold, joined_letters};
use crate::index::Language;
use crate::lexical::{has_one_id, word_ids};

/// Maximum weight of a term by its length: long words say more.
const MAX_LENGTH_WEIGHT: usize = 10;

/// Compares words of texts with those of one query.
pub(super) struct WordMatcher<'a> {
    terms: &'a SnippetTerms,
    initials: Option<Initials<'a>>,
    /// What words match that were compared with the terms: texts repeat their words.
    matches: HashMap<String, WordMatch>,
}

/// The term that a word matches best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BestTerm {
    /// Higher for long words and for exact matches.
    pub(super) score: usize,
    /// Twice the number of the term, and one more for an exact match.
    pub(super) key: usize,
}

/// What a word matches.
#[derive(Default)]
struct WordMatch {
    best: Option<BestTerm>,
    /// The numbers of all terms that it matches.
    terms: Vec<usize>,
}

impl WordMatch {
    /// Marks the terms in `found`, and returns the best of them.
    fn mark(&self, found: &mut [bool]) -> Option<BestTerm> {
        for number in &self.terms {
            if let Some(is_found) = found.get_mut(*number) {
                *is_found = true;
            }
        }
        self.best
    }
}

impl<'a> WordMatcher<'a> {
    pub(super) fn new(terms: &'a SnippetTerms) -> Self {
        Self { terms, initials: Initials::of(terms), matches: HashMap::new() }
    }

    /// Returns the number of terms of the query.
    pub(super) fn term_count(&self) -> usize {
        self.terms.terms.len()
    }

    /// Returns whether the best term of a word, by its key, is a stop word of the query.
    pub(super) fn is_stop_word(&self, key: usize) -> bool {
        self.terms.terms.get(key / 2).is_some_and(|term| term.weight <= 0.0)
    }

    /// Returns the term that a word matches best, and marks all that it matches in `found`, which has a place for each.
    pub(super) fn match_word(&mut self, word: &str, found: &mut [bool]) -> Option<BestTerm> {
        // Spaces and signs first: half of what a text is split into.
        let is_excluded = || self.initials.as_ref().is_some_and(|initials| initials.excludes(word));
        if !word.contains(char::is_alphanumeric) || is_excluded() {
            return None;
        }
        if let Some(known) = self.matches.get(word) {
            return known.mark(found);
        }
        let compared = self.compare(word);
        let best = compared.mark(found);
        self.matches.insert(word.to_owned(), compared);
        best
    }

    /// Compares a word with each term.
    fn compare(&self, word: &str) -> WordMatch {
        let mut matched = WordMatch::default();
        let letters = fold(word);
        let mut word = AnalyzedWord { text: word, languages: &self.terms.languages, ids: None };
        for (number, term) in self.terms.terms.iter().enumerate() {
            let length = term.letters.len().min(MAX_LENGTH_WEIGHT);
            let similarity = term.compare(&letters);
            let is_match = match similarity {
                WordSimilarity::Same => true,
                // Not all stems of other scripts are known.
                WordSimilarity::Similar if !word.text.chars().all(is_latin_or_no_letter) => true,
                WordSimilarity::Similar | WordSimilarity::Different => word.has_id_of(term),
            };
            if !is_match {
                continue;
            }
            let is_exact = similarity == WordSimilarity::Same;
            let (score, key) = if is_exact { (3 * length, 2 * number + 1) } else { (length, 2 * number) };
            matched.best = matched.best.max(Some(BestTerm { score, key }));
            matched.terms.push(number);
        }
        matched
    }

    /// Returns the weighted share of the terms of the query that texts contain, from 0 to 1, after their words were matched. 1 for a query
    /// without terms.
    pub(super) fn coverage(&self, found: &[bool], texts: &[&str]) -> f32 {
        let terms = &self.terms.terms;
        let all: f32 = terms.iter().map(|term| term.weight).sum();
        if all <= 0.0 {
            return 1.0;
        }
        let missing = terms.iter().zip(found).filter(|(term, is_found)| term.weight > 0.0 && !**is_found);
        let missing: Vec<(f32, Option<String>)> =
            missing.map(|(term, _)| (term.weight, term.joined())).collect();
        // The texts are read once more only for a query with codes, or in a script without spaces.
        let has_joined = missing.iter().any(|(_, joined)| joined.is_some());
        let texts: Vec<String> =
            texts.iter().filter(|_| has_joined).map(|text| joined_letters(text)).collect();
        let is_absent = |joined: &Option<String>| {
            joined.as_ref().is_none_or(|joined| !texts.iter().any(|text| text.contains(joined.as_str())))
        };
        let absent = missing.iter().filter(|(_, joined)| is_absent(joined)).map(|(weight, _)| weight);
        (1.0 - absent.sum::<f32>() / all).clamp(0.0, 1.0)
    }
}

/// A word of a text, with the ids by which the index knows it once they are asked for.
struct AnalyzedWord<'a> {
    text: &'a str,
    languages: &'a [Language],
    /// In ascending order.
    ids: Option<Vec<u32>>,
}

impl AnalyzedWord<'_> {
    /// Returns whether the index takes the word for a form or another spelling of a term: `running` of `runs`, `Müller` of `mueller`, but
    /// not `Numb` of `number`.
    fn has_id_of(&mut self, term: &SnippetTerm) -> bool {
        if !term.has_ids() {
            return false;
        }
        let ids = self.ids.get_or_insert_with(|| {
            let languages = self.languages.iter();
            let mut ids: Vec<u32> = languages.flat_map(|language| word_ids(self.text, *language)).collect();
            ids.sort_unstable();
            ids
        });
        term.has_any_id(ids)
    }
}

/// The first letters of the terms of a query. Most words of a text begin with another letter, so they need not be analysed: stemming and
/// other spellings keep the first letter of a word.
struct Initials<'a> {
    /// Whether a term begins with each letter, from `a` to `z`.
    used_letters: [bool; 26],
    languages: &'a [Language],
}

impl<'a> Initials<'a> {
    /// Returns `None` if any word may match a term: one that begins as a hexadecimal number, or with another character than an ASCII letter
    /// or digit.
    fn of(terms: &'a SnippetTerms) -> Option<Self> {
        let mut used_letters = [false; 26];
        for term in &terms.terms {
            // The index has a number without its prefix `0x` too.
            let first =
                term.letters.first().filter(|letter| letter.is_ascii_alphanumeric() && **letter != '0')?;
            if let Some(is_used) =
                u8::try_from(*first).ok().and_then(|first| used_letters.get_mut(alphabet_index(first)?))
            {
                *is_used = true;
            }
        }
        Some(Self { used_letters, languages: &terms.languages })
    }

    /// Returns whether a word matches no term. That is only known of words with one id.
    fn excludes(&self, word: &str) -> bool {
        let first = word.bytes().next().and_then(|first| alphabet_index(first.to_ascii_lowercase()));
        let is_used = first.and_then(|index| self.used_letters.get(index));
        is_used == Some(&false) && self.languages.iter().all(|language| has_one_id(word, *language))
    }
}

/// Returns the position of a lower-case ASCII letter in the alphabet, from 0.
fn alphabet_index(letter: u8) -> Option<usize> {
    letter.is_ascii_lowercase().then(|| usize::from(letter - b'a'))
}

fn is_latin_or_no_letter(c: char) -> bool {
    c.is_ascii() || matches!(c, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}') || !c.is_alphabetic()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lexical::query_terms;

    fn terms(query: &str, languages: &[Language]) -> SnippetTerms {
        let terms = query_terms(query, languages);
        SnippetTerms::of(query, &terms, &vec![1.0; terms.len()], languages)
    }

    /// What a word matches, and what it would match if no word were excluded by its first letter.
    fn matched(word: &str, query: &str, languages: &[Language]) -> [(Option<BestTerm>, Vec<bool>); 2] {
        let terms = terms(query, languages);
        let find = |initials: Option<Initials<'_>>| {
            let mut matcher = WordMatcher { initials, ..WordMatcher::new(&terms) };
            let mut found = vec![false; matcher.term_count()];
            let first = matcher.match_word(word, &mut found);
            // From what is known of the word.
            assert_eq!(matcher.match_word(word, &mut found), first);
            (first, found)
        };
        [find(Initials::of(&terms)), find(None)]
    }

    #[test]
    fn words_that_are_analysed_in_parts_are_not_excluded() {
        for (word, query, language) in [
            ("QdrantEdge", "edge", Language::English),
            ("O'Sullivan", "sullivan", Language::English),
            ("deadbeef", "0xdeadbeef", Language::Other),
            ("Olivenbaum", "Baum", Language::German),
            ("Datenschutzgrundverordnung", "Datenschutz", Language::German),
            ("LM385", "lm3", Language::English),
            ("Øresund", "oresund", Language::English),
            ("running", "runs", Language::English),
        ] {
            let [found, expected] = matched(word, query, &[language]);
            assert!(found.0.is_some(), "{word}");
            assert_eq!(found, expected, "{word}");
        }
    }

    proptest! {
        #[test]
        fn excluded_words_match_nothing(
            word in "[a-zA-Z]{1,3}[a-zé0-9']{0,9}",
            before in "(|0x|0|b|[a-z]{1,4}[ .-])",
            after in "([a-z0-9'é]{0,3})( [a-z]{0,5})?",
            language in prop::sample::select(Language::ALL.to_vec()),
        ) {
            let query = format!("{before}{}{after}", word.to_lowercase());
            let [found, expected] = matched(&word, &query, &[language]);
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn words_that_differ_in_their_first_letter_share_no_id(
            // Of longer words of some languages the index knows the ends.
            rest in "[a-z]{1,8}",
            first in "[a-z]",
            other in "[a-z]",
            language in prop::sample::select(Language::ALL.to_vec()),
        ) {
            prop_assume!(first != other);
            let [found, expected] = matched(&format!("{first}{rest}"), &format!("{other}{rest}"), &[language]);
            prop_assert_eq!(&found, &expected);
            prop_assert!(found.0.is_none());
        }
    }
}
