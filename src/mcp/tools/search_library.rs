//! `search_library`: its arguments.

use actors::operations::search::{PassageLimit, QueryText, Search, SearchRequest};
use errors::Error;
use validation::request;

request! {
    /// The arguments of `search_library`.
    pub struct SearchLibraryArguments {
        /// The search query, in natural language or keywords. `"..."` finds only what contains the phrase, `-word` leaves out what contains
        /// the word.
        pub query: QueryText,
        /// Maximum number of passages. Default 8.
        pub limit?: PassageLimit,
    }
}

/// Creates the operation from the arguments.
pub fn build_operation(arguments: SearchLibraryArguments) -> Result<Search, Error> {
    let SearchLibraryArguments { query, limit } = arguments;
    Ok(Search(SearchRequest::of_library(query, limit)))
}
