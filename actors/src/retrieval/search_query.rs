//! The query of a search for passages.

use library::bookmarks::BookmarkConditions;
use search::index::Filter;
use search::query_syntax::ParsedQuery;

/// A search for passages in the library of one user.
#[derive(Clone, Debug)]
pub struct SearchQuery {
    /// The query in the words of the user, in any language, divided by its operators.
    pub query: ParsedQuery,
    /// The part of the library to search: a source, a feed, a type or some documents; the default is all of it.
    pub within: Filter,
    /// Conditions on the bookmarks of the documents, which the rows of the found passages are tested for. `within` contains the documents
    /// that pass, as far as the database named them.
    pub bookmarks: BookmarkConditions,
    /// Maximum number of passages to return.
    pub limit: usize,
}
