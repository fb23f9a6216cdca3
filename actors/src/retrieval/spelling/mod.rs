//! Correction of misspelt queries by the words of the user's library.

mod correction;
mod kept_vocabulary;
mod library_words;
mod pending_changes;
mod vocabularies;
mod vocabulary_files;

pub use correction::Correction;
pub use vocabularies::Vocabularies;
pub use vocabulary_files::VocabularyFiles;
