//! The words of a question, as the index counts them, with weights: the rarer a word is among the passages, the larger.

use std::collections::HashMap;

use search::index::Language;
use search::lexical;
use text::chunk::sentences;

use crate::answerer::SourcePassage;

/// Minimum number of sentences for the weights. With fewer, a word that no sentence contains would outweigh all others together.
const MIN_SENTENCES: usize = 30;

pub(super) struct QuestionWords {
    /// The weight of each word, by its id in the index.
    weights: HashMap<u32, f32>,
    /// The sum of all weights; 0 if the question has no words.
    total_weight: f32,
    languages: Vec<Language>,
}

impl QuestionWords {
    /// Weighs the words of a question by their rarity among the sentences of the passages.
    pub fn weigh(question: &str, passages: &[SourcePassage]) -> Self {
        let mut languages: Vec<Language> = Vec::new();
        for passage in passages {
            let language = lexical::detect_language(&passage.text);
            if !languages.contains(&language) {
                languages.push(language);
            }
        }
        let query = lexical::analyze_query(question, &languages);
        let mut words = Self { weights: HashMap::new(), total_weight: 0.0, languages };
        let mut frequencies: HashMap<u32, usize> = query.indices.iter().map(|word| (*word, 0)).collect();
        let mut count = 0;
        for passage in passages {
            for range in sentences(&passage.text) {
                count += 1;
                for word in words.ids(passage.text.get(range).unwrap_or_default()) {
                    frequencies.entry(word).and_modify(|frequency| *frequency += 1);
                }
            }
        }
        let count = count.max(MIN_SENTENCES);
        for (word, factor) in query.indices.iter().zip(&query.values) {
            let frequency = frequencies.get(word).copied().unwrap_or(0);
            words.weights.insert(*word, factor * inverse_frequency(frequency, count));
        }
        words.total_weight = words.weights.values().sum();
        words
    }

    /// Returns the weighted share of the question's words that the text contains, from 0 to 1.
    pub fn coverage(&self, text: &str) -> f32 {
        if self.total_weight <= 0.0 {
            return 0.0;
        }
        let contained: f32 = self.ids(text).iter().filter_map(|word| self.weights.get(word)).sum();
        contained / self.total_weight
    }

    /// Returns the words of the text, each once, analysed in each of the languages.
    fn ids(&self, text: &str) -> Vec<u32> {
        let mut ids: Vec<u32> = Vec::new();
        for language in &self.languages {
            ids.extend(lexical::analyze_passage("", text, *language).indices);
        }
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

/// The inverse document frequency, where each sentence is a document.
#[expect(clippy::cast_precision_loss, reason = "counts of sentences, far below 2^24")]
fn inverse_frequency(frequency: usize, count: usize) -> f32 {
    let (frequency, count) = (frequency as f32, count as f32);
    (1.0 + (count - frequency + 0.5) / (frequency + 0.5)).ln()
}
