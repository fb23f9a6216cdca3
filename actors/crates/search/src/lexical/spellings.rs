//! The ids of the spellings of one word: with and without accents, and with two letters for an umlaut.

use super::fold::{with_spelled_umlauts, without_accents};
use super::stem::word_id;
use crate::index::Language;

/// The ids of a word in one language: at least one, each once.
pub struct SpellingIds {
    ids: [u32; 3],
    count: usize,
}

impl SpellingIds {
    /// Returns the ids of a word in lower case.
    pub fn of(language: Language, word: &str) -> Self {
        let mut found = Self { ids: [word_id(language, word), 0, 0], count: 1 };
        for spelling in [without_accents(word), with_spelled_umlauts(language, word)].into_iter().flatten() {
            found.add(word_id(language, &spelling));
        }
        found
    }

    fn add(&mut self, id: u32) {
        if self.as_slice().contains(&id) {
            return;
        }
        if let Some(free) = self.ids.get_mut(self.count) {
            *free = id;
            self.count += 1;
        }
    }

    /// Returns the ids, that of the word as it is written first.
    pub fn as_slice(&self) -> &[u32] {
        self.ids.get(..self.count).unwrap_or_default()
    }

    /// Returns the factor of each id in a query. A passage has all spellings of its word, so that a word with accents weighs as much as
    /// one without.
    pub fn factor(&self) -> f32 {
        match self.count {
            0 | 1 => 1.0,
            2 => 1.0 / 2.0,
            _ => 1.0 / 3.0,
        }
    }
}
