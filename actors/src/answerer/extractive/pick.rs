//! The sentences of passages, and the choice of those that answer best.

use std::collections::HashSet;

use text::chunk;
use text::{char_count, head};
use unicode_segmentation::UnicodeSegmentation;

use super::words::QuestionWords;
use crate::answerer::SourcePassage;

/// Shorter sentences are headings or fragments and are left out.
const MIN_SENTENCE_CHARS: usize = 12;
/// Characters after which a longer sentence is cut.
const MAX_SENTENCE_CHARS: usize = 600;
/// Maximum number of sentences in an answer.
const MAX_SENTENCES: usize = 3;
/// A sentence whose score is this much lower than the best one adds nothing to the answer.
const MAX_SCORE_GAP: f32 = 0.2;
/// Weight of the shared words in the score; the weight of the similarity is 1.
const COVERAGE_WEIGHT: f32 = 0.5;
/// Two sentences that share this part of their words are duplicates (Jaccard similarity).
const DUPLICATE_SIMILARITY: f32 = 0.8;

/// A sentence of a passage.
#[derive(Clone, Debug)]
pub(super) struct Sentence<'a> {
    /// Index of the passage in the question, from 0; its marker is one higher.
    pub passage: usize,
    pub text: &'a str,
    /// Weighted share of the question's words that it contains.
    pub coverage: f32,
    /// Cosine similarity of the embeddings of sentence and question, if it was computed.
    pub cosine: Option<f32>,
}

impl Sentence<'_> {
    fn score(&self) -> f32 {
        self.cosine.unwrap_or(0.0) + COVERAGE_WEIGHT * self.coverage
    }
}

/// Returns all sentences, in the order of the passages.
pub(super) fn sentences<'a>(passages: &'a [SourcePassage], words: &QuestionWords) -> Vec<Sentence<'a>> {
    let mut found = Vec::new();
    for (index, passage) in passages.iter().enumerate() {
        for range in chunk::sentences(&passage.text) {
            let text = head(passage.text.get(range).unwrap_or_default(), MAX_SENTENCE_CHARS).trim();
            if char_count(text) >= MIN_SENTENCE_CHARS {
                found.push(Sentence { passage: index, text, coverage: words.coverage(text), cosine: None });
            }
        }
    }
    found
}

/// Sorts sentences by their coverage, the largest first. The sort is stable: equal ones keep the order of the passages.
pub(super) fn sort_by_coverage(sentences: &mut [Sentence<'_>]) {
    sentences.sort_by(|a, b| b.coverage.total_cmp(&a.coverage));
}

/// Returns the best sentences without duplicates, best first.
pub(super) fn best(mut sentences: Vec<Sentence<'_>>) -> Vec<Sentence<'_>> {
    sentences.sort_by(|a, b| b.score().total_cmp(&a.score()));
    // Above 0 in any case: a sentence that shares no word with the question and has no similarity does not answer it.
    let min_score = sentences.first().map_or(0.0, |best| (best.score() - MAX_SCORE_GAP).max(f32::EPSILON));
    let mut picked: Vec<Sentence<'_>> = Vec::new();
    for sentence in sentences.into_iter().take_while(|sentence| sentence.score() >= min_score) {
        if picked.len() < MAX_SENTENCES
            && !picked.iter().any(|picked| are_duplicates(picked.text, sentence.text))
        {
            picked.push(sentence);
        }
    }
    picked
}

#[expect(clippy::cast_precision_loss, reason = "words of a sentence, far below 2^24")]
fn are_duplicates(one: &str, other: &str) -> bool {
    let words = |text: &str| text.unicode_words().map(str::to_lowercase).collect::<HashSet<_>>();
    let (one, other) = (words(one), words(other));
    let shared = one.intersection(&other).count() as f32;
    shared >= DUPLICATE_SIMILARITY * one.union(&other).count() as f32
}
