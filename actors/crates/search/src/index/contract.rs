//! The contract of every passage index, as functions that test any of them. [`contract_tests`] makes tests of all.

mod model_rules;

use std::collections::HashMap;

use uuid::Uuid;
use values::kind::ContentType;

pub use model_rules::*;

use super::{
    DocumentSet, Embedding, Filter, Hit, HybridHits, IndexError, IndexQuery, Labels, Language, PassageIndex,
    Point, Source, SparseVector, Tenant, VectorModel, VectorModels,
};

/// Makes a test of every rule of the contract. `$with_index` is a function that calls a rule with a new, empty index with [`models`]:
/// `fn with_index(rule: fn(&dyn PassageIndex))`.
macro_rules! contract_tests {
    ($with_index:path) => {
        $crate::index::contract::contract_tests!(
            $with_index;
            search_returns_lexical_and_dense_hits_best_first,
            query_without_a_known_word_finds_nothing,
            tenants_are_isolated,
            second_tenant_changes_no_hit_of_the_first,
            documents_are_those_of_the_tenant,
            documents_of_hits_are_those_that_are_looked_up,
            word_frequencies_are_those_of_the_tenant,
            term_scores_bound_the_scores_of_passages,
            term_scores_ignore_the_filter_and_the_depth,
            term_scores_are_those_of_the_tenant,
            all_conditions_of_a_filter_must_hold,
            filter_names_the_documents_that_match_or_do_not,
            named_documents_match_whatever_their_labels,
            updating_labels_keeps_vectors,
            updating_labels_keeps_the_language_of_each_passage,
            deleting_a_document_keeps_the_given_version,
            writes_are_idempotent,
            embedding_may_be_added_later,
            vector_of_the_wrong_length_is_refused,
            vectors_of_two_models_are_searched_separately,
            vectors_are_set_beside_those_of_another_model,
            vectors_are_set_for_passages_of_the_tenant_alone,
            vector_of_an_unknown_model_is_refused,
            added_model_gets_vectors_beside_the_others,
            deleted_model_leaves_words_and_other_vectors,
            languages_include_those_added_later,
            languages_are_those_of_the_tenant,
            depth_bounds_hits_of_each_search,
            passages_are_listed_compared_and_deleted_by_id,
            passages_are_read_as_they_were_added,
        );
    };
    ($with_index:path; $($rule:ident),* $(,)?) => {
        $(
            #[test]
            fn $rule() {
                $with_index($crate::index::contract::$rule);
            }
        )*
    };
}

pub(crate) use contract_tests;

/// Length of the vectors of the model `a`, which most of these tests use.
pub const DIMENSIONS: usize = 4;

/// The models of a tested index: `a` and `b`, which has shorter vectors.
pub fn models() -> VectorModels {
    let model = |name: &str, dimensions| VectorModel { name: name.to_owned(), dimensions };
    VectorModels::new([model("a", DIMENSIONS), model("b", DIMENSIONS - 1)])
}

/// An embedding of the model `a`.
pub fn embedding(vector: Vec<f32>) -> Embedding {
    Embedding { model: "a".to_owned(), vector }
}

/// An id made of a number.
pub fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

/// Returns the tenant of user 1.
pub fn tenant() -> Tenant {
    Tenant::of(id(1))
}

/// A passage whose id, document and only word are this number.
pub fn point(number: u32) -> Point {
    Point {
        id: id(number.into()),
        document: id(number.into()),
        version: 1,
        labels: Labels { source: Source::Bookmarks, feed: None, content_type: ContentType::Article },
        language: Language::English,
        sparse: words(&[number]),
        dense: Vec::new(),
    }
}

/// These words, all of the same weight.
pub fn words(words: &[u32]) -> SparseVector {
    SparseVector { indices: words.to_vec(), values: vec![1.0; words.len()] }
}

/// A query of one word.
pub fn word_query(word: u32) -> IndexQuery {
    IndexQuery { sparse: words(&[word]), depth: 10, ..IndexQuery::default() }
}

/// A query that finds every passage with an embedding.
pub fn dense_query() -> IndexQuery {
    IndexQuery { dense: Some(embedding(vec![1.0; DIMENSIONS])), depth: 10, ..IndexQuery::default() }
}

/// Returns the ids that both searches find, the lexical ones first.
pub fn found_ids(index: &dyn PassageIndex, tenant: &Tenant, query: &IndexQuery) -> Vec<Uuid> {
    let hits = index.search(tenant, query).unwrap();
    hits.lexical.iter().chain(&hits.dense).map(|hit| hit.id).collect()
}

/// Returns the languages of a tenant, in the order of their variants.
pub fn sorted_languages(index: &dyn PassageIndex, tenant: &Tenant) -> Vec<Language> {
    let mut languages = index.languages(tenant).unwrap();
    languages.sort_unstable();
    languages
}

/// Words and embeddings find passages, each in a separate list and best first.
pub fn search_returns_lexical_and_dense_hits_best_first(index: &dyn PassageIndex) {
    let near = Point { dense: vec![embedding(vec![1.0, 0.0, 0.0, 0.0])], sparse: words(&[7, 8]), ..point(1) };
    let far = Point { dense: vec![embedding(vec![0.6, 0.8, 0.0, 0.0])], sparse: words(&[8]), ..point(2) };
    index.upsert(&tenant(), vec![far, near]).unwrap();

    let query = IndexQuery {
        dense: Some(embedding(vec![2.0, 0.0, 0.0, 0.0])),
        sparse: words(&[7, 8]),
        ..word_query(7)
    };
    let hits = index.search(&tenant(), &query).unwrap();

    assert_eq!(hits.lexical.iter().map(|hit| hit.id).collect::<Vec<_>>(), [id(1), id(2)]);
    assert!(hits.lexical.iter().all(|hit| hit.score > 0.0));
    let Hit { score, .. } = hits.dense[1];
    assert!((hits.dense[0].score - 1.0).abs() < 1e-3 && (score - 0.6).abs() < 1e-3);
}

/// A query without words and embedding finds nothing, nor does a word that is in no passage of the tenant.
pub fn query_without_a_known_word_finds_nothing(index: &dyn PassageIndex) {
    index.upsert(&tenant(), vec![point(1)]).unwrap();

    assert!(found_ids(index, &tenant(), &IndexQuery { depth: 10, ..IndexQuery::default() }).is_empty());
    assert!(found_ids(index, &tenant(), &word_query(2)).is_empty());
    assert!(found_ids(index, &Tenant::of(id(2)), &word_query(1)).is_empty());
}

/// A tenant neither sees nor changes the passages of another, even by their ids (row T4).
pub fn tenants_are_isolated(index: &dyn PassageIndex) {
    let (mine, other) = (tenant(), Tenant::of(id(2)));
    index.upsert(&mine, vec![point(1)]).unwrap();

    index.upsert(&other, vec![Point { sparse: words(&[9]), ..point(1) }]).unwrap();
    index.update_labels(&other, id(1), &Labels { source: Source::Feeds, ..point(1).labels }).unwrap();
    index.delete_document(&other, id(1), None).unwrap();
    index.delete_tenant(&other).unwrap();

    assert_eq!(found_ids(index, &mine, &word_query(1)), [id(1)]);
    let bookmarks = Filter { source: Some(Source::Bookmarks), ..Filter::default() };
    assert_eq!(found_ids(index, &mine, &IndexQuery { filter: bookmarks, ..word_query(1) }), [id(1)]);
    assert_eq!(index.count().unwrap(), 1);
    assert!(index.languages(&other).unwrap().is_empty());
}

/// A tenant whose passages are alone in the index finds the same as beside another tenant, and never a passage of the other. Passages
/// that were deleted count for nothing in either case.
pub fn second_tenant_changes_no_hit_of_the_first(index: &dyn PassageIndex) {
    let (mine, other) = (tenant(), Tenant::of(id(2)));
    let vector = |n: u32| vec![1.0, f32::from(u8::try_from(n).unwrap()) / 50.0, 0.0, 0.0];
    let passage = |n: u32| Point {
        sparse: words(&[n % 3, 7, 100 + n]),
        dense: vec![embedding(vector(n % 40))],
        ..point(n)
    };
    index.upsert(&mine, (1..=30).map(passage).collect()).unwrap();
    index.delete_document(&mine, id(4), None).unwrap();
    index.delete_passages(&[id(9)]).unwrap();
    let query =
        IndexQuery { dense: Some(embedding(vector(3))), sparse: words(&[1, 7, 103]), ..word_query(7) };
    let alone = index.search(&mine, &query).unwrap();
    assert_eq!(index.search(&other, &query).unwrap(), HybridHits::default());

    index.upsert(&other, (200..=230).map(passage).collect()).unwrap();

    assert_eq!(index.search(&mine, &query).unwrap(), alone);
    assert_eq!(alone.lexical.len(), 10);
    let hits = index.search(&other, &query).unwrap();
    assert!(hits.lexical.iter().chain(&hits.dense).all(|hit| hit.id >= id(200)));
}

/// The documents of passages are looked up for passages of the tenant that the index holds.
pub fn documents_are_those_of_the_tenant(index: &dyn PassageIndex) {
    index.upsert(&tenant(), vec![Point { document: id(90), ..point(1) }, point(2), point(3)]).unwrap();
    index.upsert(&Tenant::of(id(2)), vec![point(4)]).unwrap();
    index.delete_passages(&[id(3)]).unwrap();

    let found = index.find_documents(&tenant(), &[id(1), id(2), id(3), id(4), id(5)]).unwrap();

    assert_eq!(found, HashMap::from([(id(1), id(90)), (id(2), id(2))]));
    assert!(index.find_documents(&tenant(), &[]).unwrap().is_empty());
}

/// The documents that come with the hits of a search are those that are looked up, and of hits alone.
pub fn documents_of_hits_are_those_that_are_looked_up(index: &dyn PassageIndex) {
    let passage = |number| Point { document: id(90), sparse: words(&[9]), ..point(number) };
    let embedded = Point { dense: vec![embedding(vec![1.0; DIMENSIONS])], ..point(3) };
    index.upsert(&tenant(), vec![passage(1), passage(2), embedded]).unwrap();
    let query = IndexQuery { dense: Some(embedding(vec![1.0; DIMENSIONS])), ..word_query(9) };

    let hits = index.search(&tenant(), &query).unwrap();

    let known: Vec<Uuid> = hits.documents.keys().copied().collect();
    assert_eq!(hits.documents, index.find_documents(&tenant(), &known).unwrap());
    assert!(known.iter().all(|passage| hits.lexical.iter().chain(&hits.dense).any(|hit| hit.id == *passage)));
}

/// The inverse document frequency of a word counts the passages of the tenant only.
pub fn word_frequencies_are_those_of_the_tenant(index: &dyn PassageIndex) {
    let library = |from: u32| (from..from + 5).map(|n| Point { sparse: words(&[7, n]), ..point(n) });
    let score = || index.search(&tenant(), &word_query(100)).unwrap().lexical[0].score;
    index.upsert(&tenant(), library(100).collect()).unwrap();
    let before = score();

    index
        .upsert(&Tenant::of(id(2)), library(200).map(|p| Point { sparse: words(&[100]), ..p }).collect())
        .unwrap();

    assert!((score() - before).abs() < 1e-6);
}

/// The score of a term is the best score of a query of this term alone, 0 if no passage has it, and a passage with the best of several
/// terms scores their sum. Terms change no hit.
pub fn term_scores_bound_the_scores_of_passages(index: &dyn PassageIndex) {
    let heavy = SparseVector { indices: vec![7, 8], values: vec![1.0, 2.0] };
    let light = SparseVector { indices: vec![7, 9], values: vec![0.5, 1.0] };
    let passages = [heavy, light, words(&[9]), words(&[10])];
    let passages = (1..).zip(passages).map(|(number, sparse)| Point { sparse, ..point(number) });
    index.upsert(&tenant(), passages.collect()).unwrap();
    let plain = IndexQuery { sparse: words(&[7, 8]), depth: 10, ..IndexQuery::default() };
    // The last but one has two words, which are spellings of one term.
    let terms =
        [words(&[7]), words(&[11]), words(&[8]), SparseVector::default(), words(&[9, 11]), words(&[8])];

    let hits = index.search(&tenant(), &IndexQuery { terms: terms.to_vec(), ..plain.clone() }).unwrap();

    let alone = |term: &SparseVector| {
        let query = IndexQuery { sparse: term.clone(), depth: 10, ..IndexQuery::default() };
        index.search(&tenant(), &query).unwrap().lexical.first().map_or(0.0, |hit| hit.score)
    };
    assert_eq!(hits.term_scores.len(), terms.len());
    for (score, term) in hits.term_scores.iter().zip(&terms) {
        assert!((score - alone(term)).abs() < 1e-5, "{term:?}: {score}");
    }
    assert_eq!((hits.term_scores[1], hits.term_scores[3]), (0.0, 0.0));
    assert!((hits.lexical[0].score - hits.term_scores[0] - hits.term_scores[2]).abs() < 1e-5);
    assert_eq!(hits.lexical, index.search(&tenant(), &plain).unwrap().lexical);
}

/// The score of a term is that of the best passage of the tenant, also if the filter excludes this passage or nothing is wanted but terms.
pub fn term_scores_ignore_the_filter_and_the_depth(index: &dyn PassageIndex) {
    let weighted = |weight| SparseVector { indices: vec![9], values: vec![weight] };
    let passages = (1..=3).zip([1.0, 2.0, 0.5]).map(|(n, w)| Point { sparse: weighted(w), ..point(n) });
    index.upsert(&tenant(), passages.collect()).unwrap();
    let query = IndexQuery { terms: vec![words(&[9])], depth: 1, ..IndexQuery::default() };
    let filter = Filter { documents: DocumentSet::Only(vec![id(3)]), ..Filter::default() };

    let alone = index.search(&tenant(), &query).unwrap();
    let filtered = index.search(&tenant(), &IndexQuery { filter, ..word_query(9) }).unwrap();
    let both = IndexQuery {
        sparse: words(&[9]),
        filter: Filter { documents: DocumentSet::Only(vec![id(3)]), ..Filter::default() },
        ..query
    };
    let both = index.search(&tenant(), &both).unwrap();

    assert!(alone.lexical.is_empty() && alone.term_scores[0] > 0.0);
    assert_eq!((&both.lexical, &both.term_scores), (&filtered.lexical, &alone.term_scores));
    assert!(both.lexical[0].score < both.term_scores[0]);
}

/// Passages of another tenant neither have the terms of a tenant nor change their scores.
pub fn term_scores_are_those_of_the_tenant(index: &dyn PassageIndex) {
    let (mine, other) = (tenant(), Tenant::of(id(2)));
    index.upsert(&mine, (1..=5).map(|n| Point { sparse: words(&[7, n]), ..point(n) }).collect()).unwrap();
    let query = IndexQuery { terms: vec![words(&[2]), words(&[40])], ..word_query(7) };
    let before = index.search(&mine, &query).unwrap().term_scores;

    let heavy = SparseVector { indices: vec![2, 40], values: vec![9.0, 9.0] };
    let others = (40..=60).map(|n| Point { sparse: heavy.clone(), ..point(n) });
    index.upsert(&other, others.collect()).unwrap();

    let after = index.search(&mine, &query).unwrap().term_scores;
    assert!((after[0] - before[0]).abs() < 1e-6 && before[0] > 0.0);
    assert_eq!((before[1], after[1]), (0.0, 0.0));
}

/// Every condition of a filter restricts the hits, and all that are given must hold.
pub fn all_conditions_of_a_filter_must_hold(index: &dyn PassageIndex) {
    let labels = point(1).labels;
    let pdf = Point { labels: Labels { content_type: ContentType::Pdf, ..labels.clone() }, ..point(1) };
    let fed = Point { labels: Labels { source: Source::Feeds, feed: Some(id(61)), ..labels }, ..point(2) };
    add_with_word_9(index, vec![pdf, fed, point(3)]);
    let with = |filter: Filter| ids_within(index, filter);
    let any = Filter::default;

    assert_eq!(with(any()), [id(1), id(2), id(3)]);
    assert_eq!(with(Filter { source: Some(Source::Bookmarks), ..any() }), [id(1), id(3)]);
    assert_eq!(with(Filter { source: Some(Source::Feeds), ..any() }), [id(2)]);
    assert_eq!(with(Filter { content_type: Some(ContentType::Pdf), ..any() }), [id(1)]);
    assert_eq!(with(Filter { content_type: Some(ContentType::Article), ..any() }), [id(2), id(3)]);
    assert_eq!(with(Filter { feed: Some(id(61)), ..any() }), [id(2)]);
    let fed_pdf = Filter { source: Some(Source::Feeds), content_type: Some(ContentType::Pdf), ..any() };
    assert!(with(fed_pdf).is_empty());
    let saved_article = Filter {
        source: Some(Source::Bookmarks),
        content_type: Some(ContentType::Article),
        documents: DocumentSet::Only(vec![id(1), id(2), id(3)]),
        ..any()
    };
    assert_eq!(with(saved_article), [id(3)]);
}

/// A set of documents restricts both searches: to its documents, or to all others of the tenant.
pub fn filter_names_the_documents_that_match_or_do_not(index: &dyn PassageIndex) {
    let passages = (1..=4).map(|n| Point { document: id((90 + n / 2).into()), ..point(n) });
    add_with_word_9(index, passages.collect());
    // Alone in the index the tenant is searched without a condition; a second tenant changes nothing.
    for other in [false, true] {
        if other {
            let foreign = Point { document: id(91), sparse: words(&[9]), ..point(50) };
            index.upsert(&Tenant::of(id(2)), vec![foreign]).unwrap();
        }
        let with = |documents| ids_within(index, Filter { documents, ..Filter::default() });

        assert_eq!(with(DocumentSet::All), [id(1), id(2), id(3), id(4)]);
        assert_eq!(with(DocumentSet::Only(vec![id(91), id(99)])), [id(2), id(3)]);
        assert!(with(DocumentSet::Only(Vec::new())).is_empty());
        assert_eq!(with(DocumentSet::Except(vec![id(91), id(99)])), [id(1), id(4)]);
        assert_eq!(with(DocumentSet::Except(Vec::new())), [id(1), id(2), id(3), id(4)]);
    }
    let embedded = (1..=4).map(|n| Point { dense: vec![embedding(vec![1.0; DIMENSIONS])], ..point(n) });
    index.upsert(&tenant(), embedded.collect()).unwrap();
    let filter = Filter { documents: DocumentSet::Except(vec![id(2), id(3)]), ..Filter::default() };
    let mut found = found_ids(index, &tenant(), &IndexQuery { filter, ..dense_query() });
    found.sort();
    assert_eq!(found, [id(1), id(4)]);
}

/// Named documents match whatever their labels, if they are in the set of documents and of the tenant.
pub fn named_documents_match_whatever_their_labels(index: &dyn PassageIndex) {
    let fed = Labels { source: Source::Feeds, feed: Some(id(61)), ..point(1).labels };
    let passages = (1..=4).map(|n| match n {
        1 => point(n),
        _ => Point { labels: fed.clone(), ..point(n) },
    });
    add_with_word_9(index, passages.collect());
    index.upsert(&Tenant::of(id(2)), vec![Point { sparse: words(&[9]), ..point(50) }]).unwrap();
    let bookmarks = || Filter {
        source: Some(Source::Bookmarks),
        or_documents: vec![id(2), id(3), id(50)],
        ..Filter::default()
    };
    let with = |filter: Filter| ids_within(index, filter);

    assert_eq!(with(bookmarks()), [id(1), id(2), id(3)]);
    let documents = DocumentSet::Only(vec![id(1), id(3), id(4)]);
    assert_eq!(with(Filter { documents, ..bookmarks() }), [id(1), id(3)]);
    let documents = DocumentSet::Except(vec![id(3)]);
    assert_eq!(with(Filter { documents, ..bookmarks() }), [id(1), id(2)]);
    // Without labels to match they restrict nothing.
    assert_eq!(with(Filter { source: None, ..bookmarks() }), [id(1), id(2), id(3), id(4)]);
}

/// Adds these passages of the tenant, each with word 9 alone.
fn add_with_word_9(index: &dyn PassageIndex, passages: Vec<Point>) {
    let passages = passages.into_iter().map(|point| Point { sparse: words(&[9]), ..point });
    index.upsert(&tenant(), passages.collect()).unwrap();
}

/// Returns the passages of the tenant with word 9 that pass the filter, in the order of their ids.
fn ids_within(index: &dyn PassageIndex, filter: Filter) -> Vec<Uuid> {
    let mut ids = found_ids(index, &tenant(), &IndexQuery { filter, ..word_query(9) });
    ids.sort();
    ids
}

/// The labels of a document change without its words and its embedding.
pub fn updating_labels_keeps_vectors(index: &dyn PassageIndex) {
    let labels = Labels { feed: Some(id(61)), ..point(1).labels };
    index
        .upsert(&tenant(), vec![Point { labels, dense: vec![embedding(vec![1.0; DIMENSIONS])], ..point(1) }])
        .unwrap();

    let moved = Labels { content_type: ContentType::Pdf, ..point(1).labels };
    index.update_labels(&tenant(), id(1), &moved).unwrap();

    let within = |filter: Filter| found_ids(index, &tenant(), &IndexQuery { filter, ..word_query(1) });
    assert_eq!(within(Filter { content_type: Some(ContentType::Pdf), ..Filter::default() }), [id(1)]);
    assert!(within(Filter { content_type: Some(ContentType::Article), ..Filter::default() }).is_empty());
    assert!(within(Filter { feed: Some(id(61)), ..Filter::default() }).is_empty());
    assert_eq!(found_ids(index, &tenant(), &dense_query()), [id(1)]);
}

/// New labels replace the former ones of every passage of the document, of no other document, and leave the languages as they are. A
/// document without passages has none to change.
pub fn updating_labels_keeps_the_language_of_each_passage(index: &dyn PassageIndex) {
    let labels = Labels { feed: Some(id(61)), ..point(1).labels };
    let languages = [Language::German, Language::Thai, Language::German, Language::Other];
    let passages = (1..).zip(languages).map(|(number, language)| Point {
        document: id(if number < 4 { 90 } else { 91 }),
        labels: labels.clone(),
        language,
        sparse: words(&[9]),
        ..point(number)
    });
    index.upsert(&tenant(), passages.collect()).unwrap();

    let moved = Labels { source: Source::Feeds, feed: None, content_type: ContentType::Audio };
    index.update_labels(&tenant(), id(90), &moved).unwrap();
    index.update_labels(&tenant(), id(92), &moved).unwrap();

    let within = |filter: Filter| ids_within(index, filter);
    let any = Filter::default;
    for moved in [
        Filter { source: Some(Source::Feeds), ..any() },
        Filter { content_type: Some(ContentType::Audio), ..any() },
    ] {
        assert_eq!(within(moved), [id(1), id(2), id(3)]);
    }
    for left in [
        Filter { source: Some(Source::Bookmarks), ..any() },
        Filter { content_type: Some(ContentType::Article), ..any() },
        Filter { feed: Some(id(61)), ..any() },
    ] {
        assert_eq!(within(left), [id(4)]);
    }
    assert_eq!(sorted_languages(index, &tenant()), [Language::German, Language::Thai, Language::Other]);
}

/// Two versions of a document coexist until one is deleted.
pub fn deleting_a_document_keeps_the_given_version(index: &dyn PassageIndex) {
    let of_version =
        |number, version| Point { document: id(90), version, sparse: words(&[9]), ..point(number) };
    index.upsert(&tenant(), vec![of_version(1, 1), of_version(2, 1), point(4)]).unwrap();
    index.upsert(&tenant(), vec![of_version(3, 2)]).unwrap();

    index.delete_document(&tenant(), id(90), Some(2)).unwrap();
    assert_eq!(found_ids(index, &tenant(), &word_query(9)), [id(3)]);
    assert_eq!((index.count().unwrap(), found_ids(index, &tenant(), &word_query(4))), (2, vec![id(4)]));

    index.delete_document(&tenant(), id(90), None).unwrap();
    assert!(found_ids(index, &tenant(), &word_query(9)).is_empty());
    assert_eq!(index.count().unwrap(), 1);
}

/// Repeating a write changes nothing.
pub fn writes_are_idempotent(index: &dyn PassageIndex) {
    for _ in 0..2 {
        index.upsert(&tenant(), vec![point(1), point(2)]).unwrap();
    }
    assert_eq!((index.count().unwrap(), index.estimate_count().unwrap()), (2, 2));
    for _ in 0..2 {
        index.delete_document(&tenant(), id(1), None).unwrap();
    }
    assert_eq!(index.count().unwrap(), 1);
    for _ in 0..2 {
        index.delete_tenant(&tenant()).unwrap();
    }
    assert_eq!((index.count().unwrap(), index.estimate_count().unwrap()), (0, 0));
}

/// A passage without an embedding is found by its words only, until it is upserted with one.
pub fn embedding_may_be_added_later(index: &dyn PassageIndex) {
    index.upsert(&tenant(), vec![point(1), point(2)]).unwrap();
    assert!(found_ids(index, &tenant(), &dense_query()).is_empty());

    index
        .upsert(&tenant(), vec![Point { dense: vec![embedding(vec![1.0; DIMENSIONS])], ..point(2) }])
        .unwrap();

    assert_eq!(found_ids(index, &tenant(), &dense_query()), [id(2)]);
    assert_eq!(found_ids(index, &tenant(), &word_query(2)), [id(2)]);
}

/// A vector of the wrong length is refused, and nothing is written.
pub fn vector_of_the_wrong_length_is_refused(index: &dyn PassageIndex) {
    let odd = Point { dense: vec![embedding(vec![1.0; DIMENSIONS + 1])], ..point(2) };

    let refused = index.upsert(&tenant(), vec![point(1), odd]).unwrap_err();

    assert!(matches!(refused, IndexError::Dimension { expected: DIMENSIONS, actual: 5 }));
    assert_eq!(index.count().unwrap(), 0);
    let query = IndexQuery { dense: Some(embedding(vec![1.0])), depth: 1, ..IndexQuery::default() };
    assert!(matches!(index.search(&tenant(), &query), Err(IndexError::Dimension { .. })));
}

/// The languages of a tenant include those of passages that were added after the first query of them.
pub fn languages_include_those_added_later(index: &dyn PassageIndex) {
    assert!(index.languages(&tenant()).unwrap().is_empty());
    index.upsert(&tenant(), vec![Point { language: Language::German, ..point(1) }]).unwrap();
    assert_eq!(index.languages(&tenant()).unwrap(), [Language::German]);
}

/// The languages of a tenant are the language labels of its own passages; a label of another kind is no language.
pub fn languages_are_those_of_the_tenant(index: &dyn PassageIndex) {
    // More labels than there are languages.
    let feeds = (100..140).map(|number| Point {
        labels: Labels { source: Source::Feeds, feed: Some(id(number.into())), ..point(1).labels },
        language: Language::Thai,
        ..point(number)
    });
    index.upsert(&tenant(), feeds.chain([point(1)]).collect()).unwrap();
    index.upsert(&Tenant::of(id(2)), vec![Point { language: Language::Dutch, ..point(3) }]).unwrap();

    assert_eq!(sorted_languages(index, &tenant()), [Language::English, Language::Thai]);
    assert_eq!(sorted_languages(index, &Tenant::of(id(2))), [Language::Dutch]);
    assert!(index.languages(&Tenant::of(id(3))).unwrap().is_empty());
}

/// Neither search has more hits than the depth of the query.
pub fn depth_bounds_hits_of_each_search(index: &dyn PassageIndex) {
    index.upsert(&tenant(), (1..20).map(|n| Point { sparse: words(&[9]), ..point(n) }).collect()).unwrap();
    assert_eq!(found_ids(index, &tenant(), &IndexQuery { depth: 3, ..word_query(9) }).len(), 3);
}

/// Passages of all users are listed in pages, and compared and deleted by their ids.
pub fn passages_are_listed_compared_and_deleted_by_id(index: &dyn PassageIndex) {
    let all = |from| index.list_passages(from, 2).unwrap();
    index.upsert(&tenant(), vec![point(1), point(3)]).unwrap();
    index.upsert(&Tenant::of(id(2)), vec![point(2)]).unwrap();

    let first = all(None);
    assert_eq!((first.ids, first.next), (vec![id(1), id(2)], Some(id(3))));
    let last = all(Some(id(3)));
    assert_eq!((last.ids, last.next), (vec![id(3)], None));
    assert_eq!(index.find_missing(&[id(1), id(4), id(2), id(5)]).unwrap(), [id(4), id(5)]);

    index.delete_passages(&[id(1), id(2), id(9)]).unwrap();
    assert_eq!(index.find_missing(&[id(1), id(2), id(3)]).unwrap(), [id(1), id(2)]);
    assert!(found_ids(index, &tenant(), &word_query(1)).is_empty());
}

/// Passages of all users are read in pages, with their owners, vectors and attributes as they were added.
pub fn passages_are_read_as_they_were_added(index: &dyn PassageIndex) {
    let labels = Labels { source: Source::Feeds, feed: Some(id(61)), content_type: ContentType::Pdf };
    let complete = Point {
        document: id(90),
        version: 3,
        labels,
        language: Language::Thai,
        sparse: SparseVector { indices: vec![7, 9], values: vec![0.5, 2.0] },
        // Of length 1, to which vectors are scaled when they are stored.
        dense: vec![embedding(vec![0.6, 0.8, 0.0, 0.0]), embedding_b([0.0, 0.6, 0.8])],
        ..point(1)
    };
    let of_b = Point { dense: vec![embedding_b([0.0, 1.0, 0.0])], ..point(2) };
    let other = Tenant::of(id(2));
    index.upsert(&tenant(), vec![complete.clone(), point(3)]).unwrap();
    index.upsert(&other, vec![of_b.clone()]).unwrap();

    let first = index.read_points(None, 2).unwrap();
    assert_eq!(first.points, [(tenant(), complete), (other, of_b)]);
    assert_eq!((first.unreadable, first.next), (0, Some(id(3))));
    let last = index.read_points(first.next, 2).unwrap();
    assert_eq!((last.points, last.unreadable, last.next), (vec![(tenant(), point(3))], 0, None));
    let count = |tenant: &Tenant| index.count_of(tenant).unwrap();
    assert_eq!([count(&tenant()), count(&other), count(&Tenant::of(id(3)))], [2, 1, 0]);
}
