//! The contract of every passage index, as functions that test any of them. [`contract_tests`] makes tests of all.

use std::collections::HashMap;

use uuid::Uuid;

use super::{
    Filter, Hit, HybridHits, IndexError, IndexQuery, Labels, Language, PassageIndex, Point, Source,
    SparseVector, Tenant,
};

/// Makes a test of every rule of the contract. `$with_index` is a function that calls a rule with a new, empty index whose model has
/// [`DIMENSIONS`]: `fn with_index(rule: fn(&dyn PassageIndex))`.
macro_rules! contract_tests {
    ($with_index:path) => {
        $crate::index::contract::contract_tests!(
            $with_index;
            search_returns_hits_of_both_legs_best_first,
            query_without_a_known_word_finds_nothing,
            tenants_are_isolated,
            second_tenant_changes_no_hit_of_the_first,
            documents_are_those_of_the_tenant,
            word_frequencies_are_those_of_the_tenant,
            all_conditions_of_a_filter_must_hold,
            updating_labels_keeps_vectors,
            updating_labels_keeps_the_language_of_each_passage,
            deleting_a_document_keeps_the_given_version,
            writes_are_idempotent,
            embedding_may_be_added_later,
            vector_of_the_wrong_length_is_refused,
            languages_include_those_added_later,
            languages_are_those_of_the_tenant,
            depth_bounds_the_hits_of_a_leg,
            passages_are_listed_compared_and_deleted_by_id,
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

/// Length of the vectors in these tests.
pub const DIMENSIONS: usize = 4;

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
        labels: Labels { source: Source::Bookmarks, feed: None, collections: Vec::new() },
        language: Language::English,
        sparse: words(&[number]),
        dense: None,
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
    IndexQuery { dense: Some(vec![1.0; DIMENSIONS]), depth: 10, ..IndexQuery::default() }
}

/// Returns the ids that both legs find, the lexical ones first.
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
pub fn search_returns_hits_of_both_legs_best_first(index: &dyn PassageIndex) {
    let near = Point { dense: Some(vec![1.0, 0.0, 0.0, 0.0]), sparse: words(&[7, 8]), ..point(1) };
    let far = Point { dense: Some(vec![0.6, 0.8, 0.0, 0.0]), sparse: words(&[8]), ..point(2) };
    index.upsert(&tenant(), vec![far, near]).unwrap();

    let query = IndexQuery { dense: Some(vec![2.0, 0.0, 0.0, 0.0]), sparse: words(&[7, 8]), ..word_query(7) };
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
    let passage =
        |n: u32| Point { sparse: words(&[n % 3, 7, 100 + n]), dense: Some(vector(n % 40)), ..point(n) };
    index.upsert(&mine, (1..=30).map(passage).collect()).unwrap();
    index.delete_document(&mine, id(4), None).unwrap();
    index.delete_passages(&[id(9)]).unwrap();
    let query = IndexQuery { dense: Some(vector(3)), sparse: words(&[1, 7, 103]), ..word_query(7) };
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

/// Every condition of a filter restricts the hits, and all that are given must hold.
pub fn all_conditions_of_a_filter_must_hold(index: &dyn PassageIndex) {
    let labels = point(1).labels;
    let collected =
        Point { labels: Labels { collections: vec![id(51), id(52)], ..labels.clone() }, ..point(1) };
    let fed = Point { labels: Labels { source: Source::Feeds, feed: Some(id(61)), ..labels }, ..point(2) };
    let all = [collected, fed, point(3)].map(|point| Point { sparse: words(&[9]), ..point });
    index.upsert(&tenant(), all.to_vec()).unwrap();
    let with = |filter: Filter| {
        let mut ids = found_ids(index, &tenant(), &IndexQuery { filter, ..word_query(9) });
        ids.sort();
        ids
    };
    let any = Filter::default;

    assert_eq!(with(any()), [id(1), id(2), id(3)]);
    assert_eq!(with(Filter { source: Some(Source::Bookmarks), ..any() }), [id(1), id(3)]);
    assert_eq!(with(Filter { source: Some(Source::Feeds), ..any() }), [id(2)]);
    assert_eq!(with(Filter { collection: Some(id(52)), ..any() }), [id(1)]);
    assert_eq!(with(Filter { feed: Some(id(61)), ..any() }), [id(2)]);
    assert_eq!(with(Filter { documents: Some(vec![id(2), id(3)]), ..any() }), [id(2), id(3)]);
    assert!(with(Filter { documents: Some(Vec::new()), ..any() }).is_empty());
    assert!(with(Filter { source: Some(Source::Feeds), collection: Some(id(51)), ..any() }).is_empty());
}

/// The labels of a document change without its words and its embedding.
pub fn updating_labels_keeps_vectors(index: &dyn PassageIndex) {
    let labels = Labels { feed: Some(id(61)), collections: vec![id(51)], ..point(1).labels };
    index.upsert(&tenant(), vec![Point { labels, dense: Some(vec![1.0; DIMENSIONS]), ..point(1) }]).unwrap();

    let moved = Labels { collections: vec![id(52)], ..point(1).labels };
    index.update_labels(&tenant(), id(1), &moved).unwrap();

    let within = |filter: Filter| found_ids(index, &tenant(), &IndexQuery { filter, ..word_query(1) });
    assert_eq!(within(Filter { collection: Some(id(52)), ..Filter::default() }), [id(1)]);
    assert!(within(Filter { collection: Some(id(51)), ..Filter::default() }).is_empty());
    assert!(within(Filter { feed: Some(id(61)), ..Filter::default() }).is_empty());
    assert_eq!(found_ids(index, &tenant(), &dense_query()), [id(1)]);
}

/// New labels replace the former ones of every passage of the document, of no other document, and leave the languages as they are. A
/// document without passages has none to change.
pub fn updating_labels_keeps_the_language_of_each_passage(index: &dyn PassageIndex) {
    let labels = Labels { feed: Some(id(61)), collections: vec![id(51)], ..point(1).labels };
    let languages = [Language::German, Language::Thai, Language::German, Language::Other];
    let passages = (1..).zip(languages).map(|(number, language)| Point {
        document: id(if number < 4 { 90 } else { 91 }),
        labels: labels.clone(),
        language,
        sparse: words(&[9]),
        ..point(number)
    });
    index.upsert(&tenant(), passages.collect()).unwrap();

    let moved = Labels { source: Source::Feeds, feed: None, collections: vec![id(52), id(53)] };
    index.update_labels(&tenant(), id(90), &moved).unwrap();
    index.update_labels(&tenant(), id(92), &moved).unwrap();

    let within = |filter: Filter| {
        let mut ids = found_ids(index, &tenant(), &IndexQuery { filter, ..word_query(9) });
        ids.sort();
        ids
    };
    let any = Filter::default;
    for moved in [
        Filter { source: Some(Source::Feeds), ..any() },
        Filter { collection: Some(id(52)), ..any() },
        Filter { collection: Some(id(53)), ..any() },
    ] {
        assert_eq!(within(moved), [id(1), id(2), id(3)]);
    }
    for left in [
        Filter { source: Some(Source::Bookmarks), ..any() },
        Filter { collection: Some(id(51)), ..any() },
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

    index.upsert(&tenant(), vec![Point { dense: Some(vec![1.0; DIMENSIONS]), ..point(2) }]).unwrap();

    assert_eq!(found_ids(index, &tenant(), &dense_query()), [id(2)]);
    assert_eq!(found_ids(index, &tenant(), &word_query(2)), [id(2)]);
}

/// A vector of the wrong length is refused, and nothing is written.
pub fn vector_of_the_wrong_length_is_refused(index: &dyn PassageIndex) {
    let odd = Point { dense: Some(vec![1.0; DIMENSIONS + 1]), ..point(2) };

    let refused = index.upsert(&tenant(), vec![point(1), odd]).unwrap_err();

    assert!(matches!(refused, IndexError::Dimension { expected: DIMENSIONS, actual: 5 }));
    assert_eq!(index.count().unwrap(), 0);
    let query = IndexQuery { dense: Some(vec![1.0]), depth: 1, ..IndexQuery::default() };
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
    let collections = (100..140).map(id).collect();
    let labels = Labels { source: Source::Feeds, feed: Some(id(61)), collections };
    let thai = Point { labels, language: Language::Thai, ..point(2) };
    index.upsert(&tenant(), vec![point(1), thai]).unwrap();
    index.upsert(&Tenant::of(id(2)), vec![Point { language: Language::Dutch, ..point(3) }]).unwrap();

    assert_eq!(sorted_languages(index, &tenant()), [Language::English, Language::Thai]);
    assert_eq!(sorted_languages(index, &Tenant::of(id(2))), [Language::Dutch]);
    assert!(index.languages(&Tenant::of(id(3))).unwrap().is_empty());
}

/// A leg has no more hits than the depth of the query.
pub fn depth_bounds_the_hits_of_a_leg(index: &dyn PassageIndex) {
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
