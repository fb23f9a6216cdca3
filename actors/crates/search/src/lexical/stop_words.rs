//! The stop words of the languages, from the lists of the engine.

use std::sync::OnceLock;

use qdrant_edge::bm25_embed::{EdgeBm25, EdgeBm25Config};
use qdrant_edge::{DisabledStemmerParams, NoStemmer, StemmingAlgorithm, TokenizerType};

use crate::index::Language;

/// Returns whether a single word is a stop word of a language, in any case.
#[must_use]
pub fn is_stop_word(language: Language, word: &str) -> bool {
    // Built when a language first occurs: most libraries have one or two of the nineteen.
    static BUILT: [OnceLock<Option<EdgeBm25>>; Language::ALL.len()] =
        [const { OnceLock::new() }; Language::ALL.len()];
    #[expect(clippy::indexing_slicing, reason = "there is one place for each variant")]
    let list = BUILT[language as usize].get_or_init(|| build_list(language));
    // The engine does not say which words are stop words, but leaves them out.
    list.as_ref().is_some_and(|list| list.embed_query(word).indices.is_empty())
}

/// Returns an analyser that leaves out stop words and does nothing else; `None` for a language without a list.
#[expect(clippy::expect_used, reason = "a test builds every one of them, and they depend on nothing else")]
fn build_list(language: Language) -> Option<EdgeBm25> {
    let config = EdgeBm25Config {
        tokenizer: TokenizerType::Word,
        language: Some(engine_name(language)?.to_owned()),
        stemmer: Some(StemmingAlgorithm::Disabled(DisabledStemmerParams { r#type: NoStemmer::None })),
        ..EdgeBm25Config::default()
    };
    Some(EdgeBm25::new(config).expect("a language that the engine knows"))
}

/// Returns the engine's name of a language whose stop words are left out.
fn engine_name(language: Language) -> Option<&'static str> {
    match language {
        Language::Arabic => Some("arabic"),
        Language::Dutch => Some("dutch"),
        Language::English => Some("english"),
        Language::French => Some("french"),
        Language::German => Some("german"),
        Language::Greek => Some("greek"),
        Language::Italian => Some("italian"),
        Language::Portuguese => Some("portuguese"),
        Language::Russian => Some("russian"),
        Language::Spanish => Some("spanish"),
        Language::Swedish => Some("swedish"),
        Language::Turkish => Some("turkish"),
        // N-grams are in no list, and the engine has none of the others.
        Language::Chinese
        | Language::Hindi
        | Language::Japanese
        | Language::Korean
        | Language::Other
        | Language::Thai
        | Language::Vietnamese => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_those_of_the_language() {
        for (language, word) in [
            (Language::Dutch, "het"),
            (Language::English, "The"),
            (Language::French, "les"),
            (Language::German, "für"),
            (Language::Russian, "что"),
        ] {
            assert!(is_stop_word(language, word), "{word}");
        }
        for language in Language::ALL {
            assert!(!is_stop_word(language, "zebra"), "{language:?}");
        }
        assert!(!is_stop_word(Language::Other, "the"));
    }
}
