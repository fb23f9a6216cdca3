//! Compares the words of stored points with those of a query, by BM25 as the index does.

use std::cmp::Ordering;
use std::collections::HashMap;

use search::calibration::{bm25_share, weigh_terms};
use search::index::Language;
use search::lexical::QueryTerm;
use uuid::Uuid;

use super::stored_words::StoredPoint;
use crate::retrieval::unindexed::term_weight;

/// The points that have a word of a query.
#[derive(Debug, Default, PartialEq)]
pub struct RankedPoints {
    /// Passages, those with the largest share of the attainable BM25 first.
    pub passages: Vec<PassageShare>,
    /// The same share of the metadata of documents, by the ids of the documents.
    pub metadata: HashMap<Uuid, f32>,
    /// The weights of all terms.
    pub weights: Vec<f32>,
    /// The languages of the points, each once.
    pub languages: Vec<Language>,
}

/// A passage with its share of the attainable BM25.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PassageShare {
    /// The id of the passage.
    pub id: Uuid,
    /// The id of its document.
    pub document: Uuid,
    /// From 0 to 1.
    pub share: f32,
}

/// Ranks points. `holders` says how many of the `total` points of the user have each of the first terms, at least; those among the points
/// count for the others. Blocks.
pub fn rank(points: &[StoredPoint], terms: &[QueryTerm], holders: &[usize], total: usize) -> RankedPoints {
    let weights_of = |term: &QueryTerm| -> Vec<f32> {
        points.iter().map(|point| term_weight(&term.sparse, &point.words)).collect()
    };
    let columns: Vec<Vec<f32>> = terms.iter().map(weights_of).collect();
    let frequencies: Vec<f32> = columns
        .iter()
        .enumerate()
        .map(|(at, column)| {
            let among_points = column.iter().filter(|weight| **weight > 0.0).count();
            rarity(among_points.max(holders.get(at).copied().unwrap_or(0)), total)
        })
        .collect();
    let best = |(column, rarity): (&Vec<f32>, &f32)| rarity * column.iter().copied().fold(0.0, f32::max);
    let scores: Vec<f32> = columns.iter().zip(&frequencies).map(best).collect();
    let weights = weigh_terms(&scores, terms.len());
    let attainable: f32 = weights.iter().sum();
    let mut ranked = RankedPoints { weights, ..RankedPoints::default() };
    for (at, point) in points.iter().enumerate() {
        let of_words =
            columns.iter().zip(&frequencies).filter_map(|(column, rarity)| Some(rarity * column.get(at)?));
        // The parts of a number, such as a date, find a point, but do not count as the number.
        let of_parts = terms.iter().zip(&frequencies).map(|(term, rarity)| {
            if term.number_parts.is_empty() {
                0.0
            } else {
                rarity * term_weight(&term.number_parts, &point.words)
            }
        });
        let share = bm25_share(of_words.chain(of_parts).sum(), attainable);
        if share <= 0.0 {
            continue;
        }
        if !ranked.languages.contains(&point.language) {
            ranked.languages.push(point.language);
        }
        if point.id == point.document {
            ranked.metadata.insert(point.document, share);
        } else {
            ranked.passages.push(PassageShare { id: point.id, document: point.document, share });
        }
    }
    ranked.passages.sort_by(best_first);
    ranked
}

fn best_first(one: &PassageShare, other: &PassageShare) -> Ordering {
    other.share.total_cmp(&one.share).then_with(|| one.id.cmp(&other.id))
}

/// Returns the inverse document frequency of a word that this many of all points have.
fn rarity(holders: usize, total: usize) -> f32 {
    let (holders, total) = (holders as f32, total.max(holders) as f32);
    (1.0 + (total - holders + 0.5) / (holders + 0.5)).ln()
}

#[cfg(test)]
mod tests {
    use search::lexical;

    use super::*;
    use crate::retrieval::test_library::point;

    fn stored(number: u128, document: u128, text: &str) -> StoredPoint {
        let point = point(number, document, text);
        StoredPoint { id: point.id, document: point.document, language: point.language, words: point.sparse }
    }

    fn ranked(query: &str, points: &[StoredPoint], holders: &[usize]) -> RankedPoints {
        rank(points, &lexical::query_terms(query, &Language::ALL), holders, 10_000)
    }

    #[test]
    fn rare_words_count_more_than_common_ones() {
        let points = [
            stored(11, 1, "How the time of the tide is told."),
            stored(21, 2, "A spoonbill is told by its bill."),
            stored(31, 3, "Bread and butter."),
        ];

        let found = ranked("what time is the spoonbill there", &points, &[500, 2]);

        let numbers: Vec<u128> = found.passages.iter().map(|found| found.id.as_u128()).collect();
        assert_eq!(numbers, [21, 11]);
        assert!(found.passages[0].share > 0.5 && found.passages[1].share < 0.5, "{found:?}");
        assert_eq!((found.weights.len(), found.languages), (2, vec![Language::English]));
    }

    #[test]
    fn share_of_a_passage_with_all_words_is_high_in_each_query() {
        let points = [stored(11, 1, "The heron waits in the reeds."), stored(21, 2, "The heron waits.")];
        for (query, holders) in
            [("heron", vec![2]), ("heron waits", vec![500, 2]), ("waiting herons", vec![1, 1])]
        {
            let found = ranked(query, &points, &holders);
            assert!(found.passages.iter().all(|passage| passage.share > 0.9), "{query}: {found:?}");
        }
    }

    #[test]
    fn point_of_a_document_is_its_metadata() {
        let points = [stored(1, 1, "grey heron"), stored(11, 1, "A heron stands in the water.")];

        let found = ranked("grey heron", &points, &[]);

        assert_eq!(found.passages.len(), 1);
        assert!(found.metadata[&Uuid::from_u128(1)] > found.passages[0].share);
    }
}
