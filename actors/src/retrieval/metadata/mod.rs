//! Finding documents by their metadata: title, words of the URL, excerpt, tags and highlights. Each document has a metadata passage in the
//! index, whose id is its own. It raises the scores of the passages of its document, and finds a document that has no text.

mod bonus;
mod highlight_texts;
mod hits;
mod source;

pub use bonus::{BONUS_SHARE, raise_passage_scores};
pub use hits::{DescribedDocument, read_described};
pub use source::{Annotations, MetadataSource, language_of};
