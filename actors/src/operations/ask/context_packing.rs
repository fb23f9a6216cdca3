//! Chooses and orders the passages that a question is answered from: by document, the best document first, without duplicates, within
//! bounds. A plain function.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use search::similarity::jaccard;
use text::char_count;
use unicode_segmentation::UnicodeSegmentation;
use values::id::DocumentId;

use crate::retrieval::passage::Passage;

/// Maximum number of passages that the model is given.
const MAX_PASSAGES: usize = 8;
/// Maximum number of these of one document, so that a long document does not take all places.
const MAX_PASSAGES_PER_DOCUMENT: usize = 3;
/// Maximum length of all passages together in characters, except that the first one is given whatever its length: some 3,000 tokens,
/// which small models read well.
const MAX_CHARS: usize = 12_000;
/// Words in a row that are compared to find duplicates.
const SHINGLE_WORDS: usize = 5;
/// Two passages that share this part of their shingles are duplicates (Jaccard similarity).
const DUPLICATE_SIMILARITY: f32 = 0.8;

/// A passage that is given to the model.
#[derive(Clone, Debug)]
pub(super) struct PackedPassage {
    pub passage: Passage,
    /// Rank of its document in the search, from 0. A document of which all passages are duplicates leaves a gap.
    pub document_rank: usize,
}

/// A passage that may be given to the model.
struct PackingCandidate {
    packed: PackedPassage,
    is_neighbour: bool,
    /// Index of the hit: its own or that of the passage beside it.
    hit: usize,
}

impl PackingCandidate {
    /// Candidates with a lower priority are chosen first. The neighbours of the best document come before the other documents: if a
    /// heading is the best hit, the passage after it has the answer.
    fn priority(&self) -> (bool, bool, usize, Reverse<i32>) {
        let is_other_document = self.packed.document_rank > 0;
        (is_other_document, self.is_neighbour, self.hit, Reverse(self.packed.passage.row.ordinal))
    }

    /// The place among the chosen passages: those of a document together, its best first, each with its neighbours.
    fn order(&self) -> (usize, usize, bool, i32) {
        (self.packed.document_rank, self.hit, self.is_neighbour, self.packed.passage.row.ordinal)
    }
}

/// Returns the passages to give to the model, from the hits of a search, best first, and neighbours of some of them. Of duplicates the
/// best one is kept: the same text is often saved twice, such as an article and its copy in a feed.
pub(super) fn pack(hits: Vec<Passage>, neighbours: Vec<Passage>) -> Vec<PackedPassage> {
    let mut candidates = candidates(hits, neighbours);
    candidates.sort_by_key(PackingCandidate::priority);
    let mut chosen: Vec<PackingCandidate> = Vec::with_capacity(MAX_PASSAGES);
    let mut chosen_shingles: Vec<HashSet<u64>> = Vec::with_capacity(MAX_PASSAGES);
    let mut chars = 0;
    for candidate in candidates {
        let length = char_count(&candidate.packed.passage.row.text);
        let fits = chosen.is_empty() || chars + length <= MAX_CHARS;
        if !fits || !has_place(&chosen, candidate.packed.document_rank) {
            continue;
        }
        let shingles = shingles(&candidate.packed.passage.row.text);
        if chosen_shingles.iter().all(|other| jaccard(other, &shingles) < DUPLICATE_SIMILARITY) {
            chars += length;
            chosen_shingles.push(shingles);
            chosen.push(candidate);
        }
    }
    chosen.sort_by_key(PackingCandidate::order);
    chosen.into_iter().map(|candidate| candidate.packed).collect()
}

/// Returns the hits and their neighbours with the ranks of their documents.
fn candidates(hits: Vec<Passage>, neighbours: Vec<Passage>) -> Vec<PackingCandidate> {
    let mut documents: Vec<DocumentId> = Vec::new();
    for hit in &hits {
        if !documents.contains(&hit.row.document_id) {
            documents.push(hit.row.document_id);
        }
    }
    let rank = |passage: &Passage| documents.iter().position(|document| *document == passage.row.document_id);
    let mut found = Vec::with_capacity(hits.len() + neighbours.len());
    for passage in neighbours {
        let is_beside = |hit: &Passage| {
            hit.row.document_id == passage.row.document_id
                && hit.row.ordinal.abs_diff(passage.row.ordinal) == 1
        };
        if let (Some(document_rank), Some(hit)) = (rank(&passage), hits.iter().position(is_beside)) {
            let packed = PackedPassage { passage, document_rank };
            found.push(PackingCandidate { packed, is_neighbour: true, hit });
        }
    }
    for (hit, passage) in hits.into_iter().enumerate() {
        if let Some(document_rank) = rank(&passage) {
            let packed = PackedPassage { passage, document_rank };
            found.push(PackingCandidate { packed, is_neighbour: false, hit });
        }
    }
    found
}

/// Returns whether another passage of this document may be chosen.
fn has_place(chosen: &[PackingCandidate], document_rank: usize) -> bool {
    let of_document = chosen.iter().filter(|other| other.packed.document_rank == document_rank).count();
    chosen.len() < MAX_PASSAGES && of_document < MAX_PASSAGES_PER_DOCUMENT
}

/// Returns the hashes of all sequences of words of a text, in lower case. A shorter text is one sequence.
fn shingles(text: &str) -> HashSet<u64> {
    let words: Vec<String> = text.unicode_words().map(str::to_lowercase).collect();
    if words.is_empty() {
        return HashSet::from([hash(text.trim())]);
    }
    words.windows(SHINGLE_WORDS.min(words.len())).map(hash).collect()
}

fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use search::calibration::{Relevance, RetrievalMeasures};
    use uuid::Uuid;
    use values::id::ChunkId;

    use super::*;
    use crate::retrieval::SearchHit;
    use crate::retrieval::passage::PassageColumns;
    use crate::retrieval::test_library::passage_columns;

    /// A passage of a document at a position in its text.
    fn passage(document: u128, ordinal: i32, text: &str) -> Passage {
        let chunk = ChunkId(Uuid::from_u128(1_000 * document + u128::from(ordinal.unsigned_abs())));
        let document = DocumentId(Uuid::from_u128(document));
        let measures =
            RetrievalMeasures { bm25_share: Some(0.5), cosine: None, max_missing_cosine: 0.0, terms: 1 };
        let relevance = Relevance::of(measures, 0.0);
        let row = PassageColumns { ordinal, ..passage_columns(chunk, document, "", text) };
        let found = SearchHit { chunk, document, relevance, score: 0.5, cosine: None, metadata_share: 0.0 };
        Passage { row, found }
    }

    /// The ranks of the documents and the texts of the passages.
    fn texts(packed: &[PackedPassage]) -> Vec<(usize, &str)> {
        packed.iter().map(|packed| (packed.document_rank, packed.passage.row.text.as_str())).collect()
    }

    fn ranks(packed: &[PackedPassage]) -> Vec<usize> {
        packed.iter().map(|packed| packed.document_rank).collect()
    }

    #[test]
    fn passages_are_grouped_by_document_best_first() {
        let hits = vec![
            passage(7, 4, "first"),
            passage(3, 0, "second"),
            passage(7, 1, "third"),
            passage(5, 0, "fourth"),
            passage(3, 2, "fifth"),
        ];

        let packed = pack(hits, Vec::new());

        let expected = [(0, "first"), (0, "third"), (1, "second"), (1, "fifth"), (2, "fourth")];
        assert_eq!(texts(&packed), expected);
    }

    #[test]
    fn duplicates_and_near_duplicates_are_dropped() {
        let text: String = (0..60).map(|n| format!("word{n} ")).collect();
        let copy = format!("{} Read more.", text.to_uppercase());
        let hits = vec![
            passage(1, 0, &text),
            passage(2, 0, &copy),
            passage(3, 0, "Word0 is the only one that it shares."),
            passage(4, 0, "?!"),
            passage(5, 0, "?!"),
        ];

        assert_eq!(ranks(&pack(hits, Vec::new())), [0, 2, 3]);
    }

    #[test]
    fn neighbours_stand_beside_their_passage() {
        let hits = vec![passage(1, 3, "A heading"), passage(2, 8, "Another heading"), passage(1, 9, "Far")];
        let neighbours = vec![
            passage(2, 7, "above another heading"),
            passage(1, 2, "above the heading"),
            passage(1, 4, "below the heading"),
        ];

        let packed = pack(hits, neighbours);

        // The best document may have one passage besides its two hits.
        let expected = [
            (0, "A heading"),
            (0, "below the heading"),
            (0, "Far"),
            (1, "Another heading"),
            (1, "above another heading"),
        ];
        assert_eq!(texts(&packed), expected);
    }

    #[test]
    fn passages_of_one_document_and_of_all_are_bounded() {
        let many = (0u8..24).map(|n| passage(u128::from(1 + n / 4), i32::from(2 * n), &format!("text {n}")));

        assert_eq!(ranks(&pack(many.collect(), Vec::new())), [0, 0, 0, 1, 1, 1, 2, 2]);
    }

    #[test]
    fn characters_are_bounded_except_of_the_first_passage() {
        let long = |document: u128, chars: usize| passage(document, 0, &document.to_string().repeat(chars));

        // A shorter passage takes the room that a long one leaves.
        let packed = pack(vec![long(1, 9_000), long(2, 5_000), long(3, 2_000)], Vec::new());
        assert_eq!(ranks(&packed), [0, 2]);
        assert_eq!(pack(vec![long(1, 20_000), long(2, 10)], Vec::new()).len(), 1);
    }
}
