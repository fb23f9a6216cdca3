//! The texts of documents: how an extracted text replaces the one before it, and how it maps to its source.
//!
//! A text is stored as passages (`chunk` rows) of one version. [`replace_text`] stores the next version in the caller's transaction
//! and moves the highlights to it ([`crate::highlights`]). [`store_first_texts`] does so for many short texts of new documents.
//! [`mark_unindexed`] records that search is to find a change of documents that the index does not have yet.

mod first_texts;
mod parser_error;
mod places;
mod rendition;
mod retry;
mod source_map;
mod store;
mod supplied_content;
mod unindexed;
mod with_texts;

pub use first_texts::{StoredText, store_first_texts};
pub use parser_error::parser_job_error;
pub use places::{TextPlace, find_places};
pub use rendition::parse_outline;
pub use retry::retry_document;
pub use source_map::{PageSpan, SourceMap, SpokenSegment, TimedSpan};
pub use store::{ChunkedDocument, ExtractedDocument, current_text, replace_text};
pub use supplied_content::{MAX_SHORT_TEXT_LENGTH, PageContent, SuppliedContent, store_supplied_content};
pub use unindexed::{
    count_unindexed, mark_bookmarks_unindexed, mark_unindexed, unindexed_after_metadata,
    unindexed_after_text, unindexed_since,
};
pub use with_texts::insert_with_texts;
