//! `search_library`: its arguments.

use actors::operations::search::{PassageLimit, QueryText, Search};
use errors::Error;
use validation::{Integer, request};

request! {
    /// The arguments of `search_library`.
    pub struct SearchLibraryArguments {
        /// What to search for: words or a question.
        pub query: QueryText,
        /// Maximum number of passages. Default 8.
        pub limit?: PassageLimit,
    }
}

/// Creates the operation from the arguments.
pub fn read(arguments: SearchLibraryArguments) -> Result<Search, Error> {
    Ok(Search {
        query: arguments.query.into_inner(),
        limit: arguments.limit.and_then(Integer::convert),
        collection: None,
        feed: None,
        source: None,
    })
}
