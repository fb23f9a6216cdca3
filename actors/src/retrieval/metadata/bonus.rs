//! Raises the passages of documents that the query also finds by their metadata: a document whose title or tags have its words is about
//! them.

use std::collections::{HashMap, HashSet};

use search::index::{Hit, HybridHits};
use uuid::Uuid;

/// The share of the score of a metadata passage that is added to the passages of its document.
pub const BONUS_SHARE: f32 = 0.3;

/// Returns the hits with the scores of the passages raised whose documents have a metadata passage among the lexical hits, at most to the
/// attainable BM25 of the query; `None` if there are none. `documents` are those of passages, as far as they are known; the id of a
/// metadata passage is that of its document.
pub fn raise_passage_scores(
    hits: &HybridHits,
    documents: &HashMap<Uuid, Uuid>,
    attainable: f32,
) -> Option<HybridHits> {
    let is_metadata = |hit: &&Hit| documents.get(&hit.id) == Some(&hit.id);
    let metadata: HashMap<Uuid, f32> =
        hits.lexical.iter().filter(is_metadata).map(|hit| (hit.id, hit.score)).collect();
    if metadata.is_empty() {
        return None;
    }
    let dense: HashSet<Uuid> = hits.dense.iter().map(|hit| hit.id).collect();
    let raised = |hit: &Hit| {
        let document = documents.get(&hit.id).filter(|document| **document != hit.id);
        let bonus =
            document.and_then(|document| metadata.get(document)).map_or(0.0, |score| BONUS_SHARE * score);
        // A score above the bound, which is an estimate for unindexed documents, stays.
        Hit { id: hit.id, score: (hit.score + bonus).min(attainable.max(hit.score)) }
    };
    let mut lexical: Vec<Hit> = hits.lexical.iter().map(raised).collect();
    Hit::sort_best_first(&mut lexical);
    Some(HybridHits {
        lexical,
        dense: hits.dense.clone(),
        is_converted: hits.is_converted,
        term_scores: hits.term_scores.clone(),
        documents: HashMap::new(),
        // Few metadata passages have embeddings: those that the dense search found, and perhaps some of the others.
        unembedded: hits
            .unembedded
            .iter()
            .chain(metadata.keys())
            .filter(|id| !dense.contains(*id))
            .copied()
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    fn hit(number: u128, score: f32) -> Hit {
        Hit { id: id(number), score }
    }

    #[test]
    fn passages_of_a_document_that_metadata_finds_are_raised() {
        let hits = HybridHits {
            lexical: vec![hit(31, 4.5), hit(1, 4.0), hit(21, 3.0), hit(11, 2.0), hit(12, 4.9)],
            ..HybridHits::default()
        };
        let documents =
            HashMap::from([(11, 1), (12, 1), (1, 1), (21, 2), (31, 3)].map(|(a, b)| (id(a), id(b))));

        let raised = raise_passage_scores(&hits, &documents, 5.0).unwrap();

        let tenths = |hit: &Hit| (hit.id.as_u128(), (hit.score * 10.0).round());
        let found: Vec<(u128, f32)> = raised.lexical.iter().map(tenths).collect();
        assert_eq!(found, [(12, 50.0), (31, 45.0), (1, 40.0), (11, 32.0), (21, 30.0)]);
    }

    #[test]
    fn metadata_that_the_dense_search_found_has_an_embedding() {
        let hits = HybridHits {
            lexical: vec![hit(1, 4.0), hit(2, 3.0)],
            dense: vec![hit(2, 0.7)],
            ..HybridHits::default()
        };
        let documents = HashMap::from([(1, 1), (2, 2)].map(|(a, b)| (id(a), id(b))));

        let raised = raise_passage_scores(&hits, &documents, 5.0).unwrap();

        assert_eq!(raised.unembedded, HashSet::from([id(1)]));
    }

    #[test]
    fn hits_without_metadata_stay_as_they_are() {
        let hits = HybridHits { lexical: vec![hit(11, 2.0)], ..HybridHits::default() };

        assert_eq!(raise_passage_scores(&hits, &HashMap::from([(id(11), id(1))]), 5.0), None);
    }
}
