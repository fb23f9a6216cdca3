//! Lexical analysis: converts passages and queries to sparse vectors of words, weighted by BM25.
//!
//! A passage is analysed in its own language, a query in every language of the library, so that both produce the same words. The id of a
//! word is that of its stem in a language (`stem`), so that a stem matches no word of another language. Stop words are left out of
//! queries only: a passage that was analysed in the wrong language would otherwise be the only one that has `the`, and would lead every
//! search.
//!
//! What a passage has under several spellings, a query finds in each: words with accents and without (`fold`), codes as a whole, joined,
//! in parts (`codes`) and by their beginnings (`code_prefixes`), compounds by their first and last words (`compounds`). A code of a query is
//! never split: a word that stands nowhere would find its parts. A number that signs divide, such as a date, is one word of a query; its
//! parts find other texts with a low weight.

mod code_prefixes;
mod codes;
mod compounds;
mod detect;
mod fold;
mod metadata;
mod normalize;
mod passage;
mod query_terms;
mod spellings;
mod stem;
mod stop_words;
#[cfg(test)]
mod tests;
mod url_words;
mod weights;
mod word_sequence;
mod words;

pub use detect::detect_language;
pub(crate) use fold::{fold_word, lowercase_letter};
pub use metadata::{MAX_HIGHLIGHTS_CHARS, MetadataFields, analyze_metadata};
pub(crate) use normalize::{is_ngram_letter, unify};
pub use passage::analyze_passage;
pub(crate) use passage::{has_one_id, word_ids};
pub use query_terms::{
    QueryTerm, analyze_as_written, merge_terms, phrase_words, query_terms, terms_of_parts,
};
pub use stop_words::is_stop_word;
pub use url_words::url_words;
pub use word_sequence::WordSequence;
