//! Searches of the index by words alone, for queries with phrases and exclusions. They run on a worker thread.

use std::collections::HashSet;

use inference::embedder::QueryWeight;
use search::calibration::{MAX_PROBED_TERMS, weigh_terms};
use search::fusion::{self, FusedPassage};
use search::index::{DocumentSet, Filter, IndexError, IndexQuery, Tenant};
use search::lexical::{self, QueryTerm};
use search::snippet::SnippetTerms;
use uuid::Uuid;
use values::id::UserId;

use crate::retrieval::engine::{LibraryIndex, catch_engine_panic, longest_first};
use crate::retrieval::search_query::SearchQuery;

/// Maximum number of passages that a search returns.
pub const MAX_LEXICAL_HITS: usize = 1600;
/// Maximum number of searches of the index for the documents that have a word.
const MAX_ROUNDS: usize = 8;

/// The passages that may contain the phrases of a query.
pub struct PhraseCandidates {
    /// The passages, best first, however many are of one document.
    pub passages: Vec<FusedPassage>,
    /// The words of the query with their weights.
    pub terms: SnippetTerms,
}

/// Returns the best passages that have any of the words of a query and of its phrases, at most 1,600.
pub fn find_candidates(
    index: &LibraryIndex<'_>,
    user: UserId,
    query: &SearchQuery,
) -> Result<PhraseCandidates, IndexError> {
    let tenant = Tenant::of(user.0);
    let languages = catch_engine_panic(|| index.languages(&tenant))?;
    let text = &query.query.plain;
    // Each phrase by itself too, because a phrase of stop words is found by them.
    let parts = [text].into_iter().chain(&query.query.phrases).map(String::as_str);
    let terms = longest_first(lexical::terms_of_parts(parts, &languages));
    let index_query = IndexQuery {
        sparse: lexical::merge_terms(&terms),
        terms: terms.iter().take(MAX_PROBED_TERMS).map(|term| term.sparse.clone()).collect(),
        dense: None,
        filter: query.within.clone(),
        depth: MAX_LEXICAL_HITS,
    };
    let hits = catch_engine_panic(|| index.search(&tenant, &index_query))?;
    let weights = weigh_terms(&hits.term_scores, terms.len());
    let passages = fusion::fuse(&hits, QueryWeight::FULL, weights.iter().sum());
    let terms = SnippetTerms::of(text, &terms, &weights, &languages);
    Ok(PhraseCandidates { passages, terms })
}

/// Returns the word of the phrases of a query that is the rarest in the library, as far as its best score tells; `None` if one of the words is
/// in no passage, so that no passage has all phrases.
pub fn find_rarest_word(
    index: &LibraryIndex<'_>,
    user: UserId,
    query: &SearchQuery,
) -> Result<Option<QueryTerm>, IndexError> {
    let tenant = Tenant::of(user.0);
    let languages = catch_engine_panic(|| index.languages(&tenant))?;
    let phrases = query.query.phrases.iter();
    let words = longest_first(phrases.flat_map(|phrase| lexical::phrase_words(phrase, &languages)).collect());
    let probe = IndexQuery {
        terms: words.iter().take(MAX_PROBED_TERMS).map(|word| word.sparse.clone()).collect(),
        depth: 1,
        ..IndexQuery::default()
    };
    let scores = catch_engine_panic(|| index.search(&tenant, &probe))?.term_scores;
    if scores.iter().any(|score| *score <= 0.0) {
        return Ok(None);
    }
    let scored = words.into_iter().zip(scores);
    Ok(scored.max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(word, _)| word))
}

/// Returns the passages in the searched part of the library that have a word, best first, at most `depth`.
pub fn find_with_word(
    index: &LibraryIndex<'_>,
    user: UserId,
    query: &SearchQuery,
    word: &QueryTerm,
    depth: usize,
) -> Result<Vec<Uuid>, IndexError> {
    let with_word = IndexQuery {
        sparse: word.sparse.clone(),
        filter: query.within.clone(),
        depth,
        ..IndexQuery::default()
    };
    let hits = catch_engine_panic(|| index.search(&Tenant::of(user.0), &with_word))?;
    Ok(hits.lexical.into_iter().map(|hit| hit.id).collect())
}

/// Passages of some documents that have a word.
pub struct FoundPassages {
    /// The passages, each with its document, best first. Those of a former state of their document are left out.
    pub passages: Vec<(Uuid, Uuid)>,
    /// Whether the documents may have more of them.
    pub is_cut: bool,
}

/// Returns the passages of these documents that have a word of these texts as it is written, best first, at most 1,600.
pub fn find_passages(
    index: &LibraryIndex<'_>,
    user: UserId,
    texts: &[String],
    documents: &[Uuid],
) -> Result<FoundPassages, IndexError> {
    let tenant = Tenant::of(user.0);
    let languages = catch_engine_panic(|| index.languages(&tenant))?;
    let query = IndexQuery {
        sparse: lexical::analyze_as_written(texts.iter().map(String::as_str), &languages),
        filter: Filter { documents: DocumentSet::Only(documents.to_vec()), ..Filter::default() },
        depth: MAX_LEXICAL_HITS,
        ..IndexQuery::default()
    };
    let hits = catch_engine_panic(|| index.search(&tenant, &query))?;
    let found: Vec<Uuid> = hits.lexical.into_iter().map(|hit| hit.id).collect();
    let known = catch_engine_panic(|| index.find_documents(&tenant, &found))?;
    let is_cut = found.len() >= MAX_LEXICAL_HITS;
    let passages = found.into_iter().filter_map(|id| Some((id, *known.get(&id)?))).collect();
    Ok(FoundPassages { passages, is_cut })
}

/// Returns those of these documents that have one of these words in any of their passages. Passages of a few long documents may take all
/// places of a search of the index; at most eight such searches are made.
pub fn find_documents(
    index: &LibraryIndex<'_>,
    user: UserId,
    words: &[String],
    mut documents: Vec<Uuid>,
) -> Result<HashSet<Uuid>, IndexError> {
    let mut found = HashSet::new();
    for _ in 0..MAX_ROUNDS {
        let FoundPassages { passages, is_cut } = find_passages(index, user, words, &documents)?;
        let known = found.len();
        found.extend(passages.into_iter().map(|(_, document)| document));
        documents.retain(|document| !found.contains(document));
        if !is_cut || found.len() == known || documents.is_empty() {
            break;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use library::bookmarks::BookmarkConditions;
    use search::index::{EdgeIndex, Language, PassageIndex, Point, VectorModels};
    use search::query_syntax::ParsedQuery;

    use super::*;
    use crate::retrieval::test_library::point;
    use crate::retrieval::unindexed::UnindexedDocuments;

    const USER: UserId = UserId(Uuid::from_u128(7));

    fn numbers(ids: impl IntoIterator<Item = Uuid>) -> Vec<u128> {
        let mut numbers: Vec<u128> = ids.into_iter().map(|id| id.as_u128()).collect();
        numbers.sort_unstable();
        numbers
    }

    #[test]
    fn documents_below_a_long_one_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let index = EdgeIndex::open(folder.path(), VectorModels::default()).unwrap();
        let passages = u128::try_from(MAX_LEXICAL_HITS).unwrap();
        let long = (1..=passages).map(|n| point(10_000 + n, 1, "heron heron"));
        let others =
            [point(2, 2, "a heron in the reeds"), point(3, 3, "a reed"), point(4, 4, "one heron more")];
        index.upsert(&Tenant::of(USER.0), long.chain(others).collect()).unwrap();
        let documents: Vec<Uuid> = (1..=3).map(Uuid::from_u128).collect();

        let unindexed = UnindexedDocuments::default();
        let index = LibraryIndex::new(&index, &unindexed);
        let found = find_documents(&index, USER, &["herons".to_owned()], documents).unwrap();

        assert_eq!(numbers(found), [1, 2]);
    }

    #[test]
    fn word_excludes_its_forms_but_not_what_ends_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let index = EdgeIndex::open(folder.path(), VectorModels::default()).unwrap();
        let german = |number, text: &str| Point {
            language: Language::German,
            sparse: lexical::analyze_passage("", text, Language::German),
            ..point(number, number, "")
        };
        let points = vec![german(1, "Die Bahnen"), german(2, "Die Autobahn"), point(3, 3, "vitamin C")];
        index.upsert(&Tenant::of(USER.0), points).unwrap();
        let unindexed = UnindexedDocuments::default();
        let index = LibraryIndex::new(&index, &unindexed);

        for (word, expected) in [("Bahn", vec![1]), ("C++", vec![])] {
            let documents: Vec<Uuid> = (1..=3).map(Uuid::from_u128).collect();
            let found = find_documents(&index, USER, &[word.to_owned()], documents).unwrap();
            assert_eq!(numbers(found), expected, "{word}");
        }
    }

    #[test]
    fn rarest_word_of_a_phrase_is_found_and_no_unknown_one() {
        let folder = tempfile::tempdir().unwrap();
        let index = EdgeIndex::open(folder.path(), VectorModels::default()).unwrap();
        let points = (1..=9).map(|n| point(n, n, if n == 5 { "the question is" } else { "the answer is" }));
        index.upsert(&Tenant::of(USER.0), points.collect()).unwrap();
        let unindexed = UnindexedDocuments::default();
        let index = LibraryIndex::new(&index, &unindexed);
        let query = |text: &str| SearchQuery {
            query: ParsedQuery::of(text),
            within: Filter::default(),
            bookmarks: BookmarkConditions::default(),
            limit: 8,
        };

        let that_is = query("\"the question is\" \"is the\"");
        let rarest = find_rarest_word(&index, USER, &that_is).unwrap().unwrap();

        assert_eq!(rarest.text, "question");
        assert_eq!(numbers(find_with_word(&index, USER, &that_is, &rarest, 100).unwrap()), [5]);
        assert_eq!(find_rarest_word(&index, USER, &query("\"the heron is\"")).unwrap(), None);
    }

    #[test]
    fn phrase_of_stop_words_has_candidates() {
        let folder = tempfile::tempdir().unwrap();
        let index = EdgeIndex::open(folder.path(), VectorModels::default()).unwrap();
        let points = vec![point(1, 1, "It is what it is."), point(2, 2, "A heron."), point(3, 3, "Reeds.")];
        index.upsert(&Tenant::of(USER.0), points).unwrap();
        let query = SearchQuery {
            query: ParsedQuery::of("heron \"it is what it is\""),
            within: Filter::default(),
            bookmarks: BookmarkConditions::default(),
            limit: 8,
        };

        let unindexed = UnindexedDocuments::default();
        let index = LibraryIndex::new(&index, &unindexed);
        let found = find_candidates(&index, USER, &query).unwrap();

        assert_eq!(numbers(found.passages.into_iter().map(|passage| passage.id)), [1, 2]);
    }
}
