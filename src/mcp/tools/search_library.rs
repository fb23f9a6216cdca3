//! `search_library`: its arguments.

use actors::operations::search::{LIMIT, QUERY, Search};
use errors::Error;
use validation::{Field, Values};

/// The fields of the arguments.
pub const FIELDS: &[Field] = &[
    Field::required("query", QUERY, "What to look for, in words or as a question."),
    Field::optional("limit", LIMIT, "Passages at most; 8 when left out."),
];

/// Makes the operation from the arguments.
pub fn read(mut values: Values) -> Result<Search, Error> {
    Ok(Search {
        query: values.text("query").unwrap_or_default(),
        limit: values.integer("limit"),
        collection: None,
        feed: None,
        source: None,
    })
}
