//! Correction of misspelt queries by the words of the user's library.

mod correction;
mod vocabulary;

pub use correction::Correction;
pub use vocabulary::Vocabularies;
