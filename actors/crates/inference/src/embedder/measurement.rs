//! Measures the scale of the cosine similarities of a model: those of made-up queries and sentences about different things, which have
//! nothing in common.

mod sentences;

use super::{EmbedError, calibration::Calibration};
use sentences::SENTENCES;

/// Number of made-up queries.
const QUERIES: usize = 48;
const MAX_WORDS: usize = 3;
/// Syllables of made-up words, which belong to no language.
const SYLLABLES: [&str; 24] = [
    "ba", "dru", "fen", "gol", "hix", "jam", "kev", "lor", "miv", "nuz", "ost", "pra", "quil", "rud", "sto",
    "tve", "ulm", "vex", "wol", "xan", "yip", "zor", "chi", "thu",
];

/// Standard deviations between the mean similarity of unrelated texts and the minimum of a result. A normal distribution exceeds it once in
/// 17 million times: a library has many passages for each query, and none of them is to be a result of a made-up one.
const MIN_DEVIATIONS: f32 = 5.3;
/// Minimum distance of the two points of a calibration, so that rounding errors do not count.
const MIN_WIDTH: f32 = 0.01;

/// Measures the scale of a model from the vectors that it computes of about a hundred short texts.
///
/// # Errors
/// The error of the model.
pub(super) fn measure(
    embed_queries: impl FnOnce(&[&str]) -> Result<Vec<Vec<f32>>, EmbedError>,
    embed_passages: impl FnOnce(&[&str]) -> Result<Vec<Vec<f32>>, EmbedError>,
) -> Result<Calibration, EmbedError> {
    let queries = made_up_queries();
    let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
    let (queries, sentences) = (embed_queries(&queries)?, embed_passages(&SENTENCES)?);
    Ok(calibration_of(cosines(&queries, &sentences)))
}

/// Returns made-up queries of one to three words, always the same.
fn made_up_queries() -> Vec<String> {
    // A linear congruential generator with the constants of Knuth's MMIX.
    let mut state = 24_u64;
    let mut next = move |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap_or_default() % bound
    };
    let mut word = move || -> String {
        let syllables = 2 + next(2);
        (0..syllables).filter_map(|_| SYLLABLES.get(next(SYLLABLES.len()))).copied().collect()
    };
    (0..QUERIES)
        .map(|number| (0..=number % MAX_WORDS).map(|_| word()).collect::<Vec<_>>().join(" "))
        .collect()
}

/// Returns the cosine similarity of each query with each sentence.
fn cosines(queries: &[Vec<f32>], sentences: &[Vec<f32>]) -> Vec<f32> {
    let of_query = |query: &Vec<f32>| -> Vec<f32> {
        let cosine = |sentence: &Vec<f32>| query.iter().zip(sentence).map(|(a, b)| a * b).sum::<f32>();
        sentences.iter().map(cosine).collect()
    };
    queries.iter().flat_map(of_query).collect()
}

/// Returns the calibration of a model whose similarities of unrelated texts are these.
fn calibration_of(mut cosines: Vec<f32>) -> Calibration {
    cosines.sort_unstable_by(f32::total_cmp);
    let count = to_f32(cosines.len().max(1));
    let mean = cosines.iter().sum::<f32>() / count;
    let variance = cosines.iter().map(|cosine| (cosine - mean).powi(2)).sum::<f32>() / count;
    let highest = cosines.last().copied().unwrap_or(mean);
    let unrelated_cosine = cosines.get(cosines.len() * 9 / 10).copied().unwrap_or(mean);
    // Above all that were measured, if they are no normal distribution.
    let min_cosine = (mean + MIN_DEVIATIONS * variance.sqrt()).max(highest).max(unrelated_cosine + MIN_WIDTH);
    Calibration { unrelated_cosine, min_cosine }
}

#[expect(clippy::cast_precision_loss, reason = "a count of a few thousand")]
fn to_f32(count: usize) -> f32 {
    count as f32
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn made_up_queries_are_different_and_always_the_same() {
        let queries = made_up_queries();

        assert_eq!(queries, made_up_queries());
        assert_eq!(queries.iter().collect::<HashSet<_>>().len(), QUERIES);
        assert!(queries.iter().all(|query| (1..=MAX_WORDS).contains(&query.split(' ').count())));
        assert_eq!(SENTENCES.iter().collect::<HashSet<_>>().len(), SENTENCES.len());
    }

    #[test]
    fn minimum_is_above_all_similarities_of_unrelated_texts() {
        let normal = (0..1_000_u16).map(|number| 0.7 + 0.1 * f32::from(number) / 1_000.0);
        let calibration = calibration_of(normal.clone().collect());
        assert!((calibration.unrelated_cosine - 0.79).abs() < 1e-3, "{calibration:?}");
        assert!((0.89..0.92).contains(&calibration.min_cosine), "{calibration:?}");

        let with_outlier = calibration_of(normal.chain([0.95]).collect());
        assert!(with_outlier.min_cosine >= 0.95);
    }

    #[test]
    fn constant_similarities_make_a_valid_calibration() {
        let Calibration { unrelated_cosine, min_cosine } = calibration_of(vec![1.0; 100]);

        assert!(min_cosine > unrelated_cosine && min_cosine > 1.0);
    }
}
