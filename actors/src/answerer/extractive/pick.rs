//! Sentences of passages, and which of them answer best.

use std::collections::HashSet;

use text::chunk;
use text::{char_count, head};
use unicode_segmentation::UnicodeSegmentation;

use super::words::Words;
use crate::answerer::Passage;

/// What is shorter is a heading or a crumb, in scalar values.
const SHORTEST: usize = 12;
/// What is longer is cut, in scalar values.
const LONGEST: usize = 600;
/// Sentences of an answer.
const MOST: usize = 3;
/// A sentence that is this much worse than the best one says nothing more.
const BEHIND: f32 = 0.2;
/// What the shared words count beside nearness in meaning.
const WORDS: f32 = 0.5;
/// Sentences of which this part of the words is the same say the same.
const ALIKE: f32 = 0.8;

/// A sentence of a passage.
#[derive(Clone, Debug)]
pub(super) struct Sentence<'a> {
    /// Place of its passage.
    pub passage: usize,
    /// Its text.
    pub text: &'a str,
    /// Share of the question's words that it holds.
    pub covered: f32,
    /// Nearness to the question in meaning, where it was looked at.
    pub cosine: Option<f32>,
}

impl Sentence<'_> {
    fn score(&self) -> f32 {
        self.cosine.unwrap_or(0.0) + WORDS * self.covered
    }
}

/// All sentences, in the order of the passages.
pub(super) fn sentences<'a>(passages: &'a [Passage], words: &Words) -> Vec<Sentence<'a>> {
    let mut found = Vec::new();
    for (place, passage) in passages.iter().enumerate() {
        for range in chunk::sentences(&passage.text) {
            let text = head(passage.text.get(range).unwrap_or_default(), LONGEST).trim();
            if char_count(text) >= SHORTEST {
                found.push(Sentence { passage: place, text, covered: words.covered(text), cosine: None });
            }
        }
    }
    found
}

/// Puts those first that share most with the question; among equals the order of the passages stays.
pub(super) fn by_prospect(sentences: &mut [Sentence<'_>]) {
    sentences.sort_by(|a, b| b.covered.total_cmp(&a.covered));
}

/// The best sentences, best first, none saying what another one says.
pub(super) fn best(mut sentences: Vec<Sentence<'_>>) -> Vec<Sentence<'_>> {
    sentences.sort_by(|a, b| b.score().total_cmp(&a.score()));
    let least = sentences.first().map_or(0.0, |best| (best.score() - BEHIND).max(f32::EPSILON));
    let mut picked: Vec<Sentence<'_>> = Vec::new();
    for sentence in sentences.into_iter().take_while(|sentence| sentence.score() >= least) {
        if picked.len() < MOST && !picked.iter().any(|picked| alike(picked.text, sentence.text)) {
            picked.push(sentence);
        }
    }
    picked
}

#[expect(clippy::cast_precision_loss, reason = "words of a sentence, far below 2^24")]
fn alike(one: &str, other: &str) -> bool {
    let words = |text: &str| text.unicode_words().map(str::to_lowercase).collect::<HashSet<_>>();
    let (one, other) = (words(one), words(other));
    let shared = one.intersection(&other).count() as f32;
    shared >= ALIKE * one.union(&other).count() as f32
}
