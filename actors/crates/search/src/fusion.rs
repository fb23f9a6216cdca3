//! One ranking out of what the two legs found. Plain: no index, no model, no clock.
//!
//! Each leg's scores are set against their own mean and spread (distribution-based score fusion), then added; the dense
//! leg counts as much as the model knows the words of the query. So a passage that both legs found leads one that only one
//! of them found, a query in words that the model was not trained on is left to the lexical leg, and without a dense leg
//! the ranking is the lexical one. A passage that shares no word with the query must be near in meaning to be a result.
//!
//! Measured on SciFact and Cranfield (nDCG@10): this 72.7 and 56.1, reciprocal ranks with k = 10 72.4 and 54.8, least and
//! most of each leg 72.9 and 55.2; the cut below takes nothing from either.

use std::collections::{BTreeMap, HashMap};

use inference::embedder::Pieces;
use uuid::Uuid;

use crate::index::{Hit, HybridHits};

/// At most so many passages of one document (contract.md, section 5).
const OF_ONE_DOCUMENT: usize = 3;

/// Standard deviations about the mean that make the scale of a leg, from 0 to 1.
const SPREAD: f32 = 3.0;

/// The least cosine of a passage that shares no word with a query whose words the model knows. Measured: 600 made-up words
/// and phrases reach 0.41 among 13,000 passages, and no right passage is lost above 0.45.
const NEAR: f32 = 0.42;

/// How much more it takes where the model hardly knows the words.
const WARY: f32 = 0.3;

/// Word pieces a word up to which the model knows the words of a query.
const KNOWN: f32 = 2.0;

/// Word pieces a word from which on it spells them out, and they mean nothing to it.
const SPELLED: f32 = 4.0;

/// A passage in the ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// The chunk's id.
    pub id: Uuid,
    /// Its document.
    pub document: Uuid,
    /// How good it is, from 0 to 1, falling along the ranking.
    pub score: f32,
}

/// How far the dense leg can be relied on for one query: from 0, not at all, to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trust(f32);

impl Trust {
    /// For a query that the model reads in these word pieces. Names made of letters and digits, gibberish, and some scripts
    /// that the model was not trained on come in many pieces a word. What it cannot write at all, some signs and scripts, is
    /// the same piece to it whatever it is, and counts as a word that is spelled out.
    #[must_use]
    pub fn of(query: &str, pieces: Pieces) -> Self {
        let words = query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).count();
        let signs = query.split_whitespace().filter(|part| !part.contains(char::is_alphanumeric)).count();
        let words = words + signs.min(pieces.unknown);
        let known = small(pieces.all.saturating_sub(pieces.unknown));
        let per_word = (known + SPELLED * small(pieces.unknown)) / small(words.max(1));
        Self(((SPELLED - per_word) / (SPELLED - KNOWN)).clamp(0.0, 1.0))
    }

    /// Whether the dense leg is worth asking.
    #[must_use]
    pub fn any(self) -> bool {
        self.0 > 0.0
    }

    /// Whether this cosine alone makes a passage a result.
    fn admits(self, cosine: f32) -> bool {
        self.any() && cosine >= NEAR + WARY * (1.0 - self.0)
    }
}

/// The best passages of both legs, up to the limit; equally good ones in the order of their ids.
#[must_use]
pub fn fuse(legs: &HybridHits, trust: Trust, limit: usize) -> Vec<Ranked> {
    let weight = if legs.dense.is_empty() { 0.0 } else { trust.0 };
    let mut sums: BTreeMap<Uuid, Ranked> = BTreeMap::new();
    let by_words = Scale::of(&legs.lexical);
    for hit in &legs.lexical {
        sums.insert(hit.id, Ranked { id: hit.id, document: hit.document, score: by_words.place(hit.score) });
    }
    let by_meaning = Scale::of(&legs.dense);
    for hit in &legs.dense {
        let more = weight * by_meaning.place(hit.score);
        match sums.get_mut(&hit.id) {
            Some(sum) => sum.score += more,
            None if trust.admits(hit.score) => {
                sums.insert(hit.id, Ranked { id: hit.id, document: hit.document, score: more });
            }
            None => {}
        }
    }
    let mut ranked: Vec<Ranked> = sums.into_values().collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    few_of_each(ranked, limit)
        .map(|found| Ranked { score: (found.score / (1.0 + weight)).clamp(0.0, 1.0), ..found })
        .collect()
}

/// Whether a deeper search might bring more: passages of a few long documents took all places of the lexical leg.
#[must_use]
pub fn starved(legs: &HybridHits, depth: usize, found: usize, limit: usize) -> bool {
    found < limit && legs.lexical.len() >= depth
}

fn few_of_each(ranked: Vec<Ranked>, limit: usize) -> impl Iterator<Item = Ranked> {
    let mut taken: HashMap<Uuid, usize> = HashMap::new();
    let few = ranked.into_iter().filter(move |found| {
        let taken = taken.entry(found.document).or_default();
        *taken += 1;
        *taken <= OF_ONE_DOCUMENT
    });
    few.take(limit)
}

/// The scale of one leg's scores.
struct Scale {
    least: f32,
    width: f32,
}

impl Scale {
    fn of(hits: &[Hit]) -> Self {
        let count = small(hits.len().max(1));
        let mean = hits.iter().map(|hit| hit.score).sum::<f32>() / count;
        let squares: f32 = hits.iter().map(|hit| (hit.score - mean).powi(2)).sum();
        let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
        Self { least: mean - SPREAD * deviation, width: 2.0 * SPREAD * deviation }
    }

    /// Mostly between 0 and 1; the middle where all scores are the same.
    fn place(&self, score: f32) -> f32 {
        if self.width > f32::EPSILON { (score - self.least) / self.width } else { 0.5 }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of words and of hits, far below 2^24")]
fn small(count: usize) -> f32 {
    count as f32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn known(all: usize) -> Pieces {
        Pieces { all, unknown: 0 }
    }

    const KNOWN_WORDS: Trust = Trust(1.0);

    fn hit(number: u128, score: f32) -> Hit {
        Hit { id: Uuid::from_u128(number), document: Uuid::from_u128(number), score }
    }

    fn numbers(ranked: &[Ranked]) -> Vec<u128> {
        ranked.iter().map(|found| found.id.as_u128()).collect()
    }

    #[test]
    fn what_both_legs_found_leads() {
        let legs = HybridHits {
            lexical: vec![hit(1, 9.0), hit(2, 8.0), hit(3, 2.0)],
            dense: vec![hit(4, 0.8), hit(2, 0.7), hit(5, 0.1)],
        };
        assert_eq!(numbers(&fuse(&legs, KNOWN_WORDS, 3)), [2, 1, 4]);
    }

    #[test]
    fn without_a_dense_leg_words_alone_decide() {
        let legs = HybridHits { lexical: vec![hit(3, 9.0), hit(1, 8.0), hit(2, 2.0)], dense: Vec::new() };
        assert_eq!(numbers(&fuse(&legs, KNOWN_WORDS, 9)), [3, 1, 2]);
    }

    #[test]
    fn every_passage_that_has_the_word_is_a_result_and_no_other() {
        let legs = HybridHits {
            lexical: (1..=5).map(|n| hit(n, 3.0)).collect(),
            dense: (1..=9).map(|n| hit(n, 0.4)).collect(),
        };
        let mut found = numbers(&fuse(&legs, KNOWN_WORDS, 20));
        found.sort_unstable();
        assert_eq!(found, [1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_passage_without_the_words_is_a_result_if_it_is_near_in_meaning() {
        let legs = HybridHits { lexical: Vec::new(), dense: vec![hit(1, 0.6), hit(2, 0.3)] };
        assert_eq!(numbers(&fuse(&legs, KNOWN_WORDS, 20)), [1]);
    }

    #[test]
    fn a_word_that_the_model_spells_out_finds_nothing_by_meaning() {
        let legs = HybridHits { lexical: Vec::new(), dense: vec![hit(1, 0.7)] };
        assert!(fuse(&legs, Trust::of("zebu3fa91c0d", known(8)), 20).is_empty());
        assert!(fuse(&legs, Trust::of("东京塔在哪里", known(6)), 20).is_empty());
        assert!(fuse(&legs, Trust::of("kubernetes", known(3)), 20).len() == 1);
        assert_eq!(Trust::of("how do I make bread at home", known(7)), KNOWN_WORDS);
        assert_eq!(Trust::of("?!", known(2)), KNOWN_WORDS);
        // As the tokenizer counts them: actors/crates/inference/src/embedder/tests.rs.
        for (query, all, unknown) in [("🚗", 1, 1), ("🚗🚗 🐜", 2, 2), ("ትምህርት ቤት", 2, 2)]
        {
            assert!(!Trust::of(query, Pieces { all, unknown }).any(), "{query}");
        }
        for (query, all, unknown) in [("ants 🐜", 2, 1), ("a car 🚗🚗🚗🚗", 3, 1)] {
            assert!(Trust::of(query, Pieces { all, unknown }).admits(0.5), "{query}");
        }
    }

    #[test]
    fn a_document_has_three_places_at_most() {
        let of_one = |number: u128| Hit { document: Uuid::from_u128(77), ..hit(number, 9.0) };
        let lexical: Vec<_> = (1..=6).map(of_one).chain([hit(9, 1.0)]).collect();
        assert_eq!(numbers(&fuse(&HybridHits { lexical, dense: Vec::new() }, KNOWN_WORDS, 20)), [1, 2, 3, 9]);
    }

    #[test]
    fn a_leg_full_of_one_document_starves_the_others() {
        let legs = HybridHits { lexical: (1..=100).map(|n| hit(n, 1.0)).collect(), dense: Vec::new() };
        assert!(starved(&legs, 100, 3, 8));
        assert!(!starved(&legs, 100, 8, 8));
        assert!(!starved(&legs, 200, 3, 8));
    }

    fn leg(scores: std::ops::Range<f32>) -> impl Strategy<Value = Vec<Hit>> {
        proptest::collection::btree_map(0..40u128, (0..8u128, scores), 0..30).prop_map(|hits| {
            let hit = |(id, (document, score))| Hit { document: Uuid::from_u128(document), ..hit(id, score) };
            let mut hits: Vec<_> = hits.into_iter().map(hit).collect();
            hits.sort_by(|a, b| b.score.total_cmp(&a.score));
            hits
        })
    }

    proptest! {
        #[test]
        fn any_two_legs_make_a_ranking(lexical in leg(0.01..60.0), dense in leg(-1.0..1.0), trust in 0.0..=1.0f32, limit in 0..25usize) {
            let legs = HybridHits { lexical, dense };
            let ranked = fuse(&legs, Trust(trust), limit);

            prop_assert!(ranked.len() <= limit);
            prop_assert!(ranked.is_sorted_by(|a, b| a.score >= b.score));
            prop_assert!(ranked.iter().all(|found| (0.0..=1.0).contains(&found.score)));
            let mut ids = numbers(&ranked);
            ids.sort_unstable();
            prop_assert!(ids.is_sorted_by(|a, b| a < b));
            prop_assert_eq!(fuse(&legs, Trust(trust), limit), ranked);
        }

        #[test]
        fn any_word_match_is_a_result_while_there_is_room(lexical in leg(0.01..60.0), dense in leg(-1.0..1.0), trust in 0.0..=1.0f32) {
            let documents: std::collections::HashSet<_> = lexical.iter().map(|hit| hit.document).collect();
            let found = fuse(&HybridHits { lexical, dense }, Trust(trust), usize::MAX);
            prop_assert!(documents.iter().all(|document| found.iter().any(|found| found.document == *document)));
        }
    }
}
