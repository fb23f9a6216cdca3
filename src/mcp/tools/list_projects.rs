//! `list_projects`: what it takes.

use errors::Error;
use validation::{Field, Values};
use actors::operations::projects::{LIST_LIMIT, LIST_STATUS, ListProjects};

/// What it takes.
pub const FIELDS: &[Field] = &[LIST_STATUS, LIST_LIMIT];

/// Reads what was given.
pub fn read(values: Values) -> Result<ListProjects, Error> {
    Ok(ListProjects::from_values(values))
}
