//! Fuses the hits of the lexical and the dense search into one ranking. Plain functions: no index, no model, no clock.
//!
//! The order of the ranking is that of the scores of each search, normalized by their mean and standard deviation (distribution-based
//! score fusion) and added. Such sums say nothing about other queries, so the score of a passage is a calibrated one
//! ([`Relevance`]), lowered where a passage above it has less. The dense search is weighted by how well the model knows the words of
//! the query. So a passage that both searches found ranks above one that only one of them found, a query in words that the model was
//! not trained on is left to the lexical search, and without a dense search the ranking is the lexical one. A passage that shares no
//! word with the query must be near in meaning to be a result.
//!
//! Measured on SciFact and Cranfield (nDCG@10): this fusion 72.7 and 56.1, reciprocal rank fusion with k = 10 72.4 and 54.8, min-max
//! normalization 72.9 and 55.2. The minimum cosine ([`crate::calibration`]) costs nothing on either.

use std::collections::{BTreeMap, HashMap};

use inference::embedder::QueryWeight;
use uuid::Uuid;

use crate::calibration::{MAX_FEW_TERMS, Relevance, RetrievalMeasures, bm25_share, lower_to_falling};
use crate::counts::to_f32;
use crate::index::{Hit, HybridHits};

/// Maximum number of passages of one document in a ranking (contract.md, section 5).
const MAX_PASSAGES_PER_DOCUMENT: usize = 3;

/// Normalized scores reach from this many standard deviations below the mean (0) to as many above it (1), as in Qdrant's fusion.
const SCALE_DEVIATIONS: f32 = 3.0;

/// The normalized score of the mean of the dense hits: that of passages without an embedding, of which the dense search says nothing.
/// Without it, a save whose page could not be fetched ranked below all passages that are near in meaning (`carrel eval` on
/// tests/quality/library, tag).
const NEUTRAL_SCORE: f32 = 0.5;

/// A passage that one of the searches found, with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FusedPassage {
    /// Id of the chunk, which is the passage in the database.
    pub id: Uuid,
    /// What both searches say of it.
    pub relevance: Relevance,
    /// Calibrated score from 0 to 1, falling along the ranking: at most that of its relevance.
    pub score: f32,
}

/// A passage in a ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankedPassage {
    /// Id of the chunk, which is the passage in the database.
    pub id: Uuid,
    /// Id of the document that the passage is part of.
    pub document: Uuid,
    /// What both searches say of it.
    pub relevance: Relevance,
    /// Calibrated score from 0 to 1, falling along the ranking: at most that of its relevance.
    pub score: f32,
}

/// What the searches say of a passage that one of them found.
struct Candidate {
    /// Sum of its normalized scores, by which it is ranked.
    sum: f32,
    bm25_share: Option<f32>,
    cosine: Option<f32>,
    /// Whether it has no embedding.
    is_unembedded: bool,
}

/// Returns the passages of both searches, best first; equals in the order of their ids. The scores of the dense search are on the standard
/// scale ([`standard_cosine`](inference::embedder::Calibration::standard_cosine)). `attainable` is the attainable BM25 of the query
/// ([`weigh_terms`](crate::calibration::weigh_terms)).
#[must_use]
pub fn fuse(hits: &HybridHits, dense_weight: QueryWeight, attainable: f32) -> Vec<FusedPassage> {
    // A dense search that found nothing says nothing of the passages of the lexical one.
    let weight = if hits.dense.is_empty() { 0.0 } else { dense_weight.get() };
    // The dense hits are sorted: what is not among them is no nearer.
    let max_missing_cosine = hits.dense.last().map_or(0.0, |hit| hit.score);
    let relevance = |candidate: &Candidate| {
        let Candidate { bm25_share, cosine, is_unembedded, .. } = *candidate;
        let weight = if is_unembedded { 0.0 } else { weight };
        let terms = counted_terms(hits);
        Relevance::of(RetrievalMeasures { bm25_share, cosine, max_missing_cosine, terms }, weight)
    };
    let mut found: Vec<(Uuid, Candidate)> = candidates(hits, weight, attainable).into_iter().collect();
    // A stable sort: equals stay in the order of the map, which is that of the ids.
    found.sort_by(|(_, a), (_, b)| b.sum.total_cmp(&a.sum));
    let fused = found.iter().map(|(id, candidate)| (*id, relevance(candidate)));
    // What shares no word must be near: the cosine itself is judged, because the sums are relative to other hits of the same query.
    let mut fused: Vec<FusedPassage> = fused
        .filter(|(_, relevance)| relevance.is_result())
        .map(|(id, relevance)| FusedPassage { id, relevance, score: relevance.score() })
        .collect();
    lower_to_falling(fused.iter_mut().map(|passage| &mut passage.score));
    fused
}

/// Returns the number of terms that decides the minimum cosine ([`RetrievalMeasures::terms`]).
fn counted_terms(hits: &HybridHits) -> usize {
    let terms = hits.term_scores.len();
    if hits.is_converted { terms.min(MAX_FEW_TERMS) } else { terms }
}

/// Returns the passages of both searches with their measures, in the order of their ids.
fn candidates(hits: &HybridHits, weight: f32, attainable: f32) -> BTreeMap<Uuid, Candidate> {
    let mut found: BTreeMap<Uuid, Candidate> = BTreeMap::new();
    let lexical = Scale::of(&hits.lexical);
    for hit in &hits.lexical {
        let bm25_share = Some(bm25_share(hit.score, attainable));
        let is_unembedded = hits.unembedded.contains(&hit.id);
        let neutral = if is_unembedded { weight * NEUTRAL_SCORE } else { 0.0 };
        let sum = lexical.normalize(hit.score) + neutral;
        found.insert(hit.id, Candidate { sum, bm25_share, cosine: None, is_unembedded });
    }
    let dense = Scale::of(&hits.dense);
    for hit in &hits.dense {
        let candidate = Candidate { sum: 0.0, bm25_share: None, cosine: None, is_unembedded: false };
        let candidate = found.entry(hit.id).or_insert(candidate);
        candidate.sum += weight * dense.normalize(hit.score);
        candidate.cosine = Some(hit.score);
    }
    found
}

/// Returns the first of these passages, at most `limit`, without those beyond the maximum of each document. A metadata passage, whose id
/// is that of its document, stands for the best passage of the text, which takes its place if it is among the passages, so that it is none
/// of the results of the document. `find_documents` returns the documents of passages; passages without one are left out. It is called with
/// the passages in their order, a part at a time, until there are enough.
///
/// # Errors
/// The errors of `find_documents`.
pub fn limit_per_document<E>(
    fused: &[FusedPassage],
    limit: usize,
    mut find_documents: impl FnMut(&[Uuid]) -> Result<HashMap<Uuid, Uuid>, E>,
) -> Result<Vec<RankedPassage>, E> {
    let mut counts: HashMap<Uuid, usize> = HashMap::new();
    let mut ranked: Vec<RankedPassage> = Vec::new();
    // The places of metadata passages in the ranking.
    let mut metadata: HashMap<Uuid, usize> = HashMap::new();
    let mut rest = fused;
    // Mostly enough: few documents have more passages among the best ones than are kept.
    let mut part = limit.saturating_mul(2);
    while ranked.len() < limit && !rest.is_empty() {
        let (next, after) = rest.split_at(part.min(rest.len()));
        (rest, part) = (after, part.saturating_mul(2));
        let ids: Vec<Uuid> = next.iter().map(|passage| passage.id).collect();
        let documents = find_documents(&ids)?;
        for passage in next {
            let Some(document) = documents.get(&passage.id).copied() else { continue };
            let FusedPassage { id, relevance, score } = *passage;
            let count = counts.entry(document).or_default();
            if id == document {
                if *count == 0 {
                    metadata.insert(document, ranked.len());
                    ranked.push(RankedPassage { id, document, relevance, score });
                }
                continue;
            }
            *count += 1;
            let place = metadata.remove(&document).and_then(|place| ranked.get_mut(place));
            if let Some(stand_in) = place {
                stand_in.id = id;
                if relevance.score() > stand_in.relevance.score() {
                    stand_in.relevance = relevance;
                }
            } else if *count <= MAX_PASSAGES_PER_DOCUMENT {
                ranked.push(RankedPassage { id, document, relevance, score });
            }
        }
    }
    ranked.truncate(limit);
    Ok(ranked)
}

/// Returns whether a deeper search might find more results: fewer than `limit` were found because passages of a few long documents took all
/// places of the lexical search.
#[must_use]
pub fn needs_deeper_search(hits: &HybridHits, depth: usize, found: usize, limit: usize) -> bool {
    found < limit && hits.lexical.len() >= depth
}

/// Returns whether a deeper search might find further results: one of the searches found as many hits as this depth allows, and the worst of
/// them is a result.
#[must_use]
pub fn may_have_more(hits: &HybridHits, depth: usize, dense_weight: QueryWeight) -> bool {
    let is_dense_result = hits.dense.get(depth.saturating_sub(1)).is_some_and(|worst| {
        let (cosine, terms) = (Some(worst.score), counted_terms(hits));
        let measures = RetrievalMeasures { bm25_share: None, cosine, max_missing_cosine: worst.score, terms };
        Relevance::of(measures, dense_weight.get()).is_result()
    });
    is_dense_result || hits.lexical.len() >= depth
}

/// The scale by which the scores of a search are normalized.
struct Scale {
    zero: f32,
    width: f32,
}

impl Scale {
    fn of(hits: &[Hit]) -> Self {
        let count = to_f32(hits.len().max(1));
        let mean = hits.iter().map(|hit| hit.score).sum::<f32>() / count;
        let squares: f32 = hits.iter().map(|hit| (hit.score - mean).powi(2)).sum();
        // The deviation of a sample; a single hit has none.
        let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
        Self { zero: mean - SCALE_DEVIATIONS * deviation, width: 2.0 * SCALE_DEVIATIONS * deviation }
    }

    /// Mostly between 0 and 1; 0.5 when all scores are the same.
    fn normalize(&self, score: f32) -> f32 {
        if self.width > f32::EPSILON { (score - self.zero) / self.width } else { 0.5 }
    }
}

#[cfg(test)]
mod tests;
