//! The words of a question, as the index counts them, with weights: the rarer a word is among the passages, the larger.

use std::ops::Range;

use search::index::Language;
use search::lexical;
use text::chunk::sentences;
use unicode_segmentation::UnicodeSegmentation;

use crate::answerer::SourcePassage;

/// Minimum number of sentences for the weights. With fewer, a word that no sentence contains would outweigh all others together.
const MIN_SENTENCES: usize = 30;
/// Weight of a word that only the title of a sentence's document contains: the sentence may leave out what it is about, but one that
/// says it is nearer to the question.
const TITLE_WEIGHT: f32 = 0.5;

pub(super) struct QuestionWords {
    words: Vec<QuestionWord>,
    /// The sum of all weights; 0 if the question has no words.
    total_weight: f32,
    languages: Vec<Language>,
}

/// A word of a question.
struct QuestionWord {
    /// Its ids in the index, one for each language and spelling.
    ids: Vec<u32>,
    weight: f32,
    /// Whether it is a number, a code or a name: a text without it is about something else.
    is_specific: bool,
}

impl QuestionWord {
    /// Returns whether a text holds the word in any spelling. The ids of the text ascend.
    fn is_in(&self, text: &[u32]) -> bool {
        self.ids.iter().any(|id| text.binary_search(id).is_ok())
    }
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
        let terms = lexical::query_terms(question, &languages);
        let names = QuestionNames::of(question);
        let words = terms.into_iter().map(|term| QuestionWord {
            is_specific: term.text.contains(char::is_numeric) || names.has(&term.text),
            ids: term.sparse.indices,
            weight: 0.0,
        });
        let mut words = Self { words: words.collect(), total_weight: 0.0, languages };
        let texts = passages.iter().flat_map(|passage| {
            let text = &passage.text;
            sentences(text).map(move |range| text.get(range).unwrap_or_default())
        });
        let analysed: Vec<Vec<u32>> = texts.map(|sentence| words.ids(sentence)).collect();
        let count = analysed.len().max(MIN_SENTENCES);
        for word in &mut words.words {
            let frequency = analysed.iter().filter(|sentence| word.is_in(sentence)).count();
            word.weight = inverse_frequency(frequency, count);
        }
        words.total_weight = words.words.iter().map(|word| word.weight).sum();
        words
    }

    /// Returns whether the question has a number, a code or a name that none of these texts contains, whose words are given by their ids.
    pub fn has_specific_missing_from(&self, texts: &[Vec<u32>]) -> bool {
        let mut specific = self.words.iter().filter(|word| word.is_specific);
        specific.any(|word| !texts.iter().any(|text| word.is_in(text)))
    }

    /// Returns the weighted share of the question's words that a text contains, from 0 to 1.
    pub fn coverage(&self, text: &[u32]) -> f32 {
        self.coverage_with_title(text, &[])
    }

    /// Returns the weighted share of the question's words that a sentence contains, from 0 to 1. Those that only the title of its
    /// document contains count half.
    pub fn coverage_with_title(&self, sentence: &[u32], title: &[u32]) -> f32 {
        if self.total_weight <= 0.0 {
            return 0.0;
        }
        let weights = self.words.iter().map(|word| match word {
            word if word.is_in(sentence) => word.weight,
            word if word.is_in(title) => TITLE_WEIGHT * word.weight,
            _ => 0.0,
        });
        weights.sum::<f32>() / self.total_weight
    }

    /// Returns the ids of the words of a text, each once and in ascending order, analysed in each of the languages.
    pub fn ids(&self, text: &str) -> Vec<u32> {
        let mut ids: Vec<u32> = Vec::new();
        for language in &self.languages {
            ids.extend(lexical::analyze_passage("", text, *language).indices);
        }
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

/// The words of a question that are names: those with a capital letter, but for the first of each sentence.
struct QuestionNames<'a>(Vec<&'a str>);

impl<'a> QuestionNames<'a> {
    fn of(question: &'a str) -> Self {
        // German writes all nouns with a capital letter.
        if lexical::detect_language(question) == Language::German {
            return Self(Vec::new());
        }
        let of_sentence =
            |range: Range<usize>| question.get(range).unwrap_or_default().unicode_words().skip(1);
        let words = sentences(question).flat_map(of_sentence);
        Self(words.filter(|word| word.starts_with(char::is_uppercase)).collect())
    }

    /// Returns whether a word is one of the names, or part of one.
    fn has(&self, word: &str) -> bool {
        word.starts_with(char::is_uppercase) && self.0.iter().any(|name| name.contains(word))
    }
}

/// The inverse document frequency, where each sentence is a document.
#[expect(clippy::cast_precision_loss, reason = "counts of sentences, far below 2^24")]
fn inverse_frequency(frequency: usize, count: usize) -> f32 {
    let (frequency, count) = (frequency as f32, count as f32);
    (1.0 + (count - frequency + 0.5) / (frequency + 0.5)).ln()
}
