//! The words of the metadata passage of a document, whose fields count differently.

use text::head;

use super::passage::count_words;
use super::weights::WordCounts;
use crate::index::{Language, SparseVector};

/// How often the words of the title and of the tags count: both say what the document is about.
const SUBJECT_TIMES: f32 = 3.0;
/// How often the words of the other fields count.
const DETAIL_TIMES: f32 = 1.0;
/// Characters of the excerpt that are analysed.
const MAX_EXCERPT_CHARS: usize = 8_000;
/// Characters of the highlights of a document and of the notes on them, all together, that are analysed. No passage of the text may have
/// their words: a note is the user's own, and a highlight stays when its text changes. They are mostly less than a tenth of this, and all
/// of them are some ten thousand distinct words at most, which take 80 kilobytes of the index.
pub const MAX_HIGHLIGHTS_CHARS: usize = 64_000;

/// What search finds a document by besides its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetadataFields {
    /// The title; empty if the document has none, or only its URL.
    pub title: String,
    /// The tags of its bookmark.
    pub tags: Vec<String>,
    /// The words of its URL ([`url_words`](super::url_words())).
    pub url_words: Vec<String>,
    /// The excerpt, such as the description that the page states. Only the first 8,000 characters count.
    pub excerpt: String,
    /// The highlights of its bookmark and the notes on them. Only the first 64,000 characters of all of them count
    /// ([`MAX_HIGHLIGHTS_CHARS`]).
    pub highlights: Vec<String>,
}

/// Analyses the metadata of a document. The words of its title and tags count three times.
#[must_use]
pub fn analyze_metadata(fields: &MetadataFields, language: Language) -> SparseVector {
    let MetadataFields { title, tags, url_words, excerpt, highlights } = fields;
    // Lists on separate lines, so that words of two items form no code and no n-gram.
    let (tags, url_words, highlights) = (tags.join("\n"), url_words.join("\n"), highlights.join("\n"));
    let mut counts = WordCounts::default();
    for (text, times) in [
        (title.as_str(), SUBJECT_TIMES),
        (tags.as_str(), SUBJECT_TIMES),
        (url_words.as_str(), DETAIL_TIMES),
        (head(excerpt, MAX_EXCERPT_CHARS), DETAIL_TIMES),
        (head(&highlights, MAX_HIGHLIGHTS_CHARS), DETAIL_TIMES),
    ] {
        count_words(text, times, language, &mut counts);
    }
    counts.into_metadata_weights()
}

#[cfg(test)]
mod tests {
    use super::super::query_terms::{merge_terms, query_terms};
    use super::*;

    /// Returns the weight of a word of the metadata; 0 if it does not have the word.
    fn weight(metadata: &SparseVector, word: &str) -> f32 {
        let asked = merge_terms(&query_terms(word, &[Language::English]));
        let weights = metadata.indices.iter().zip(&metadata.values);
        weights.filter(|(id, _)| asked.indices.contains(id)).map(|(_, weight)| *weight).sum()
    }

    #[test]
    fn titles_and_tags_count_more_than_other_fields() {
        let fields = MetadataFields {
            title: "heron".to_owned(),
            tags: vec!["waders".to_owned()],
            url_words: vec!["birds".to_owned()],
            excerpt: "pond".to_owned(),
            highlights: vec!["fish".to_owned(), "reeds".to_owned()],
        };

        let metadata = analyze_metadata(&fields, Language::English);

        let detail = weight(&metadata, "pond");
        assert!(detail > 0.0);
        for word in ["birds", "fish", "reeds"] {
            assert_eq!(weight(&metadata, word), detail, "{word}");
        }
        for word in ["heron", "waders"] {
            assert!(weight(&metadata, word) > detail, "{word}");
        }
    }

    #[test]
    fn word_weighs_more_in_a_short_title() {
        let of_title = |title: &str| {
            let fields = MetadataFields { title: title.to_owned(), ..MetadataFields::default() };
            weight(&analyze_metadata(&fields, Language::English), "heron")
        };

        assert!(
            of_title("heron") > of_title("A list of all birds that may be seen here, from duck to heron")
        );
    }

    #[test]
    fn long_highlights_are_cut() {
        let of_words = |words: usize| {
            let long = format!("{}heron", "x ".repeat(words));
            let fields = MetadataFields { highlights: vec![long], ..MetadataFields::default() };
            weight(&analyze_metadata(&fields, Language::English), "heron")
        };

        assert!(of_words(MAX_HIGHLIGHTS_CHARS / 2 - 3) > 0.0);
        assert_eq!(of_words(MAX_HIGHLIGHTS_CHARS / 2), 0.0);
    }
}
