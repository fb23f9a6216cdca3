//! `search_library`: its arguments.

use actors::operations::search::{PassageLimit, QueryText, Search};
use errors::Error;
use validation::{Integer, request};

request! {
    /// The arguments of `search_library`.
    pub struct SearchLibraryArguments {
        /// What to look for, in words or as a question.
        pub query: QueryText,
        /// Passages at most; 8 when left out.
        pub limit?: PassageLimit,
    }
}

/// Makes the operation from the arguments.
pub fn read(arguments: SearchLibraryArguments) -> Result<Search, Error> {
    Ok(Search {
        query: arguments.query.into_inner(),
        limit: arguments.limit.and_then(Integer::convert),
        collection: None,
        feed: None,
        source: None,
    })
}
