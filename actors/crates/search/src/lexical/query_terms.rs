//! The words of a query, each with all ids that the index may have for it.

use std::collections::BTreeMap;
use std::ops::Range;

use super::code_prefixes::is_prefix;
use super::codes;
use super::compounds::part_factors;
use super::detect::detect_language;
use super::fold::lowercase;
use super::normalize::{TextRole, normalize};
use super::spellings::SpellingIds;
use super::stem::{plain_id, prefix_id};
use super::stop_words::is_stop_word;
use super::url_words::with_url_words;
use super::words::{Token, split_tokens};
use crate::index::{Language, SparseVector};

/// The factor of spellings that the query only implies: words as one (`web site`), a code without its ending, `C` for `C++`.
const IMPLIED_FACTOR: f32 = 0.5;

/// The factor of the beginning of a code (`LM3` of `LM385`).
const PREFIX_FACTOR: f32 = 0.4;

/// The factor of each part of a number in parts: enough to find a text that has them, but below each that has the whole number.
const NUMBER_PART_FACTOR: f32 = 0.1;

/// In longer queries, which are sentences, neighbouring words are not joined.
const MAX_WORDS_TO_JOIN: usize = 8;

/// One word of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
    /// The word as it was typed, normalized (NFKC).
    pub text: String,
    /// The ids of the word in every language of the query and every spelling, with factors from 0 to 1. The first of several words that
    /// are also written as one has the ids of the whole.
    pub sparse: SparseVector,
    /// The ids of the parts of a number in parts, with low factors; empty for another word. They are searched for too, but a text that has
    /// the parts alone does not have the number.
    pub number_parts: SparseVector,
}

impl QueryTerm {
    /// Returns whether it is a number in parts, such as the date `2024-06-06`.
    #[must_use]
    pub fn is_number_in_parts(&self) -> bool {
        !self.number_parts.is_empty()
    }
}

/// Returns the words of a query in their order, each once, analysed in each of these languages. Stop words are left out, except in a
/// query that has no other words. A code is one term for each of its parts that a sign separates, but a number of such parts, such as a
/// date, is one term. A URL has the terms of its host and its path. A query in a script without spaces has a term for each n-gram.
#[must_use]
pub fn query_terms(query: &str, languages: &[Language]) -> Vec<QueryTerm> {
    terms_with(SpellingRange::Implied, query, languages)
}

fn terms_with(spellings: SpellingRange, query: &str, languages: &[Language]) -> Vec<QueryTerm> {
    let query = with_url_words(query);
    let language = detect_language(&query);
    let text = normalize(&query, TextRole::Query);
    let tokens = split_tokens(&text);
    // A stop word of the query's language is left out for all languages, although it may be a content word in another one.
    let content: Vec<bool> = tokens.iter().map(|token| !is_stop_word(language, token.text)).collect();
    let analysis =
        QueryAnalysis { text: &text, tokens: &tokens, languages, skips_stop_words: true, spellings };
    let terms = analysis.terms(&content);
    if !terms.is_empty() {
        return terms;
    }
    QueryAnalysis { skips_stop_words: false, ..analysis }.terms(&vec![true; tokens.len()])
}

/// Analyses several texts, such as words that a query excludes, without what their words only imply: they have neither the ids of several
/// words as one, nor of compounds with a word, nor of codes that begin with it, nor of a code without its ending, nor of a name without its
/// signs. A number in parts is several words. Stop words are left out as in [`terms_of_parts`].
#[must_use]
pub fn analyze_as_written<'a>(
    parts: impl IntoIterator<Item = &'a str>,
    languages: &[Language],
) -> SparseVector {
    let written = |part| terms_with(SpellingRange::Written, part, languages);
    merge_terms(&parts.into_iter().flat_map(written).collect::<Vec<_>>())
}

/// Returns the words of several texts that are one query, such as its phrases, in their order, each once. Stop words are left out of each
/// text by itself: one that has no other words keeps them.
#[must_use]
pub fn terms_of_parts<'a>(
    parts: impl IntoIterator<Item = &'a str>,
    languages: &[Language],
) -> Vec<QueryTerm> {
    let mut terms: Vec<QueryTerm> = Vec::new();
    for term in parts.into_iter().flat_map(|part| query_terms(part, languages)) {
        if !terms.iter().any(|known| known.text == term.text) {
            terms.push(term);
        }
    }
    terms
}

/// Returns the words of a phrase in their order, each once and stop words too, in all forms that the index has of them, without what they
/// only imply. Whatever contains the phrase ([`WordSequence`](super::WordSequence)) has an id of each of them. A word of one letter of a
/// script such as Thai, whose texts are split into n-grams of two letters at least, is the exception.
#[must_use]
pub fn phrase_words(phrase: &str, languages: &[Language]) -> Vec<QueryTerm> {
    let text = normalize(phrase, TextRole::Query);
    // A phrase has the sign of a name of one letter alone, not the dot of `.NET`.
    let tokens = split_tokens(&text).into_iter();
    let without_dot =
        tokens.map(|token| Token { signed: token.signed.filter(|_| token.text.len() == 1), ..token });
    let tokens: Vec<Token<'_>> = without_dot.collect();
    let analysis = QueryAnalysis {
        text: &text,
        tokens: &tokens,
        languages,
        skips_stop_words: false,
        spellings: SpellingRange::Written,
    };
    analysis.terms(&vec![true; tokens.len()])
}

/// Merges the words of a query. An id that several words have counts once, with its highest factor.
#[must_use]
pub fn merge_terms(terms: &[QueryTerm]) -> SparseVector {
    let mut factors = FactorsById::default();
    for vector in terms.iter().flat_map(|term| [&term.sparse, &term.number_parts]) {
        for (id, factor) in vector.indices.iter().zip(&vector.values) {
            factors.add(*id, *factor);
        }
    }
    factors.into_sparse()
}

/// The spellings of a word that are searched for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SpellingRange {
    /// Those of the word itself, in all its forms.
    Written,
    /// Those too that it only implies.
    Implied,
}

/// A query with the languages in which it is analysed.
#[derive(Clone, Copy)]
struct QueryAnalysis<'a> {
    /// The normalized text.
    text: &'a str,
    tokens: &'a [Token<'a>],
    languages: &'a [Language],
    skips_stop_words: bool,
    spellings: SpellingRange,
}

impl QueryAnalysis<'_> {
    /// Returns the terms of the words for which `content` is set.
    fn terms(&self, content: &[bool]) -> Vec<QueryTerm> {
        let joins = if self.has_implied() { self.joins(content) } else { Vec::new() };
        let numbers = if self.has_implied() { self.numbers_in_parts() } else { Vec::new() };
        let mut words: Vec<WordFactors<'_>> = Vec::new();
        for (at, token) in self.tokens.iter().enumerate().filter(|(at, _)| is_set(content, *at)) {
            let number = numbers.iter().find(|range| range.contains(&at));
            if number.is_some_and(|range| range.start != at) {
                continue;
            }
            let word = match number.and_then(|range| self.number(range.clone())) {
                Some(number) => number,
                None => {
                    let joined = joins.iter().filter(|(first, _)| *first == at);
                    let joined = self.joined_factors(joined.map(|(_, joined)| joined.as_str()));
                    let own = self.word_factors(token);
                    WordFactors { text: token.text, own, joined, parts: FactorsById::default() }
                }
            };
            match words.iter_mut().find(|same| same.own == word.own) {
                Some(same) => same.joined.merge(word.joined),
                None => words.push(word),
            }
        }
        words.retain(|word| !word.own.0.is_empty());
        words.into_iter().map(WordFactors::into_term).collect()
    }

    /// Returns the positions of the words of each number in parts.
    fn numbers_in_parts(&self) -> Vec<Range<usize>> {
        let (mut numbers, mut start) = (Vec::new(), 0);
        for chain in self.tokens.chunk_by(codes::connects) {
            let range = start..start + chain.len();
            start = range.end;
            if codes::is_number_in_parts(chain) {
                numbers.push(range);
            }
        }
        numbers
    }

    /// Returns the number whose parts are these words.
    fn number(&self, range: Range<usize>) -> Option<WordFactors<'_>> {
        let tokens = self.tokens.get(range)?;
        let (first, last) = (tokens.first()?, tokens.last()?);
        let text = self.text.get(first.start..last.start + last.text.len())?;
        let joined = codes::join(tokens)?;
        let (mut own, mut parts) = (FactorsById::default(), FactorsById::default());
        for language in self.languages {
            own.add_spellings(*language, &joined, 1.0);
            for token in tokens {
                parts.add_spellings(*language, token.text, NUMBER_PART_FACTOR);
            }
        }
        Some(WordFactors { text, own, joined: FactorsById::default(), parts })
    }

    fn has_implied(&self) -> bool {
        self.spellings == SpellingRange::Implied
    }

    /// Returns what several words are as one, with the position of the first of them that is a term.
    fn joins(&self, content: &[bool]) -> Vec<(usize, String)> {
        let mut joins = Vec::new();
        let mut add = |start: usize, count: usize, joined: Option<String>| {
            let first = (start..start + count).find(|at| is_set(content, *at));
            joins.extend(first.zip(joined));
        };
        let mut start = 0;
        for chain in self.tokens.chunk_by(codes::connects) {
            add(start, chain.len(), codes::join(chain));
            start += chain.len();
        }
        for (start, pair) in self.tokens.windows(2).enumerate() {
            if let [name, number] = pair {
                add(start, 2, codes::join_series(name, number));
            }
        }
        if self.tokens.len() <= MAX_WORDS_TO_JOIN {
            for count in [2, 3] {
                for (start, words) in self.tokens.windows(count).enumerate() {
                    add(start, count, codes::join(words));
                }
            }
        }
        joins
    }

    /// Returns the ids of a word by itself.
    fn word_factors(&self, token: &Token<'_>) -> FactorsById {
        let mut factors = FactorsById::default();
        let factor = if token.signed.is_some() { IMPLIED_FACTOR } else { 1.0 };
        let word = lowercase(token.text);
        for language in self.languages {
            let is_left_out = self.skips_stop_words && is_stop_word(*language, token.text);
            // A name with signs is another one than that without them.
            if is_left_out || (token.signed.is_some() && !self.has_implied()) {
                continue;
            }
            factors.add_spellings(*language, &word, factor);
            if self.has_implied() {
                factors.add_shortened(&word, factor);
                for (part, factor) in part_factors(*language, &word) {
                    factors.add(part, factor);
                }
                factors.add_prefix(&word);
            }
        }
        if let Some(signed) = token.signed {
            factors.add(plain_id(&signed.to_ascii_lowercase()), 1.0);
        }
        factors
    }

    /// Returns the ids of several words as one.
    fn joined_factors<'a>(&self, joined: impl Iterator<Item = &'a str>) -> FactorsById {
        let mut factors = FactorsById::default();
        for word in joined.map(lowercase) {
            for language in self.languages {
                factors.add_spellings(*language, &word, IMPLIED_FACTOR);
                factors.add_shortened(&word, IMPLIED_FACTOR);
            }
        }
        factors
    }
}

/// A word of a query with its ids.
struct WordFactors<'a> {
    text: &'a str,
    /// The ids of the word by itself.
    own: FactorsById,
    /// The ids of several words as one, of which this is the first.
    joined: FactorsById,
    /// The ids of the parts of a number in parts.
    parts: FactorsById,
}

impl WordFactors<'_> {
    fn into_term(self) -> QueryTerm {
        let Self { text, mut own, joined, parts } = self;
        own.merge(joined);
        QueryTerm { text: text.to_owned(), sparse: own.into_sparse(), number_parts: parts.into_sparse() }
    }
}

fn is_set(content: &[bool], at: usize) -> bool {
    content.get(at).copied().unwrap_or_default()
}

/// The factors of ids, each the highest that was added. The sum would favour words that are the same in many languages.
#[derive(Default, PartialEq)]
struct FactorsById(BTreeMap<u32, f32>);

impl FactorsById {
    fn add(&mut self, id: u32, factor: f32) {
        let highest = self.0.entry(id).or_default();
        *highest = highest.max(factor);
    }

    fn merge(&mut self, other: Self) {
        for (id, factor) in other.0 {
            self.add(id, factor);
        }
    }

    /// Adds the spellings of a word in lower case.
    fn add_spellings(&mut self, language: Language, word: &str, factor: f32) {
        let spellings = SpellingIds::of(language, word);
        for id in spellings.as_slice() {
            self.add(*id, factor * spellings.factor());
        }
    }

    /// Adds a code in lower case without its ending, if it has one that is mostly left out.
    fn add_shortened(&mut self, word: &str, factor: f32) {
        if let Some(shortened) = codes::shortened(word) {
            self.add(plain_id(shortened), factor * IMPLIED_FACTOR);
        }
    }

    /// Adds a word in lower case as the beginning of a code, if it may be one.
    fn add_prefix(&mut self, word: &str) {
        if is_prefix(word) {
            self.add(prefix_id(word), PREFIX_FACTOR);
        }
    }

    fn into_sparse(self) -> SparseVector {
        let (indices, values) = self.0.into_iter().unzip();
        SparseVector { indices, values }
    }
}
