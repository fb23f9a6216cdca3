//! The question's words, as the index counts them, and what each is worth: the rarer among the passages, the more.

use std::collections::HashMap;

use search::index::Language;
use search::lexical;
use text::chunk::sentences;

use crate::answerer::Passage;

/// Among fewer sentences a word that stands in none would be worth more than all others together.
const LEAST_SENTENCES: usize = 30;

/// See the file's head.
pub(super) struct Words {
    /// Worth of each word.
    worth: HashMap<u32, f32>,
    /// Of all together.
    whole: f32,
    languages: Vec<Language>,
}

impl Words {
    /// Of a question to these passages.
    pub fn of(question: &str, passages: &[Passage]) -> Self {
        let mut languages: Vec<Language> = Vec::new();
        for passage in passages {
            let language = lexical::detect_language(&passage.text);
            if !languages.contains(&language) {
                languages.push(language);
            }
        }
        let asked = lexical::analyze_query(question, &languages);
        let mut words = Self { worth: HashMap::new(), whole: 0.0, languages };
        let mut holders: HashMap<u32, usize> = asked.indices.iter().map(|word| (*word, 0)).collect();
        let mut count = 0;
        for passage in passages {
            for range in sentences(&passage.text) {
                count += 1;
                let held = words.ids(passage.text.get(range).unwrap_or_default());
                held.iter().for_each(|word| {
                    holders.entry(*word).and_modify(|holders| *holders += 1);
                });
            }
        }
        let count = count.max(LEAST_SENTENCES);
        for (word, factor) in asked.indices.iter().zip(&asked.values) {
            let held = holders.get(word).copied().unwrap_or(0);
            words.worth.insert(*word, factor * rarity(held, count));
        }
        words.whole = words.worth.values().sum();
        words
    }

    /// The share of the question's words that the text holds, by their worth: 0 to 1.
    pub fn covered(&self, text: &str) -> f32 {
        if self.whole <= 0.0 {
            return 0.0;
        }
        let held: f32 = self.ids(text).iter().filter_map(|word| self.worth.get(word)).sum();
        held / self.whole
    }

    /// The text's words, each once, as any of the languages reads them.
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

/// The inverse document frequency, of sentences.
#[expect(clippy::cast_precision_loss, reason = "counts of sentences, far below 2^24")]
fn rarity(held: usize, count: usize) -> f32 {
    let (held, count) = (held as f32, count as f32);
    (1.0 + (count - held + 0.5) / (held + 0.5)).ln()
}
