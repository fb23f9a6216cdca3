//! `search_library`: its arguments.

use actors::operations::search::{PassageLimit, QueryText, Search, SearchRequest};
use errors::Error;
use validation::request;

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
pub fn build_operation(arguments: SearchLibraryArguments) -> Result<Search, Error> {
    let SearchLibraryArguments { query, limit } = arguments;
    Ok(Search(SearchRequest { query, limit, collection_id: None, feed_id: None, source: None }))
}
