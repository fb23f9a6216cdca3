//! `list_projects`: its arguments.

use actors::operations::projects::{LIST_LIMIT, LIST_STATUS, ListProjects};
use errors::Error;
use validation::{Field, Values};

/// The fields of the arguments.
pub const FIELDS: &[Field] = &[LIST_STATUS, LIST_LIMIT];

/// Makes the operation from the arguments.
pub fn read(values: Values) -> Result<ListProjects, Error> {
    Ok(ListProjects::from_values(values))
}
