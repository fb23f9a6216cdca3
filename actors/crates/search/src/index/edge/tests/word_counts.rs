//! The counts of words always equal a recount, and searches with them find what searches without them find.

use proptest::prelude::*;

use super::*;
use crate::index::query::Hit;

fn other() -> Tenant {
    Tenant::of(id(2))
}

/// Lets a tenant search, and counts the words of those who have.
fn count(index: &EdgeIndex, tenant: &Tenant) {
    index.search(tenant, &word_query(1)).unwrap();
    index.maintain().unwrap();
}

/// Drops the counts of a tenant and counts again: the number of passages, and of passages with each word.
fn recount(index: &EdgeIndex, tenant: &Tenant) -> Option<(usize, Vec<(u32, u32)>)> {
    index.word_counts.forget(tenant);
    assert!(index.word_counts.weigh(tenant, &word_query(1)).is_none());
    index.count_words();
    index.word_counts.counted(tenant)
}

/// A passage of one of four documents.
fn passage(number: u32, version: i64, words_of: &[u32]) -> Point {
    Point { document: id(u128::from(number % 4) + 50), version, sparse: words(words_of), ..point(number) }
}

/// An index with passages 1 to 6 of the tenant and 11 to 16 of the other one, whose words are counted.
fn counted_index(folder: &Path) -> EdgeIndex {
    let index = EdgeIndex::open(folder, models()).unwrap();
    let of =
        |from: u32| (from..from + 6).map(|n| passage(n, 1, &[1, n % 3 + 2, n + 100])).collect::<Vec<_>>();
    index.upsert(&tenant(), of(1)).unwrap();
    index.upsert(&other(), of(11)).unwrap();
    count(&index, &tenant());
    count(&index, &other());
    assert!(index.word_counts.is_counted(&tenant()) && index.word_counts.is_counted(&other()));
    index
}

type Deletion = fn(&EdgeIndex);

/// A write of passages.
#[derive(Clone, Debug)]
enum Change {
    Upsert { by_other: bool, passages: Vec<(u32, i64, Vec<u32>)> },
    DeleteDocument { by_other: bool, document: u128, keep: Option<i64> },
    DeletePassages(Vec<u32>),
    DeleteTenant { is_other: bool },
    Search { by_other: bool },
    Unload,
}

impl Change {
    fn apply(&self, index: &EdgeIndex) {
        let writer = |by_other: bool| if by_other { other() } else { tenant() };
        match self {
            Self::Upsert { by_other, passages } => {
                let points = passages.iter().map(|(n, version, words)| passage(*n, *version, words));
                index.upsert(&writer(*by_other), points.collect()).unwrap();
            }
            Self::DeleteDocument { by_other, document, keep } => {
                index.delete_document(&writer(*by_other), id(*document), *keep).unwrap();
            }
            Self::DeletePassages(numbers) => {
                let ids: Vec<Uuid> = numbers.iter().map(|n| id((*n).into())).collect();
                index.delete_passages(&ids).unwrap();
            }
            Self::DeleteTenant { is_other } => index.delete_tenant(&writer(*is_other)).unwrap(),
            Self::Search { by_other } => count(index, &writer(*by_other)),
            Self::Unload => {
                index.unload_unused(Duration::ZERO).unwrap();
            }
        }
    }
}

fn changes() -> impl Strategy<Value = Change> {
    let words = prop::collection::btree_set(1_u32..9, 0..4).prop_map(Vec::from_iter);
    let passages = prop::collection::vec((1_u32..20, 1_i64..4, words), 1..5);
    prop_oneof![
        6 => (any::<bool>(), passages).prop_map(|(by_other, passages)| Change::Upsert { by_other, passages }),
        3 => (any::<bool>(), 50_u128..54, prop::option::of(1_i64..4))
            .prop_map(|(by_other, document, keep)| Change::DeleteDocument { by_other, document, keep }),
        2 => prop::collection::vec(1_u32..20, 1..4).prop_map(Change::DeletePassages),
        1 => any::<bool>().prop_map(|is_other| Change::DeleteTenant { is_other }),
        2 => any::<bool>().prop_map(|by_other| Change::Search { by_other }),
        1 => Just(Change::Unload),
    ]
}

proptest! {
    // Each case opens an index.
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 100, ..ProptestConfig::default() })]
    #[test]
    fn counts_are_those_that_counting_anew_gives(changes in prop::collection::vec(changes(), 1..12)) {
        let folder = tempfile::tempdir().unwrap();
        let index = counted_index(folder.path());
        for change in &changes {
            change.apply(&index);
            for tenant in [tenant(), other()] {
                if let Some(kept) = index.word_counts.counted(&tenant) {
                    prop_assert_eq!(Some(kept), recount(&index, &tenant), "after {:?}", change);
                }
            }
        }
    }
}

#[test]
fn writes_keep_the_counts() {
    let folder = tempfile::tempdir().unwrap();
    let index = counted_index(folder.path());

    index.upsert(&tenant(), vec![passage(1, 2, &[7, 8]), passage(7, 1, &[7]), passage(7, 1, &[8])]).unwrap();
    // It stays the passage of the other tenant.
    index.upsert(&tenant(), vec![passage(11, 1, &[9])]).unwrap();
    index.delete_document(&tenant(), id(52), None).unwrap();
    index.delete_passages(&[id(4), id(12)]).unwrap();

    // The passages 1, 3, 5 and 7 are left.
    let kept = index.word_counts.counted(&tenant()).unwrap();
    assert_eq!(kept, (4, vec![(1, 2), (2, 1), (4, 1), (7, 1), (8, 2), (103, 1), (105, 1)]));
    assert_eq!(Some(kept), recount(&index, &tenant()));
    assert_eq!(index.word_counts.counted(&other()).unwrap().0, 5);
}

#[test]
fn counted_tenant_finds_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let index = counted_index(folder.path());
    let query = IndexQuery {
        sparse: words(&[1, 2, 4, 106]),
        terms: vec![words(&[1]), words(&[9, 106])],
        ..word_query(1)
    };
    let near = |a: f32, b: f32| (a - b).abs() < 1e-5;

    let counted = index.search(&tenant(), &query).unwrap();
    index.word_counts.forget_all();
    let gathered = index.search(&tenant(), &query).unwrap();

    let ids = |hits: &[Hit]| hits.iter().map(|hit| hit.id).collect::<Vec<_>>();
    assert_eq!(counted.lexical.len(), 6);
    // Those of equal scores may change their places by a rounding.
    let scores = counted.lexical.iter().zip(&gathered.lexical);
    assert!(scores.clone().all(|(a, b)| near(a.score, b.score)), "{counted:?} {gathered:?}");
    assert_eq!(ids(&counted.lexical[..1]), ids(&gathered.lexical[..1]));
    assert!(counted.term_scores.iter().zip(&gathered.term_scores).all(|(a, b)| near(*a, *b)));
    assert!(counted.term_scores[0] > 0.0);
}

#[test]
fn reloaded_or_unloaded_index_has_no_counts_until_a_search() {
    let folder = tempfile::tempdir().unwrap();
    let index = counted_index(folder.path());

    index.shard.block();
    index.upsert(&tenant(), vec![point(90)]).unwrap();
    assert!(!index.word_counts.is_any_counted());
    count(&index, &tenant());
    assert_eq!(index.word_counts.counted(&tenant()).unwrap().0, 7);

    assert!(index.unload_unused(Duration::ZERO).unwrap());
    assert!(!index.word_counts.is_any_counted());
    assert!(!index.maintain().unwrap() && index.shard.is_unloaded(), "nothing loads it but a request");
}

#[test]
fn tenant_is_alone_and_not_counted_once_others_are_gone() {
    let folder = tempfile::tempdir().unwrap();
    let index = EdgeIndex::open(folder.path(), models()).unwrap();
    index.upsert(&tenant(), vec![point(1), point(2)]).unwrap();
    count(&index, &tenant());
    assert!(!index.word_counts.is_any_counted());
    let is_sole = || {
        index.search(&tenant(), &word_query(1)).unwrap();
        index.tenants.is_sole_owner(&tenant())
    };

    let deletions: [Deletion; 3] = [
        |index| index.delete_tenant(&other()).unwrap(),
        |index| index.delete_document(&other(), id(3), None).unwrap(),
        |index| index.delete_passages(&[id(3)]).unwrap(),
    ];
    for delete in deletions {
        index.upsert(&other(), vec![point(3)]).unwrap();
        assert!(!is_sole());
        delete(&index);
        assert!(is_sole());
    }
    index.upsert(&other(), vec![point(3)]).unwrap();
    index.delete_document(&other(), id(3), None).unwrap();
    drop(index);
    let index = EdgeIndex::open(folder.path(), models()).unwrap();
    index.search(&tenant(), &word_query(1)).unwrap();
    assert!(index.tenants.is_sole_owner(&tenant()));
}
