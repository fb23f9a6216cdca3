//! Corrects the spelling of a query by the words of a library.

use search::lexical::{WordSequence, detect_language, is_stop_word, query_terms};
use search::query_syntax::ParsedQuery;
use search::spelling::Vocabulary;

/// Maximum number of words of a query that are looked for in the vocabulary, the first ones: each is compared with many of its words.
const MAX_COMPARED_WORDS: usize = 8;

/// A query whose misspelt words are replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction {
    /// The query with the replaced words.
    pub query: ParsedQuery,
    /// Its text, as a user would type it.
    pub text: String,
}

impl Correction {
    /// Replaces each word of a query that the vocabulary does not have by the one that is spelt almost like it; stop words, words with
    /// digits, words that resemble nothing but stop words, and those after the first eight others stay. `None` if no word is replaced, and
    /// for a query with phrases, which are meant as they are written.
    pub fn of(query: &ParsedQuery, vocabulary: &Vocabulary) -> Option<Self> {
        if !query.phrases.is_empty() {
            return None;
        }
        let words = correct_words(&query.words, vocabulary)?;
        let mut text = words.clone();
        for excluded in &query.excluded {
            let quote = if excluded.contains(char::is_whitespace) { "\"" } else { "" };
            text.extend([" -", quote, excluded.as_str(), quote]);
        }
        let query = ParsedQuery { plain: words.clone(), words, ..query.clone() };
        Some(Self { query, text })
    }
}

/// Returns a text with its misspelt words replaced; `None` if there are none.
fn correct_words(text: &str, vocabulary: &Vocabulary) -> Option<String> {
    let language = detect_language(text);
    let terms = query_terms(text, &[language]);
    let content: Vec<WordSequence> = terms.iter().map(|term| WordSequence::of(&term.text)).collect();
    let mut corrected = String::with_capacity(text.len());
    let (mut is_corrected, mut compared) = (false, 0);
    // Each word with what stands between it and the next one.
    for part in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let word = part.trim_end_matches(|c: char| !c.is_alphanumeric());
        let is_compared = compared < MAX_COMPARED_WORDS && content.contains(&WordSequence::of(word));
        compared += usize::from(is_compared);
        // Nearly every text has a stop word: it would be no answer to a short word that the library lacks.
        let is_meant = |nearest: &str| !is_stop_word(language, nearest);
        let nearest = if is_compared { vocabulary.nearest(word, is_meant) } else { None };
        match nearest {
            Some(nearest) => {
                is_corrected = true;
                corrected.push_str(nearest);
                corrected.push_str(part.strip_prefix(word).unwrap_or_default());
            }
            None => corrected.push_str(part),
        }
    }
    is_corrected.then_some(corrected)
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
        Correction::of(&ParsedQuery::of(query), &vocabulary.build()).map(|correction| correction.text)
    }

    #[test]
    fn misspelt_words_are_replaced() {
        let texts = ["Ignaz Semmelweis washed his hands.", "Penicillin was found by chance.", "Crème brûlée"];
        for (query, expected) in [
            ("Semelweis", Some("semmelweis")),
            ("who is Semelweis?", Some("who is semmelweis?")),
            ("penicilin, semelweis", Some("penicillin, semmelweis")),
            ("creme bruleee", Some("creme brulee")),
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

        let correction = Correction::of(&written, &vocabulary.build()).unwrap();

        assert_eq!(ParsedQuery::of(&correction.text), correction.query);
    }
}
