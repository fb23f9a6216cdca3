//! One search of the index: by the words and by the embedding of the query, both rankings fused. It runs on a worker thread.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use inference::embedder::{Calibration, EmbedError, Embedder, QueryWeight};
use search::calibration::{MAX_PROBED_TERMS, bm25_share, weigh_terms};
use search::fusion::{self, RankedPassage};
use search::index::{Embedding, Filter, HybridHits, IndexError, IndexQuery, Language, Tenant};
use search::lexical::{self, QueryTerm};
use search::snippet::SnippetTerms;
use tracing::warn;
use uuid::Uuid;
use values::id::UserId;

use super::index_failure::catch_engine_panic;
use super::library_index::LibraryIndex;
use crate::retrieval::metadata::raise_passage_scores;
use crate::retrieval::ranked_hits::{RankedHits, SearchHit};
use crate::retrieval::search_query::SearchQuery;

/// Passages that the lexical and the semantic search each return.
const SEARCH_DEPTH: usize = 100;
/// Maximum depth, for results in which a few long documents take all ranks.
const MAX_SEARCH_DEPTH: usize = 1600;

/// Minimum calibrated score of a hit that shows that a service understands the words of a query: 0.5 separates results from noise.
const MIN_UNDERSTOOD_SCORE: f32 = 0.5;

/// Returns whether the words of a query are numbers in parts, such as dates, which are searched for by their words alone: to a model all
/// dates are near each other.
pub fn is_number(query: &str) -> bool {
    // Numbers are the same in all languages.
    are_numbers(&lexical::query_terms(query, &[Language::English]))
}

fn are_numbers(terms: &[QueryTerm]) -> bool {
    !terms.is_empty() && terms.iter().all(QueryTerm::is_number_in_parts)
}

/// Returns the best passages of the library of a user. Without a model the search is lexical. If the model is a service, it is not asked:
/// `vector` is what it has computed before, and without one the search is lexical.
pub fn search(
    index: &LibraryIndex<'_>,
    embedder: Option<&dyn Embedder>,
    vector: Option<Embedding>,
    user: UserId,
    query: &SearchQuery,
) -> Result<RankedHits, IndexError> {
    let text = &query.query.plain;
    let tenant = Tenant::of(user.0);
    let languages = catch_engine_panic(|| index.languages(&tenant))?;
    let terms = longest_first(lexical::query_terms(text, &languages));
    let (dense, weight) = match embedder {
        _ if are_numbers(&terms) => (None, QueryWeight::new(0.0)),
        Some(service) if service.query_deadline().is_some() => {
            // The model may have been changed since.
            (vector.filter(|vector| vector.model == service.model()), service.query_weight(text))
        }
        embedder => embed_query(embedder, text),
    };
    // A query whose words the model does not know is not degraded by leaving the model out.
    let lexical_only = dense.is_none() && (embedder.is_none() || weight.is_positive());
    let index_query = IndexQuery {
        sparse: lexical::merge_terms(&terms),
        terms: terms.iter().take(MAX_PROBED_TERMS).map(|term| term.sparse.clone()).collect(),
        dense,
        filter: query.within.clone(),
        depth: SEARCH_DEPTH,
    };
    let calibration = embedder.map_or(Calibration::STANDARD, |embedder| embedder.calibration());
    let mut search = PassageSearch { index, tenant, index_query, calibration, documents: HashMap::new() };
    let found = search.search_index()?;
    let has_scored_terms = found.term_scores.iter().any(|score| *score > 0.0);
    let weights = weigh_terms(&found.term_scores, terms.len());
    let ranking = RankingParameters { weight, attainable: weights.iter().sum(), limit: query.limit };
    let (hits, ranked, depth) = search.run(found, ranking)?;
    let is_complete = ranked.len() < query.limit && !fusion::may_have_more(&hits, depth, weight);
    let shares_words = search.has_documents(&hits)?;
    // The scores of terms count passages of a former state too. A search of the whole library tells what it has.
    let is_word_held = has_scored_terms && query.within != Filter::default();
    let may_be_misspelt = !(terms.is_empty() || is_word_held || shares_words);
    let understood_from = embedder.filter(|_| may_be_misspelt).and_then(|model| understood_from(model, text));
    let cosine_of = |id: Uuid| hits.dense.iter().find(|dense| dense.id == id).map(|dense| dense.score);
    let metadata_share = |document: Uuid| {
        let metadata = hits.lexical.iter().find(|hit| hit.id == document);
        metadata.map_or(0.0, |metadata| bm25_share(metadata.score, ranking.attainable))
    };
    let to_hit = |hit: RankedPassage| SearchHit {
        metadata_share: metadata_share(hit.document),
        ..SearchHit::new(hit, cosine_of(hit.id))
    };
    Ok(RankedHits {
        hits: ranked.into_iter().map(to_hit).collect(),
        searched_text: text.clone(),
        terms: SnippetTerms::of(text, &terms, &weights, &languages),
        is_complete,
        lexical_only,
        may_lack_passages: false,
        shares_words,
        may_be_misspelt,
        understood_from,
        found_as_written: HashSet::new(),
        correction: None,
    })
}

/// Returns the terms of a query, the longest first if their scores cannot all be asked for: short words are common, and say little.
pub fn longest_first(mut terms: Vec<QueryTerm>) -> Vec<QueryTerm> {
    if terms.len() > MAX_PROBED_TERMS {
        terms.sort_by_cached_key(|term| Reverse(term.text.chars().count()));
    }
    terms
}

/// Returns the score from which on a hit shows that the model understands a query of which no passage has a word; `None` if it does not. A
/// local model knows the words that are real: what it finds for them may be what was meant. Of a service, only a good hit shows it.
fn understood_from(embedder: &dyn Embedder, query: &str) -> Option<f32> {
    match embedder.knows_each_word(query) {
        Some(true) => Some(0.0),
        Some(false) => None,
        None => Some(MIN_UNDERSTOOD_SCORE),
    }
}

/// How the hits of a query become a ranking.
#[derive(Clone, Copy)]
struct RankingParameters {
    /// The weight of the dense search.
    weight: QueryWeight,
    /// The attainable BM25 of the query.
    attainable: f32,
    /// Maximum number of passages.
    limit: usize,
}

/// A search of the index in progress.
struct PassageSearch<'a> {
    index: &'a LibraryIndex<'a>,
    tenant: Tenant,
    index_query: IndexQuery,
    /// The scale of the cosine similarities in the index.
    calibration: Calibration,
    /// The documents of passages that were looked up.
    documents: HashMap<Uuid, Uuid>,
}

impl PassageSearch<'_> {
    /// Returns the hits of the lexical and the dense search, the best of them fused, and the depth of the search. Begins with the hits that a
    /// first search has found.
    fn run(
        &mut self,
        mut found: HybridHits,
        ranking: RankingParameters,
    ) -> Result<(HybridHits, Vec<RankedPassage>, usize), IndexError> {
        let mut depth = SEARCH_DEPTH;
        loop {
            let hits = found.first(depth);
            let ranked = self.rank(&hits, ranking)?;
            let is_deeper_worthwhile = fusion::needs_deeper_search(&hits, depth, ranked.len(), ranking.limit);
            if depth >= MAX_SEARCH_DEPTH || !is_deeper_worthwhile {
                return Ok((hits, ranked, depth));
            }
            // A few long documents took all ranks; the results hold only some passages of each document. One search serves all greater
            // depths: the hits of a lesser depth are the first of it.
            if depth == SEARCH_DEPTH {
                found = self.search_deeper(found)?;
            }
            depth = (depth * 4).min(MAX_SEARCH_DEPTH);
        }
    }

    /// Searches the index. The scores of the dense hits are on the standard scale.
    fn search_index(&mut self) -> Result<HybridHits, IndexError> {
        let mut hits = catch_engine_panic(|| self.index.search(&self.tenant, &self.index_query))?;
        self.documents.extend(std::mem::take(&mut hits.documents));
        for hit in &mut hits.dense {
            hit.score = self.calibration.standard_cosine(hit.score);
        }
        hits.is_converted = self.calibration != Calibration::STANDARD;
        Ok(hits)
    }

    /// Searches to the maximum depth, by meaning only if there are more such hits than were found.
    fn search_deeper(&mut self, found: HybridHits) -> Result<HybridHits, IndexError> {
        self.index_query.depth = MAX_SEARCH_DEPTH;
        if found.dense.len() >= SEARCH_DEPTH {
            return self.search_index();
        }
        self.index_query.dense = None;
        Ok(HybridHits { dense: found.dense, ..self.search_index()? })
    }

    fn rank(
        &mut self,
        hits: &HybridHits,
        ranking: RankingParameters,
    ) -> Result<Vec<RankedPassage>, IndexError> {
        let mut fused = fusion::fuse(hits, ranking.weight, ranking.attainable);
        // Their documents are looked up for the ranking too.
        let first = fused.iter().take(ranking.limit.saturating_mul(2));
        self.look_up(&first.map(|passage| passage.id).collect::<Vec<_>>())?;
        if let Some(raised) = raise_passage_scores(hits, &self.documents, ranking.attainable) {
            fused = fusion::fuse(&raised, ranking.weight, ranking.attainable);
        }
        fusion::limit_per_document(&fused, ranking.limit, |passages| {
            self.look_up(passages)?;
            Ok(passages.iter().filter_map(|id| Some((*id, *self.documents.get(id)?))).collect())
        })
    }

    /// Returns whether a lexical hit has a document: a passage of a former state has none.
    fn has_documents(&mut self, hits: &HybridHits) -> Result<bool, IndexError> {
        let ids: Vec<Uuid> = hits.lexical.iter().map(|hit| hit.id).collect();
        if !ids.iter().any(|id| self.documents.contains_key(id)) {
            self.look_up(&ids)?;
        }
        Ok(ids.iter().any(|id| self.documents.contains_key(id)))
    }

    /// Looks up the documents of passages that are not known yet.
    fn look_up(&mut self, passages: &[Uuid]) -> Result<(), IndexError> {
        let Self { index, tenant, documents, .. } = self;
        let mut missing = passages.to_vec();
        missing.retain(|passage| !documents.contains_key(passage));
        if !missing.is_empty() {
            documents.extend(catch_engine_panic(|| index.find_documents(tenant, &missing))?);
        }
        Ok(())
    }
}

/// Computes the embedding of the query and the weight of the semantic search. If the model fails, there is no embedding.
pub fn embed_query(embedder: Option<&dyn Embedder>, query: &str) -> (Option<Embedding>, QueryWeight) {
    let Some(embedder) = embedder else { return (None, QueryWeight::FULL) };
    let (weight, vector) = embedder.embed_weighted_query(query);
    let embedding = vector.and_then(|computed| match computed {
        Ok(vector) => Some(Embedding { model: embedder.model().to_owned(), vector }),
        // Logged once for all queries. A refused query is no fault.
        Err(EmbedError::Unavailable { .. } | EmbedError::TextRefused { .. }) => None,
        Err(error) => {
            warn!(%error, "could not compute the embedding of a query; the search is lexical");
            None
        }
    });
    (embedding, weight)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use inference::embedder::{
        EmbeddingEndpoint, EmbeddingSettings, Embeddings, EndpointEmbedder, MeasuredModel,
    };
    use library::bookmarks::BookmarkConditions;
    use search::index::{DocumentSet, EdgeIndex, PassageIndex, Point, VectorModel, VectorModels};
    use search::query_syntax::ParsedQuery;

    use super::*;
    use crate::retrieval::test_library::point;
    use crate::retrieval::unindexed::UnindexedDocuments;

    const USER: UserId = UserId(Uuid::from_u128(7));

    fn heron_query() -> SearchQuery {
        SearchQuery {
            query: ParsedQuery::of_text("heron"),
            within: Filter::default(),
            bookmarks: BookmarkConditions::default(),
            limit: 6,
        }
    }

    fn search_index(index: &EdgeIndex, user: UserId, query: &SearchQuery) -> Result<RankedHits, IndexError> {
        search(&LibraryIndex::new(index, &UnindexedDocuments::default()), None, None, user, query)
    }

    #[test]
    fn documents_below_a_long_one_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let index = EdgeIndex::open(folder.path(), VectorModels::default()).unwrap();
        let tenant = Tenant::of(USER.0);
        // The long document is nearer to the query in each of its passages, and takes the first 500 ranks.
        let long = (1..=500).map(|n| point(n, 1, "heron heron"));
        let others = (1_001..=1_004).map(|n| point(n, n, "a heron stands in the water of the reeds"));
        index.upsert(&tenant, long.chain(others).collect()).unwrap();
        let query = heron_query();

        let found = search_index(&index, USER, &query).unwrap();

        let documents: Vec<u128> = found.hits.iter().map(|hit| hit.document.0.as_u128()).collect();
        assert_eq!(documents, [1, 1, 1, 1_001, 1_002, 1_003]);
        assert!(found.lexical_only);
    }

    #[test]
    fn query_of_words_that_no_passage_has_may_be_misspelt() {
        let folder = tempfile::tempdir().unwrap();
        let index = EdgeIndex::open(folder.path(), VectorModels::default()).unwrap();
        index.upsert(&Tenant::of(USER.0), vec![point(1, 1, "a heron")]).unwrap();
        for (text, may_be_misspelt) in
            [("herron", true), ("heron", false), ("the herron and heron", false), ("?", false)]
        {
            let query = SearchQuery { query: ParsedQuery::of_text(text), ..heron_query() };

            let found = search_index(&index, USER, &query).unwrap();

            assert_eq!(found.may_be_misspelt, may_be_misspelt, "{text}");
            assert_eq!(found.shares_words, text.contains("heron"), "{text}");
        }
        // The word is held, though not in the searched part.
        let within = Filter { documents: DocumentSet::Only(vec![Uuid::from_u128(2)]), ..Filter::default() };
        let found = search_index(&index, USER, &SearchQuery { within, ..heron_query() }).unwrap();
        assert!(!found.shares_words && !found.may_be_misspelt);
    }

    /// A service that does not answer, whose vectors have the length 2.
    fn unreachable_service() -> (Arc<EmbeddingEndpoint>, EndpointEmbedder) {
        let settings = EmbeddingSettings {
            url: "http://127.0.0.1:9/v1".to_owned(),
            identity: None,
            model: "m".to_owned(),
            key: None,
            dimensions: None,
            query_prefix: String::new(),
            passage_prefix: String::new(),
        };
        let endpoint = Arc::new(EmbeddingEndpoint::new(settings, Arc::new(|| Duration::ZERO)).unwrap());
        let calibration = Calibration::STANDARD;
        let measured = MeasuredModel { name: "m-2".to_owned(), dimensions: 2, calibration };
        (endpoint.clone(), EndpointEmbedder::new(endpoint, measured))
    }

    #[test]
    fn search_of_the_index_does_not_ask_a_service() {
        let folder = tempfile::tempdir().unwrap();
        let model = VectorModel { name: "m-2".to_owned(), dimensions: 2 };
        let index = EdgeIndex::open(folder.path(), VectorModels::new([model])).unwrap();
        index.upsert(&Tenant::of(USER.0), vec![point(1, 1, "a heron")]).unwrap();
        let unindexed = UnindexedDocuments::default();
        let index = LibraryIndex::new(&index, &unindexed);
        let (endpoint, embedder) = unreachable_service();
        let vector = |model: &str| Some(Embedding { model: model.to_owned(), vector: vec![1.0, 0.0] });

        for (vector, lexical_only) in [(None, true), (vector("m-1"), true), (vector("m-2"), false)] {
            let found = search(&index, Some(&embedder), vector, USER, &heron_query()).unwrap();

            assert_eq!((found.lexical_only, found.hits.len()), (lexical_only, 1));
        }
        assert_eq!(endpoint.fault(), None);
    }

    /// A model that knows the words of every query, or of none; `None` for one that does not show it.
    struct WordEmbedder(Option<bool>);

    impl Embedder for WordEmbedder {
        fn model(&self) -> &str {
            "words"
        }

        fn dimensions(&self) -> usize {
            2
        }

        fn embed(&self, _: &[&str]) -> Result<Embeddings, EmbedError> {
            Ok(Embeddings::default())
        }

        fn embed_query(&self, _: &str) -> Result<Vec<f32>, EmbedError> {
            Ok(vec![1.0, 0.0])
        }

        fn query_weight(&self, _: &str) -> QueryWeight {
            QueryWeight::FULL
        }

        fn knows_each_word(&self, _: &str) -> Option<bool> {
            self.0
        }

        fn calibration(&self) -> Calibration {
            Calibration::STANDARD
        }
    }

    #[test]
    fn words_that_a_model_knows_may_be_misspelt_too() {
        let folder = tempfile::tempdir().unwrap();
        let models = VectorModels::new([VectorModel { name: "words".to_owned(), dimensions: 2 }]);
        let index = EdgeIndex::open(folder.path(), models).unwrap();
        let dense = vec![Embedding { model: "words".to_owned(), vector: vec![1.0, 0.0] }];
        let dessert = Point { dense, ..point(1, 1, "a dessert of sugar") };
        index.upsert(&Tenant::of(USER.0), vec![dessert]).unwrap();
        let unindexed = UnindexedDocuments::default();
        let index = LibraryIndex::new(&index, &unindexed);
        for (knows, understood_from) in [(Some(true), Some(0.0)), (Some(false), None), (None, Some(0.5))] {
            let model = WordEmbedder(knows);
            for (text, expected) in [("desert", (true, understood_from)), ("sugar", (false, None))] {
                let query = SearchQuery { query: ParsedQuery::of_text(text), ..heron_query() };

                let found = search(&index, Some(&model), None, USER, &query).unwrap();

                // It is near in meaning to everything.
                assert_eq!(found.hits.len(), 1);
                assert_eq!((found.may_be_misspelt, found.understood_from), expected, "{text} {knows:?}");
            }
        }
    }

    #[test]
    fn hits_of_another_user_are_never_ranked() {
        let folder = tempfile::tempdir().unwrap();
        let index = EdgeIndex::open(folder.path(), VectorModels::default()).unwrap();
        index.upsert(&Tenant::of(USER.0), vec![point(1, 1, "heron")]).unwrap();
        let query = heron_query();
        assert_eq!(search_index(&index, USER, &query).unwrap().hits.len(), 1);

        index.upsert(&Tenant::of(Uuid::from_u128(8)), vec![point(2, 2, "heron")]).unwrap();

        let found = search_index(&index, USER, &query).unwrap();
        assert_eq!(found.hits.iter().map(|hit| hit.chunk.0.as_u128()).collect::<Vec<_>>(), [1]);
    }
}
