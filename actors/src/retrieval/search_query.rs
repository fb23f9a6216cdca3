//! The query of a search for passages.

use search::index::Filter;

/// A search for passages in the library of one user.
#[derive(Clone, Debug)]
pub struct SearchQuery {
    /// The query in the words of the user, in any language.
    pub query: String,
    /// The part of the library to search: a source, a feed, a collection or some documents; the default is all of it.
    pub within: Filter,
    /// Maximum number of passages to return.
    pub limit: usize,
}
