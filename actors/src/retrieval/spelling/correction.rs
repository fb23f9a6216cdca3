//! Corrects the spelling of a query by the words of a library.

use std::sync::Arc;

use search::lexical::{WordSequence, detect_language, is_stop_word, query_terms};
use search::query_syntax::{ParsedQuery, without_quotation_marks};
use search::spelling::{Vocabulary, nearest_word};
use unicode_segmentation::UnicodeSegmentation;

/// Maximum number of words of a query that are looked for in the vocabulary, the first ones: each is compared with many of its words.
const MAX_COMPARED_WORDS: usize = 8;

/// Maximum number of letters of a word whose correction is doubtful: such a word resembles many others.
const MAX_DOUBTFUL_CHARS: usize = 4;

/// A query whose misspelt words are replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction {
    /// The query with the replaced words.
    pub query: ParsedQuery,
    /// Its text, as a user would type it. The words of the library are in lower case and without accents.
    pub text: String,
    /// The words of the library that replace others, as they are in the text.
    pub replacements: Vec<String>,
    /// Whether a word of at most four letters was replaced, so that the query may not be what was meant.
    pub is_doubtful: bool,
}

impl Correction {
    /// Replaces each word of a query that no vocabulary has by the one that is spelt almost like it; stop words, words with
    /// digits, words that resemble nothing but stop words, and those after the first eight others stay. `None` if no word is replaced, and
    /// for a query with phrases, which are meant as they are written.
    pub fn of(query: &ParsedQuery, vocabularies: &[Arc<Vocabulary>]) -> Option<Self> {
        if !query.phrases.is_empty() {
            return None;
        }
        // All quotation marks are text: there is no phrase.
        let written = without_quotation_marks(&query.words);
        let CorrectedWords { words, replacements, is_doubtful } = correct_words(&written, vocabularies);
        if replacements.is_empty() {
            return None;
        }
        let mut text = words.clone();
        for excluded in &query.excluded {
            let quote = if excluded.contains(char::is_whitespace) { "\"" } else { "" };
            text.extend([" -", quote, excluded.as_str(), quote]);
        }
        let query = ParsedQuery { plain: words.clone(), words, ..query.clone() };
        Some(Self { query, text, replacements, is_doubtful })
    }

    /// Returns the text with each replacement as one of these texts writes it, such as results: with its accents and capital letters.
    /// One that none of them has stays in lower case and without accents.
    pub fn text_as_in(&self, texts: &[&str]) -> String {
        let parts = self.text.split_inclusive(|c: char| !c.is_alphanumeric());
        let written = parts.map(|part| {
            let word = part.trim_end_matches(|c: char| !c.is_alphanumeric());
            let is_replacement = self.replacements.iter().any(|replacement| replacement == word);
            let spelling = if is_replacement { spelling_in(texts, word) } else { None };
            let after = part.strip_prefix(word).unwrap_or_default();
            [spelling.unwrap_or(word), after].concat()
        });
        written.collect()
    }
}

/// Returns how the first of these texts that has a folded word writes it.
fn spelling_in<'a>(texts: &[&'a str], folded: &str) -> Option<&'a str> {
    let folded = WordSequence::of(folded);
    let mut words = texts.iter().flat_map(|text| text.unicode_words());
    words.find(|word| WordSequence::of(word) == folded)
}

/// A text with its misspelt words replaced.
#[derive(Default)]
struct CorrectedWords {
    words: String,
    replacements: Vec<String>,
    is_doubtful: bool,
}

/// Replaces the misspelt words of a text.
fn correct_words(text: &str, vocabularies: &[Arc<Vocabulary>]) -> CorrectedWords {
    let language = detect_language(text);
    let terms = query_terms(text, &[language]);
    let content: Vec<WordSequence> = terms.iter().map(|term| WordSequence::of(&term.text)).collect();
    let mut corrected = CorrectedWords::default();
    let mut compared = 0;
    // Each word with what stands between it and the next one.
    for part in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let word = part.trim_end_matches(|c: char| !c.is_alphanumeric());
        let is_compared = compared < MAX_COMPARED_WORDS && content.contains(&WordSequence::of(word));
        compared += usize::from(is_compared);
        // Nearly every text has a stop word: it would be no answer to a short word that the library lacks.
        let is_meant = |nearest: &str| !is_stop_word(language, nearest);
        let words = vocabularies.iter().map(Arc::as_ref);
        let nearest = if is_compared { nearest_word(words, word, is_meant) } else { None };
        match nearest {
            Some(nearest) => {
                corrected.is_doubtful |= word.chars().count() <= MAX_DOUBTFUL_CHARS;
                corrected.replacements.push(nearest.to_owned());
                corrected.words.push_str(nearest);
                corrected.words.push_str(part.strip_prefix(word).unwrap_or_default());
            }
            None => corrected.words.push_str(part),
        }
    }
    corrected
}

#[cfg(test)]
mod tests {
    use search::spelling::VocabularyBuilder;

    use super::*;

    fn corrected(query: &str, texts: &[&str]) -> Option<String> {
        let mut vocabulary = VocabularyBuilder::default();
        for text in texts {
            vocabulary.add(text);
        }
        Correction::of(&ParsedQuery::of(query), &[Arc::new(vocabulary.build())])
            .map(|correction| correction.text)
    }

    #[test]
    fn misspelt_words_are_replaced() {
        let texts = ["Ignaz Semmelweis washed his hands.", "Penicillin was found by chance.", "Crème brûlée"];
        for (query, expected) in [
            ("Semelweis", Some("semmelweis")),
            ("who is Semelweis?", Some("who is semmelweis?")),
            ("penicilin, semelweis", Some("penicillin, semmelweis")),
            ("creme bruleee", Some("creme brulee")),
            ("\"penicilin  mold", Some("penicillin mold")),
            ("«penicilin -mold", Some("penicillin -mold")),
            ("penicilin -mold -\"bread and butter\"", Some("penicillin -mold -\"bread and butter\"")),
            ("penicillin", None),
            ("\"penicilin\"", None),
            ("flarbotron zebu3fa91c", None),
            ("", None),
        ] {
            assert_eq!(corrected(query, &texts).as_deref(), expected, "{query}");
        }
    }

    #[test]
    fn replacements_are_shown_as_the_library_writes_them() {
        let mut vocabulary = VocabularyBuilder::default();
        vocabulary.add("Die Kündigungsfrist beträgt drei Monate.");
        let correction =
            Correction::of(&ParsedQuery::of("Kündigungsfirst Monate?"), &[Arc::new(vocabulary.build())])
                .unwrap();

        assert_eq!(correction.text_as_in(&["Mietrecht", "Die Kündigungsfrist"]), "Kündigungsfrist Monate?");
        assert_eq!(correction.text_as_in(&["Mietrecht"]), "kundigungsfrist Monate?");
    }

    #[test]
    fn correction_of_a_short_word_is_doubtful() {
        let mut vocabulary = VocabularyBuilder::default();
        vocabulary.add("heron boat");
        let vocabularies = [Arc::new(vocabulary.build())];
        for (query, is_doubtful) in [("doat", true), ("herron", false), ("herron doat", true)] {
            let correction = Correction::of(&ParsedQuery::of(query), &vocabularies).unwrap();
            assert_eq!(correction.is_doubtful, is_doubtful, "{query}");
        }
    }

    #[test]
    fn only_the_first_words_are_compared() {
        for (query, expected) in [
            ("heron heron heron heron heron heron heron penicilin", true),
            ("heron heron heron heron heron heron heron heron penicilin", false),
        ] {
            assert_eq!(corrected(query, &["heron", "penicillin"]).is_some(), expected, "{query}");
        }
    }

    #[test]
    fn stop_words_replace_nothing() {
        assert_eq!(
            corrected("cat", &["what can be seen", "what can be heard", "a bat"]).as_deref(),
            Some("bat")
        );
        assert_eq!(corrected("cat", &["what can be seen"]), None);
    }

    #[test]
    fn stop_words_are_not_replaced() {
        assert_eq!(
            corrected("what is a penicilin", &["chat about penicillin"]).as_deref(),
            Some("what is a penicillin")
        );
    }

    #[test]
    fn corrected_query_means_its_text() {
        let mut vocabulary = VocabularyBuilder::default();
        vocabulary.add("penicillin");
        let written = ParsedQuery::of("penicilin -mold -\"night heron\"");

        let correction = Correction::of(&written, &[Arc::new(vocabulary.build())]).unwrap();

        assert_eq!(ParsedQuery::of(&correction.text), correction.query);
    }
}
