//! Correction of misspelt queries by the words of the user's library.

mod correction;
mod kept_vocabulary;
mod library_words;
mod pending_changes;
mod vocabularies;
mod vocabulary_files;
mod vocabulary_store;
mod vocabulary_updates;

pub use correction::Correction;
pub use vocabularies::{UserVocabularies, Vocabularies};
pub use vocabulary_files::VocabularyFiles;
