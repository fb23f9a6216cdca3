//! The text of a page: from content that was handed over with the document, or from the page at its URL.

mod article;
mod fetch;
mod source;

pub use fetch::{DetectedContent, fetch};
pub use source::{find_readable_source, has_given_up_source, read_source};
