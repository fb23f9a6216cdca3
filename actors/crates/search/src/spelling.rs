//! The words of a library, and which of them is spelt almost like another word.

mod distance;
mod vocabulary;

pub use vocabulary::{Vocabulary, VocabularyBuilder, nearest_word};
