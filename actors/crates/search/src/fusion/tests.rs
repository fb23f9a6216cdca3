//! Tests of the fusion of rankings.

use proptest::prelude::*;

use super::*;

fn known(all: usize) -> WordPieceCounts {
    WordPieceCounts { all, unknown: 0 }
}

const FULL_WEIGHT: DenseWeight = DenseWeight(1.0);

fn hit(number: u128, score: f32) -> Hit {
    Hit { id: Uuid::from_u128(number), score }
}

/// Ranks hits of different documents.
fn rank(hits: &HybridHits, weight: DenseWeight, limit: usize) -> Vec<RankedPassage> {
    rank_within(hits, weight, limit, |id| id)
}

fn rank_within(
    hits: &HybridHits,
    weight: DenseWeight,
    limit: usize,
    document_of: impl Fn(Uuid) -> Uuid,
) -> Vec<RankedPassage> {
    let find = |ids: &[Uuid]| Ok::<_, ()>(ids.iter().map(|id| (*id, document_of(*id))).collect());
    limit_per_document(&fuse(hits, weight), limit, find).unwrap()
}

/// The document of a passage in generated hits: there are eight of them.
fn generated_document(id: Uuid) -> Uuid {
    Uuid::from_u128(1_000 + id.as_u128() * 7 % 8)
}

fn numbers(ranked: &[RankedPassage]) -> Vec<u128> {
    ranked.iter().map(|found| found.id.as_u128()).collect()
}

#[test]
fn passage_of_both_legs_ranks_first() {
    let hits = HybridHits {
        lexical: vec![hit(1, 9.0), hit(2, 8.0), hit(3, 2.0)],
        dense: vec![hit(4, 0.8), hit(2, 0.7), hit(5, 0.1)],
    };
    assert_eq!(numbers(&rank(&hits, FULL_WEIGHT, 3)), [2, 1, 4]);
}

#[test]
fn ranking_without_dense_leg_is_the_lexical_one() {
    let hits = HybridHits { lexical: vec![hit(3, 9.0), hit(1, 8.0), hit(2, 2.0)], dense: Vec::new() };
    assert_eq!(numbers(&rank(&hits, FULL_WEIGHT, 9)), [3, 1, 2]);
}

#[test]
fn distant_passages_without_the_word_are_no_results() {
    let hits = HybridHits {
        lexical: (1..=5).map(|n| hit(n, 3.0)).collect(),
        dense: (1..=9).map(|n| hit(n, 0.4)).collect(),
    };
    let mut found = numbers(&rank(&hits, FULL_WEIGHT, 20));
    found.sort_unstable();
    assert_eq!(found, [1, 2, 3, 4, 5]);
}

#[test]
fn near_passage_without_the_words_is_a_result() {
    let hits = HybridHits { lexical: Vec::new(), dense: vec![hit(1, 0.6), hit(2, 0.3)] };
    assert_eq!(numbers(&rank(&hits, FULL_WEIGHT, 20)), [1]);
}

#[test]
fn word_that_the_model_spells_out_has_no_dense_weight() {
    let hits = HybridHits { lexical: Vec::new(), dense: vec![hit(1, 0.7)] };
    assert!(rank(&hits, DenseWeight::for_query("zebu3fa91c0d", known(8)), 20).is_empty());
    assert!(rank(&hits, DenseWeight::for_query("东京塔在哪里", known(6)), 20).is_empty());
    assert!(rank(&hits, DenseWeight::for_query("kubernetes", known(3)), 20).len() == 1);
    assert_eq!(DenseWeight::for_query("how do I make bread at home", known(7)), FULL_WEIGHT);
    assert_eq!(DenseWeight::for_query("?!", known(2)), FULL_WEIGHT);
    // As the tokenizer counts them: actors/crates/inference/src/embedder/tests.rs.
    for (query, all, unknown) in [("🚗", 1, 1), ("🚗🚗 🐜", 2, 2), ("ትምህርት ቤት", 2, 2)] {
        assert!(!DenseWeight::for_query(query, WordPieceCounts { all, unknown }).is_positive(), "{query}");
    }
    for (query, all, unknown) in [("ants 🐜", 2, 1), ("a car 🚗🚗🚗🚗", 3, 1)] {
        assert!(DenseWeight::for_query(query, WordPieceCounts { all, unknown }).admits(0.5), "{query}");
    }
}

#[test]
fn document_has_three_passages_at_most() {
    let lexical: Vec<_> = (1..=6).map(|number| hit(number, 9.0)).chain([hit(9, 1.0)]).collect();
    let hits = HybridHits { lexical, dense: Vec::new() };
    let document_of = |id: Uuid| if id.as_u128() == 9 { id } else { Uuid::from_u128(77) };
    assert_eq!(numbers(&rank_within(&hits, FULL_WEIGHT, 20, document_of)), [1, 2, 3, 9]);
    // Two ranks are looked up at first, and the rest only because they are of one document.
    assert_eq!(numbers(&rank_within(&hits, FULL_WEIGHT, 1, document_of)), [1]);
    assert_eq!(numbers(&rank_within(&hits, FULL_WEIGHT, 4, document_of)), [1, 2, 3, 9]);
}

#[test]
fn passages_without_a_document_are_replaced_by_the_next() {
    let hits = HybridHits { lexical: (1..=9).map(|n| hit(n, 9.0)).collect(), dense: Vec::new() };
    let find = |ids: &[Uuid]| {
        let is_known = |id: &&Uuid| id.as_u128() > 5;
        Ok::<_, ()>(ids.iter().filter(is_known).map(|id| (*id, *id)).collect())
    };

    let ranked = limit_per_document(&fuse(&hits, FULL_WEIGHT), 2, find).unwrap();

    assert_eq!(numbers(&ranked), [6, 7]);
}

#[test]
fn documents_of_passages_that_are_not_shown_are_not_read() {
    let hits = HybridHits { lexical: (1..=100).map(|n| hit(n, 9.0)).collect(), dense: Vec::new() };
    let mut read = 0;
    let find = |ids: &[Uuid]| {
        read += ids.len();
        Ok::<_, ()>(ids.iter().map(|id| (*id, *id)).collect())
    };

    assert_eq!(limit_per_document(&fuse(&hits, FULL_WEIGHT), 8, find).unwrap().len(), 8);
    assert_eq!(read, 16);
}

#[test]
fn lexical_leg_full_of_one_document_needs_depth() {
    let hits = HybridHits { lexical: (1..=100).map(|n| hit(n, 1.0)).collect(), dense: Vec::new() };
    assert!(needs_deeper_search(&hits, 100, 3, 8));
    assert!(!needs_deeper_search(&hits, 100, 8, 8));
    assert!(!needs_deeper_search(&hits, 200, 3, 8));
}

fn leg(scores: std::ops::Range<f32>) -> impl Strategy<Value = Vec<Hit>> {
    proptest::collection::btree_map(0..40u128, scores, 0..30).prop_map(|hits| {
        let mut hits: Vec<_> = hits.into_iter().map(|(id, score)| hit(id, score)).collect();
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits
    })
}

proptest! {
    #[test]
    fn any_hits_make_a_ranking(lexical in leg(0.01..60.0), dense in leg(-1.0..1.0), weight in 0.0..=1.0f32, limit in 0..25usize) {
        let hits = HybridHits { lexical, dense };
        let ranked = rank_within(&hits, DenseWeight(weight), limit, generated_document);

        prop_assert!(ranked.len() <= limit);
        prop_assert!(ranked.is_sorted_by(|a, b| a.score >= b.score));
        prop_assert!(ranked.iter().all(|found| (0.0..=1.0).contains(&found.score)));
        let mut ids = numbers(&ranked);
        ids.sort_unstable();
        prop_assert!(ids.is_sorted_by(|a, b| a < b));
        prop_assert_eq!(rank_within(&hits, DenseWeight(weight), limit, generated_document), ranked.clone());
        // As if all documents were known at once.
        let mut counts = HashMap::new();
        let all = fuse(&hits, DenseWeight(weight)).into_iter().filter(|passage| {
            let count = counts.entry(generated_document(passage.id)).or_insert(0);
            *count += 1;
            *count <= MAX_PASSAGES_PER_DOCUMENT
        });
        let all: Vec<u128> = all.take(limit).map(|passage| passage.id.as_u128()).collect();
        prop_assert_eq!(numbers(&ranked), all);
    }

    #[test]
    fn every_document_with_a_word_match_is_a_result(lexical in leg(0.01..60.0), dense in leg(-1.0..1.0), weight in 0.0..=1.0f32) {
        let documents: std::collections::HashSet<_> =
            lexical.iter().map(|hit| generated_document(hit.id)).collect();
        let hits = HybridHits { lexical, dense };
        let found = rank_within(&hits, DenseWeight(weight), 1_000, generated_document);
        prop_assert!(documents.iter().all(|document| found.iter().any(|found| found.document == *document)));
    }
}
