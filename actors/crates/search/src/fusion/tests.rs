//! Tests of the fusion of rankings.

use proptest::prelude::*;

use super::*;

const FULL_WEIGHT: QueryWeight = QueryWeight::FULL;

/// The attainable BM25 of the query.
const ATTAINABLE: f32 = 10.0;

fn hybrid(lexical: Vec<Hit>, dense: Vec<Hit>) -> HybridHits {
    HybridHits { lexical, dense, ..HybridHits::default() }
}

fn hit(number: u128, score: f32) -> Hit {
    Hit { id: Uuid::from_u128(number), score }
}

/// Ranks hits of different documents.
fn rank(hits: &HybridHits, weight: QueryWeight, limit: usize) -> Vec<RankedPassage> {
    rank_within(hits, weight, limit, |id| id)
}

fn rank_within(
    hits: &HybridHits,
    weight: QueryWeight,
    limit: usize,
    document_of: impl Fn(Uuid) -> Uuid,
) -> Vec<RankedPassage> {
    let find = |ids: &[Uuid]| Ok::<_, ()>(ids.iter().map(|id| (*id, document_of(*id))).collect());
    limit_per_document(&fuse(hits, weight, ATTAINABLE), limit, find).unwrap()
}

/// The document of a passage in generated hits: there are eight of them.
fn generated_document(id: Uuid) -> Uuid {
    Uuid::from_u128(1_000 + id.as_u128() * 7 % 8)
}

fn numbers(ranked: &[RankedPassage]) -> Vec<u128> {
    ranked.iter().map(|found| found.id.as_u128()).collect()
}

#[test]
fn deeper_search_may_find_more_while_the_worst_hit_is_a_result() {
    let more = |lexical: usize, dense: &[f32]| {
        let lexical = (1..).take(lexical).map(|number| hit(number, 1.0)).collect();
        let dense = (11..).zip(dense).map(|(number, score)| hit(number, *score)).collect();
        may_have_more(&hybrid(lexical, dense), 2, FULL_WEIGHT)
    };

    assert!(!more(0, &[]) && !more(1, &[0.9]));
    assert!(more(2, &[]) && more(0, &[0.9, 0.9]));
    assert!(!more(0, &[0.9, 0.0]), "what is further away is no result");
}

#[test]
fn passage_of_both_legs_ranks_first() {
    let hits =
        hybrid(vec![hit(1, 9.0), hit(2, 8.0), hit(3, 2.0)], vec![hit(4, 0.8), hit(2, 0.7), hit(5, 0.1)]);
    assert_eq!(numbers(&rank(&hits, FULL_WEIGHT, 3)), [2, 1, 4]);
}

#[test]
fn ranking_without_dense_leg_is_the_lexical_one() {
    let hits = hybrid(vec![hit(3, 9.0), hit(1, 8.0), hit(2, 2.0)], Vec::new());
    assert_eq!(numbers(&rank(&hits, FULL_WEIGHT, 9)), [3, 1, 2]);
}

#[test]
fn score_depends_on_no_other_hit_but_those_above() {
    let best = hit(1, ATTAINABLE);
    let alone = rank(&hybrid(vec![best], Vec::new()), FULL_WEIGHT, 9);
    let weak: Vec<Hit> = (2..=30).map(|n| hit(n, 0.2 * ATTAINABLE)).collect();
    let weak_alone = rank(&hybrid(weak.clone(), Vec::new()), FULL_WEIGHT, 9);

    let together = rank(&hybrid([vec![best], weak].concat(), Vec::new()), FULL_WEIGHT, 9);

    assert!(alone[0].score >= 0.75 && weak_alone[0].score < 0.5);
    assert_eq!((together[0].score, together[1].score), (alone[0].score, weak_alone[0].score));
}

#[test]
fn score_is_lowered_to_that_of_the_passage_above() {
    // Ranked first because both searches found it, although the second has a better score by its meaning.
    let hits = hybrid(vec![hit(1, 1.0)], vec![hit(2, 0.6), hit(1, 0.3)]);
    let ranked = rank(&hits, FULL_WEIGHT, 9);

    assert_eq!(numbers(&ranked), [1, 2]);
    assert!(ranked[1].relevance.score() > ranked[0].score);
    assert_eq!(ranked[1].score, ranked[0].score);
}

#[test]
fn distant_passages_without_the_word_are_no_results() {
    let lexical = (1..=5).map(|n| hit(n, 3.0)).collect();
    let hits = hybrid(lexical, (1..=9).map(|n| hit(n, 0.4)).collect());
    let mut found = numbers(&rank(&hits, FULL_WEIGHT, 20));
    found.sort_unstable();
    assert_eq!(found, [1, 2, 3, 4, 5]);
}

#[test]
fn near_passage_without_the_words_is_a_result() {
    let hits = hybrid(Vec::new(), vec![hit(1, 0.6), hit(2, 0.3)]);
    assert_eq!(numbers(&rank(&hits, FULL_WEIGHT, 20)), [1]);
}

#[test]
fn passage_is_no_result_by_meaning_without_dense_weight() {
    let hits = hybrid(Vec::new(), vec![hit(1, 0.7)]);

    assert!(rank(&hits, QueryWeight::new(0.0), 20).is_empty());
    assert_eq!(rank(&hits, QueryWeight::new(0.5), 20).len(), 1);
}

#[test]
fn document_has_three_passages_at_most() {
    let lexical: Vec<_> = (1..=6).map(|number| hit(number, 9.0)).chain([hit(9, 1.0)]).collect();
    let hits = hybrid(lexical, Vec::new());
    let document_of = |id: Uuid| if id.as_u128() == 9 { id } else { Uuid::from_u128(77) };
    assert_eq!(numbers(&rank_within(&hits, FULL_WEIGHT, 20, document_of)), [1, 2, 3, 9]);
    // Two ranks are looked up at first, and the rest only because they are of one document.
    assert_eq!(numbers(&rank_within(&hits, FULL_WEIGHT, 1, document_of)), [1]);
    assert_eq!(numbers(&rank_within(&hits, FULL_WEIGHT, 4, document_of)), [1, 2, 3, 9]);
}

#[test]
fn passages_without_a_document_are_replaced_by_the_next() {
    let hits = hybrid((1..=9).map(|n| hit(n, 9.0)).collect(), Vec::new());
    let find = |ids: &[Uuid]| {
        let is_known = |id: &&Uuid| id.as_u128() > 5;
        Ok::<_, ()>(ids.iter().filter(is_known).map(|id| (*id, *id)).collect())
    };

    let ranked = limit_per_document(&fuse(&hits, FULL_WEIGHT, ATTAINABLE), 2, find).unwrap();

    assert_eq!(numbers(&ranked), [6, 7]);
}

#[test]
fn documents_of_passages_that_are_not_shown_are_not_read() {
    let hits = hybrid((1..=100).map(|n| hit(n, 9.0)).collect(), Vec::new());
    let mut read = 0;
    let find = |ids: &[Uuid]| {
        read += ids.len();
        Ok::<_, ()>(ids.iter().map(|id| (*id, *id)).collect())
    };

    assert_eq!(limit_per_document(&fuse(&hits, FULL_WEIGHT, ATTAINABLE), 8, find).unwrap().len(), 8);
    assert_eq!(read, 16);
}

#[test]
fn best_passage_of_a_document_takes_the_place_of_its_metadata() {
    let document_of = |id: Uuid| Uuid::from_u128(id.as_u128() % 10);
    let ranked_of = |ids: &[u128], limit| {
        let lexical = ids.iter().zip((1..=9u8).rev()).map(|(id, score)| hit(*id, f32::from(score)));
        numbers(&rank_within(&hybrid(lexical.collect(), Vec::new()), FULL_WEIGHT, limit, document_of))
    };

    assert_eq!(ranked_of(&[1, 12, 11, 21, 31, 41], 9), [11, 12, 21, 31], "it is none of the three");
    assert_eq!(ranked_of(&[11, 1, 12], 9), [11, 12]);
    assert_eq!(ranked_of(&[1, 12, 11], 2), [11, 12], "it takes no place of the limit");
    assert_eq!(ranked_of(&[1, 12], 9), [1, 12], "a document without a text has no other passage");
}

#[test]
fn lexical_hits_of_one_document_need_depth() {
    let hits = hybrid((1..=100).map(|n| hit(n, 1.0)).collect(), Vec::new());
    assert!(needs_deeper_search(&hits, 100, 3, 8));
    assert!(!needs_deeper_search(&hits, 100, 8, 8));
    assert!(!needs_deeper_search(&hits, 200, 3, 8));
}

fn any_hits(scores: std::ops::Range<f32>) -> impl Strategy<Value = Vec<Hit>> {
    proptest::collection::btree_map(0..40u128, scores, 0..30).prop_map(|hits| {
        let mut hits: Vec<_> = hits.into_iter().map(|(id, score)| hit(id, score)).collect();
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits
    })
}

proptest! {
    #[test]
    fn any_hits_make_a_ranking(lexical in any_hits(0.01..60.0), dense in any_hits(-1.0..1.0), weight in 0.0..=1.0f32, limit in 0..25usize) {
        let hits = hybrid(lexical, dense);
        let ranked = rank_within(&hits, QueryWeight::new(weight), limit, generated_document);

        prop_assert!(ranked.len() <= limit);
        prop_assert!(ranked.is_sorted_by(|a, b| a.score >= b.score));
        prop_assert!(ranked.iter().all(|found| (0.0..=1.0).contains(&found.score)));
        let mut ids = numbers(&ranked);
        ids.sort_unstable();
        prop_assert!(ids.is_sorted_by(|a, b| a < b));
        prop_assert_eq!(rank_within(&hits, QueryWeight::new(weight), limit, generated_document), ranked.clone());
        // As if all documents were known at once.
        let mut counts = HashMap::new();
        let all = fuse(&hits, QueryWeight::new(weight), ATTAINABLE).into_iter().filter(|passage| {
            let count = counts.entry(generated_document(passage.id)).or_insert(0);
            *count += 1;
            *count <= MAX_PASSAGES_PER_DOCUMENT
        });
        let all: Vec<u128> = all.take(limit).map(|passage| passage.id.as_u128()).collect();
        prop_assert_eq!(numbers(&ranked), all);
    }

    #[test]
    fn every_document_with_a_word_match_is_a_result(lexical in any_hits(0.01..60.0), dense in any_hits(-1.0..1.0), weight in 0.0..=1.0f32) {
        let documents: std::collections::HashSet<_> =
            lexical.iter().map(|hit| generated_document(hit.id)).collect();
        let hits = hybrid(lexical, dense);
        let found = rank_within(&hits, QueryWeight::new(weight), 1_000, generated_document);
        prop_assert!(documents.iter().all(|document| found.iter().any(|found| found.document == *document)));
    }
}

#[test]
fn passage_without_an_embedding_is_neither_near_nor_far() {
    let lexical = vec![hit(1, 9.0), hit(2, 4.0), hit(3, 3.0)];
    let dense = vec![hit(2, 0.7), hit(4, 0.6), hit(3, 0.5)];
    let first = |hits: &HybridHits| fuse(hits, FULL_WEIGHT, ATTAINABLE).first().map(|passage| passage.id);
    let mut hits = HybridHits { lexical, dense, ..HybridHits::default() };
    assert_eq!(first(&hits), Some(Uuid::from_u128(2)));

    hits.unembedded.insert(Uuid::from_u128(1));

    assert_eq!(first(&hits), Some(Uuid::from_u128(1)));
}

#[test]
fn several_terms_lower_the_cut_of_the_measured_model_alone() {
    let dense = vec![hit(1, 0.5), hit(2, 0.4), hit(3, 0.36)];
    let mut hits = HybridHits { dense, term_scores: vec![0.0; 3], ..HybridHits::default() };
    let found = |hits: &HybridHits| fuse(hits, FULL_WEIGHT, ATTAINABLE).len();
    let may_have_more = |hits: &HybridHits| may_have_more(hits, 2, FULL_WEIGHT);
    assert_eq!((found(&hits), may_have_more(&hits)), (2, true));

    hits.is_converted = true;

    assert_eq!((found(&hits), may_have_more(&hits)), (1, false));
    assert!(hits.first(2).is_converted);
}
