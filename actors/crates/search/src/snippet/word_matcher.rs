//! Finds the words of a query in texts.

use std::collections::HashMap;

use super::terms::{Likeness, SnippetTerm, SnippetTerms, fold};
use crate::lexical::analyze_passage;

/// Maximum weight of a term by its length: long words say more.
const MAX_LENGTH_WEIGHT: usize = 10;

/// Compares words of texts with those of one query.
pub(super) struct WordMatcher<'a> {
    terms: &'a SnippetTerms,
    /// The ids, in ascending order, of the words that were compared by their ids: texts repeat their words.
    ids: HashMap<String, Vec<u32>>,
}

/// The term that a word matches best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BestTerm {
    /// Higher for long words and for exact matches.
    pub(super) score: usize,
    /// Twice the number of the term, and one more for an exact match.
    pub(super) key: usize,
}

impl<'a> WordMatcher<'a> {
    pub(super) fn new(terms: &'a SnippetTerms) -> Self {
        Self { terms, ids: HashMap::new() }
    }

    /// Returns the number of terms of the query.
    pub(super) fn term_count(&self) -> usize {
        self.terms.terms.len()
    }

    /// Returns the term that a word matches best, and notes all that it matches in `found`, which has a place for each.
    pub(super) fn match_word(&mut self, word: &str, found: &mut [bool]) -> Option<BestTerm> {
        if !word.contains(char::is_alphanumeric) {
            return None;
        }
        let letters = fold(word);
        let SnippetTerms { terms, .. } = self.terms;
        let mut best: Option<BestTerm> = None;
        for ((number, term), is_found) in terms.iter().enumerate().zip(found) {
            let length = term.letters.len().min(MAX_LENGTH_WEIGHT);
            let likeness = term.compare(&letters);
            let is_match = match likeness {
                Likeness::Same => true,
                // Not all stems of other scripts are known.
                Likeness::Similar if !word.chars().all(is_latin_or_no_letter) => true,
                Likeness::Similar | Likeness::Different => self.has_id_of(word, term),
            };
            if !is_match {
                continue;
            }
            let is_exact = likeness == Likeness::Same;
            *is_found = true;
            let (score, key) = if is_exact { (3 * length, 2 * number + 1) } else { (length, 2 * number) };
            best = best.max(Some(BestTerm { score, key }));
        }
        best
    }

    /// Returns whether the index takes a word for a form or another spelling of a term: `running` of `runs`, `Müller` of `mueller`, but not
    /// `Numb` of `number`.
    fn has_id_of(&mut self, word: &str, term: &SnippetTerm) -> bool {
        if !term.has_ids() {
            return false;
        }
        if let Some(ids) = self.ids.get(word) {
            return term.has_any_id(ids);
        }
        let languages = self.terms.languages.iter();
        let mut ids: Vec<u32> =
            languages.flat_map(|language| analyze_passage("", word, *language).indices).collect();
        ids.sort_unstable();
        let has_id = term.has_any_id(&ids);
        self.ids.insert(word.to_owned(), ids);
        has_id
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

/// Returns the folded letters and digits of a text, without what stands between them.
fn joined_letters(text: &str) -> String {
    fold(text).into_iter().filter(|c| c.is_alphanumeric()).collect()
}

fn is_latin_or_no_letter(c: char) -> bool {
    c.is_ascii() || matches!(c, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}') || !c.is_alphabetic()
}
