//! Chooses the points that are compared with a query: those with its rarest words, and those that have several of the others.
//!
//! All points with a rare word are read. Of a word that more points have than are listed, any of them are: then the points count that have
//! such words together.

use std::collections::HashSet;

use concurrency::Workers;
use database::{Db, Transaction};
use errors::Error;
use search::calibration::MAX_PROBED_TERMS;
use search::index::{Language, Point, SparseVector};
use search::lexical::{self, QueryTerm};
use uuid::Uuid;
use values::id::UserId;

use super::word_matches::{FoundPoint, WordGroup, read_groups};
use crate::retrieval::operators::{PhraseMatcher, find_matching};
use crate::retrieval::search_query::SearchQuery;
use crate::retrieval::unindexed::term_weight;

/// Points that are listed of each word, and of several words together.
const MAX_LISTED: usize = 500;
/// Points that are compared with a query.
const MAX_CANDIDATES: usize = 1_500;
/// Common words that are looked for together, the longest of a query.
const MAX_COMBINED_TERMS: usize = 4;
/// Words of phrases that a point must have before its text is read.
const MAX_PHRASE_WORDS: usize = 6;
/// Points whose texts are read to compare them with phrases.
const MAX_PHRASE_POINTS: usize = 2_000;

/// The points that are compared with a query.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// Their ids.
    pub points: Vec<Uuid>,
    /// How many points have each of the first terms, 500 at most.
    pub holders: Vec<usize>,
}

/// Returns points that have words of a query.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn find(
    txn: &Transaction,
    user: UserId,
    search: &SearchQuery,
    terms: &[QueryTerm],
) -> Result<Candidates, Error> {
    let probed: Vec<&QueryTerm> = terms.iter().take(MAX_PROBED_TERMS).collect();
    // The parts of a number find texts without the whole number.
    let parts = probed.iter().map(|term| &term.number_parts).filter(|parts| !parts.is_empty());
    let sets: Vec<&SparseVector> = probed.iter().map(|term| &term.sparse).chain(parts).collect();
    let groups: Vec<WordGroup<'_>> = sets.iter().map(|set| vec![*set]).collect();
    let lists = read_groups(txn, user, search, &groups, MAX_LISTED).await?;
    let common = common_terms(&probed, &lists);
    let groups: Vec<WordGroup<'_>> = combinations(&common)
        .into_iter()
        .map(|group| group.into_iter().filter_map(|at| sets.get(at).copied()).collect())
        .collect();
    let together = read_groups(txn, user, search, &groups, MAX_LISTED).await?;
    let points = choose(&lists, &common, &together);
    Ok(Candidates { points, holders: lists.iter().take(probed.len()).map(Vec::len).collect() })
}

/// Returns points that contain all phrases of a query.
///
/// # Errors
/// [`Error::Internal`] when the database or the worker thread fails.
pub async fn find_phrases(
    db: &Db,
    txn: &Transaction,
    workers: &Workers,
    user: UserId,
    search: &SearchQuery,
) -> Result<Candidates, Error> {
    let words = phrase_words(&search.query.phrases);
    let group: WordGroup<'_> = words.iter().map(|word| &word.sparse).collect();
    if group.is_empty() {
        return Ok(Candidates::default());
    }
    let found = read_groups(txn, user, search, &[group], MAX_PHRASE_POINTS).await?;
    let ids: Vec<Uuid> = found.into_iter().flatten().map(|point| point.id).collect();
    let phrases = PhraseMatcher::all_of(&search.query.phrases);
    let mut points: Vec<Uuid> = find_matching(db, workers, user, &phrases, &ids).await?.into_keys().collect();
    points.truncate(MAX_CANDIDATES);
    Ok(Candidates { points, holders: Vec::new() })
}

/// Returns the documents of these points that have an excluded word, in any of its forms. Phrases are not looked for.
pub fn documents_with_excluded_word(points: &[Point], excluded: &[String]) -> HashSet<Uuid> {
    let words = excluded.iter().map(|text| phrase_words(std::slice::from_ref(text)));
    let words: Vec<QueryTerm> = words.filter(|words| words.len() == 1).flatten().collect();
    let has_word = |point: &&Point| words.iter().any(|word| term_weight(&word.sparse, &point.sparse) > 0.0);
    points.iter().filter(has_word).map(|point| point.document).collect()
}

/// Documents that contain something that a query excludes.
pub struct ExcludedDocuments {
    /// Their ids.
    pub documents: HashSet<Uuid>,
    /// Whether more of the searched documents may contain it.
    pub is_cut: bool,
}

/// Returns the documents in the searched part of the library that contain an excluded word, in any of its forms, or an excluded phrase: in a
/// passage or in the metadata. Of each, at most 2,000 passages are read that have its words, which may be of a few long documents.
///
/// # Errors
/// [`Error::Internal`] when the database or the worker thread fails.
pub async fn find_excluded(
    db: &Db,
    txn: &Transaction,
    workers: &Workers,
    user: UserId,
    excluded: &[String],
    within: &SearchQuery,
) -> Result<ExcludedDocuments, Error> {
    let words: Vec<Vec<QueryTerm>> =
        excluded.iter().map(|text| phrase_words(std::slice::from_ref(text))).collect();
    let groups: Vec<WordGroup<'_>> =
        words.iter().map(|words| words.iter().map(|word| &word.sparse).collect()).collect();
    let groups: Vec<WordGroup<'_>> = groups.into_iter().filter(|group| !group.is_empty()).collect();
    let found = read_groups(txn, user, within, &groups, MAX_PHRASE_POINTS).await?;
    let is_cut = found.iter().any(|points| points.len() >= MAX_PHRASE_POINTS);
    let (mut documents, mut others) = (HashSet::new(), Vec::new());
    for (group, points) in groups.iter().zip(found) {
        if group.len() == 1 {
            documents.extend(points.into_iter().map(|point| point.document));
        } else {
            others.extend(points.into_iter().map(|point| point.id));
        }
    }
    let matching = find_matching(db, workers, user, &PhraseMatcher::any_of(excluded), &others).await?;
    documents.extend(matching.into_values().map(|document| document.0));
    Ok(ExcludedDocuments { documents, is_cut })
}

/// Returns the words of phrases, each once, those that are probably the rarest: the longest.
fn phrase_words(phrases: &[String]) -> Vec<QueryTerm> {
    let mut words: Vec<QueryTerm> = Vec::new();
    for word in phrases.iter().flat_map(|phrase| lexical::phrase_words(phrase, &Language::ALL)) {
        if !words.iter().any(|known| known.sparse == word.sparse) {
            words.push(word);
        }
    }
    words.sort_by_cached_key(|word| std::cmp::Reverse(word.text.chars().count()));
    words.truncate(MAX_PHRASE_WORDS);
    words
}

/// Returns the positions of the terms that more points have than are listed, the longest first: short words are common.
fn common_terms(terms: &[&QueryTerm], lists: &[Vec<FoundPoint>]) -> Vec<usize> {
    let is_common = |list: &Vec<FoundPoint>| list.len() >= MAX_LISTED;
    let mut common: Vec<(usize, usize)> = terms
        .iter()
        .zip(lists)
        .enumerate()
        .filter(|(_, (_, list))| is_common(list))
        .map(|(at, (term, _))| (term.text.chars().count(), at))
        .collect();
    common.sort_by_key(|(length, at)| (std::cmp::Reverse(*length), *at));
    common.into_iter().map(|(_, at)| at).collect()
}

/// Returns the groups of common terms that are looked for together: all of the longest ones, then each pair of three of them.
fn combinations(common: &[usize]) -> Vec<Vec<usize>> {
    let longest: Vec<usize> = common.iter().copied().take(MAX_COMBINED_TERMS).collect();
    match longest.as_slice() {
        [] | [_] => Vec::new(),
        [first, second] => vec![vec![*first, *second]],
        [first, second, third, ..] => {
            let pairs = [[*first, *second], [*first, *third], [*second, *third]];
            std::iter::once(longest.clone()).chain(pairs.map(|pair| pair.to_vec())).collect()
        }
    }
}

/// Returns the points that are compared with a query, each once: those of the shortest lists, which are whole, then those that have common
/// terms together, then others with a common term.
fn choose(lists: &[Vec<FoundPoint>], common: &[usize], together: &[Vec<FoundPoint>]) -> Vec<Uuid> {
    let mut whole: Vec<&Vec<FoundPoint>> = lists.iter().filter(|list| list.len() < MAX_LISTED).collect();
    whole.sort_by_key(|list| list.len());
    let others = common.iter().filter_map(|at| lists.get(*at));
    let mut chosen = HashSet::new();
    let points = whole.into_iter().chain(together).chain(others).flatten();
    points.map(|point| point.id).filter(|id| chosen.insert(*id)).take(MAX_CANDIDATES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrieval::test_library::point;

    fn list(numbers: std::ops::Range<u128>) -> Vec<FoundPoint> {
        numbers.map(|number| FoundPoint { id: Uuid::from_u128(number), document: Uuid::nil() }).collect()
    }

    fn term(text: &str) -> QueryTerm {
        lexical::query_terms(text, &[Language::English]).remove(0)
    }

    #[test]
    fn points_with_the_rarest_words_come_first() {
        let lists = [list(0..500), list(1_000..1_300), list(1_299..1_302), list(2_000..2_500)];

        let points = choose(&lists, &[3, 0], &[list(400..450)]);

        let numbers: Vec<u128> = points.iter().map(|id| id.as_u128()).collect();
        assert_eq!(numbers[..3], [1_299, 1_300, 1_301]);
        assert_eq!(numbers[302..304], [400, 401], "each once, and common words together before others");
        assert_eq!(numbers[352..354], [2_000, 2_001]);
        assert_eq!(numbers.len(), 302 + 50 + 500 + 450);
    }

    #[test]
    fn longest_of_the_common_words_are_looked_for_together() {
        let terms = [term("time"), term("heron"), term("management"), term("water")];
        let lists = [list(0..500), list(0..3), list(0..500), list(0..500)];

        let common = common_terms(&terms.iter().collect::<Vec<_>>(), &lists);

        assert_eq!(common, [2, 3, 0]);
        assert_eq!(combinations(&common), [vec![2, 3, 0], vec![2, 3], vec![2, 0], vec![3, 0]]);
        assert_eq!(combinations(&[5, 4]), [vec![5, 4]]);
        assert!(combinations(&[5]).is_empty());
    }

    #[test]
    fn excluded_word_is_found_in_its_forms_and_phrase_is_not() {
        let points = [point(11, 1, "two grey ducks"), point(21, 2, "a grey heron"), point(31, 3, "a reed")];

        let excluded = ["duck".to_owned(), "grey heron".to_owned()];

        assert_eq!(documents_with_excluded_word(&points, &excluded), HashSet::from([Uuid::from_u128(1)]));
    }

    #[test]
    fn words_of_phrases_count_once_the_longest_first() {
        let words = phrase_words(&["to be or not to be".to_owned(), "the question".to_owned()]);

        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        assert_eq!(texts, ["question", "not", "the", "to", "be", "or"]);
    }
}
