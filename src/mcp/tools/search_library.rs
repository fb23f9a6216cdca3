//! `search_library`: what it takes.

use errors::Error;
use validation::{Field, Values};
use actors::operations::search::{LIMIT, QUERY, Search};

/// What it takes.
pub const FIELDS: &[Field] = &[
    Field::required("query", QUERY, "What to look for, in words or as a question."),
    Field::optional("limit", LIMIT, "Passages at most; 8 when left out."),
];

/// Reads what was given.
pub fn read(mut values: Values) -> Result<Search, Error> {
    Ok(Search {
        query: values.text("query").unwrap_or_default(),
        limit: values.integer("limit"),
        collection: None,
        feed: None,
        source: None,
    })
}
