//! Tests of the scores. The anchors are what the score means, so other constants must meet them too.

use proptest::prelude::*;

use super::*;

/// Cosine similarity of a passage of the same subject, and of one of another.
const RELATED_COSINE: f32 = 0.5;
const UNRELATED_COSINE: f32 = 0.25;

/// A passage that only the lexical search judges.
fn by_words(share: f32) -> Relevance {
    Relevance::of(
        RetrievalMeasures { bm25_share: Some(share), cosine: None, max_missing_cosine: 0.0, terms: 1 },
        0.0,
    )
}

fn by_both(share: f32, cosine: f32) -> Relevance {
    let measures = RetrievalMeasures {
        bm25_share: Some(share),
        cosine: Some(cosine),
        max_missing_cosine: 0.0,
        terms: 1,
    };
    Relevance::of(measures, 1.0)
}

fn by_meaning(cosine: f32, dense_weight: f32) -> Relevance {
    let measures =
        RetrievalMeasures { bm25_share: None, cosine: Some(cosine), max_missing_cosine: 0.0, terms: 1 };
    Relevance::of(measures, dense_weight)
}

/// The share of a passage that has these terms once each. The best passages of a term have it often.
fn share_of_single_words(best: &[f32], of_passage: usize) -> f32 {
    let weights = weigh_terms(best, best.len());
    let bm25: f32 = best.iter().take(of_passage).map(|score| score / 1.6).sum();
    bm25_share(bm25, weights.iter().sum())
}

#[test]
fn passage_with_the_only_rare_word_scores_high() {
    let share = bm25_share(7.5, weigh_terms(&[7.5], 1).iter().sum());

    assert!(by_words(share).score() >= 0.75);
    assert!(by_both(share, UNRELATED_COSINE).score() >= 0.75);
}

#[test]
fn passage_with_all_of_three_words_scores_high() {
    let share = share_of_single_words(&[6.0, 5.0, 4.0], 3);

    assert!(by_words(share).score() >= 0.75);
    assert!(by_both(share, RELATED_COSINE).score() >= 0.75);
}

#[test]
fn passage_with_the_commonest_of_three_words_scores_low() {
    // Even as the best passage of this word.
    let share = bm25_share(3.0, weigh_terms(&[6.0, 4.0, 3.0], 3).iter().sum());

    assert!(by_words(share).score() <= 0.4);
    assert!(by_both(share, UNRELATED_COSINE).score() <= 0.4);
}

#[test]
fn known_word_beside_a_made_up_one_is_noise() {
    for best in [[0.0, 3.0], [7.0, 0.0]] {
        let bm25: f32 = best.iter().sum();
        let share = bm25_share(bm25, weigh_terms(&best, 2).iter().sum());
        assert!((share - 0.5).abs() < 1e-6);

        assert!(by_words(share).score_with_text(0.5, TitleMatch::None) < 0.5);
        // Made-up phrases reach this cosine.
        assert!(by_both(share, 0.41).score_with_text(0.5, TitleMatch::None) < 0.5);
    }
}

#[test]
fn passage_without_a_word_is_a_result_from_the_cut_on() {
    assert!((by_meaning(0.42, 1.0).score() - 0.35).abs() < 1e-4);
    assert!(by_meaning(0.42, 1.0).is_result() && !by_meaning(0.4199, 1.0).is_result());
    assert!(by_meaning(0.58, 0.5).is_result() && !by_meaning(0.56, 0.5).is_result());
    assert!(!by_meaning(1.0, 0.0).is_result());
    assert!(by_meaning(0.6, 1.0).score() > 0.5 && by_meaning(0.45, 1.0).score() < 0.5);
    assert!(by_words(0.0).is_result());
}

#[test]
fn query_of_several_words_has_a_lower_cut() {
    let by_meaning_of = |cosine: f32, terms: usize| {
        let measures =
            RetrievalMeasures { bm25_share: None, cosine: Some(cosine), max_missing_cosine: 0.0, terms };
        Relevance::of(measures, 1.0)
    };

    for (terms, is_result) in [(0, false), (1, false), (2, false), (3, true), (12, true)] {
        assert_eq!(by_meaning_of(0.38, terms).is_result(), is_result, "{terms}");
        // What unrelated texts reach.
        assert!(!by_meaning_of(0.36, terms).is_result());
    }
    assert!((by_meaning_of(0.37, 3).score() - 0.35).abs() < 1e-4);
}

#[test]
fn exact_title_scores_near_one() {
    for relevance in [by_words(0.3), by_words(0.0), by_both(0.3, UNRELATED_COSINE), by_meaning(0.42, 1.0)] {
        assert!(relevance.score_with_text(1.0, TitleMatch::Exact) >= 0.95, "{relevance:?}");
        assert!(relevance.score_with_text(0.0, TitleMatch::Exact) >= 0.95, "{relevance:?}");
    }
}

#[test]
fn passage_of_another_date_is_noise() {
    let measures = |lacks_number| ScoreMeasures {
        relevance: by_both(0.6, 0.9),
        coverage: 0.5,
        title: TitleMatch::Share(0.6),
        lacks_number,
    };
    assert!(measures(true).score() < 0.5 && measures(false).score() > 0.8);
}

#[test]
fn passage_out_of_the_dense_leg_is_as_near_as_its_last_hit() {
    let of = |cosine, max_missing_cosine| {
        Relevance::of(RetrievalMeasures { bm25_share: Some(0.4), cosine, max_missing_cosine, terms: 1 }, 1.0)
            .score()
    };
    assert!((of(None, 0.3) - of(Some(0.3), 0.0)).abs() < 1e-6);
    // Its own nearness is unknown, so it is not judged by meaning alone.
    assert!(of(None, 0.7) < of(Some(0.7), 0.0));
}

#[test]
fn unknown_terms_weigh_as_much_as_the_rarest() {
    assert_eq!(weigh_terms(&[2.0, 0.0, 4.0], 3), [2.0, 4.0, 4.0]);
    assert_eq!(weigh_terms(&[2.0, 4.0], 4), [2.0, 4.0, 3.0, 3.0]);
    assert_eq!(weigh_terms(&[0.0, 0.0], 3), [1.0, 1.0, 1.0]);
    assert_eq!(weigh_terms(&[], 0), [0.0; 0]);
    assert_eq!(bm25_share(3.0, 0.0), 0.0);
    assert_eq!(bm25_share(9.0, 4.0), 1.0);
}

#[test]
fn scores_are_lowered_to_fall() {
    let mut scores = [0.8, 0.9, 0.3, 0.5, 0.1];
    lower_to_falling(scores.iter_mut());
    assert_eq!(scores, [0.8, 0.8, 0.3, 0.3, 0.1]);
}

proptest! {
    #[test]
    fn more_of_any_measure_never_lowers_a_score(
        share in 0.0..1.0f32, cosine in -1.0..1.0f32, weight in 0.0..=1.0f32, coverage in 0.0..1.0f32, title in 0.01..1.0f32, more in 0.0..1.0f32,
    ) {
        let of = |share, cosine, coverage, title| {
            let measures = RetrievalMeasures { bm25_share: Some(share), cosine: Some(cosine), max_missing_cosine: 0.0, terms: 1 };
            Relevance::of(measures, weight).score_with_text(coverage, title)
        };
        let towards = |from: f32, to: f32| from + more * (to - from);
        let share_of = TitleMatch::Share;
        let low = of(share, cosine, coverage, share_of(title)) - 1e-6;
        prop_assert!(of(towards(share, 1.0), cosine, coverage, share_of(title)) >= low);
        prop_assert!(of(share, towards(cosine, 1.0), coverage, share_of(title)) >= low);
        prop_assert!(of(share, cosine, towards(coverage, 1.0), share_of(title)) >= low);
        prop_assert!(of(share, cosine, coverage, share_of(towards(title, 1.0))) >= low);
        prop_assert!(of(share, cosine, coverage, TitleMatch::Exact) >= low);
        prop_assert!(of(share, cosine, coverage, TitleMatch::None) <= low + 2e-6);
    }

    #[test]
    fn shared_word_never_lowers_a_score(share in 0.0..1.0f32, cosine in -1.0..1.0f32, weight in 0.01..=1.0f32, coverage in 0.0..1.0f32) {
        let of = |bm25_share| {
            let measures = RetrievalMeasures { bm25_share, cosine: Some(cosine), max_missing_cosine: 0.0, terms: 1 };
            Relevance::of(measures, weight).score_with_text(coverage, TitleMatch::None)
        };
        prop_assert!(of(Some(share)) >= of(None));
    }

    #[test]
    fn every_score_is_from_zero_to_one(
        share in proptest::option::of(0.0..=1.0f32), cosine in proptest::option::of(-1.0..=1.0f32), weight in 0.0..=1.0f32,
        coverage in 0.0..=1.0f32,
    ) {
        let relevance = Relevance::of(RetrievalMeasures { bm25_share: share, cosine, max_missing_cosine: 0.3, terms: 1 }, weight);
        for title in [TitleMatch::None, TitleMatch::Share(0.5), TitleMatch::Exact] {
            prop_assert!((0.0..=1.0).contains(&relevance.score_with_text(coverage, title)));
        }
    }
}
