//! `get_project_context`: its arguments.

use actors::operations::projects::{CONTEXT_MAX_CHARS, ReadContext};
use actors::operations::search::QUERY;
use actors::operations::target::Target;
use errors::Error;
use validation::{Field, Kind, Values};

/// The fields of the arguments.
pub const FIELDS: &[Field] = &[
    Field::required("projectId", Kind::Id, "The project, as list_projects names it."),
    Field::optional("query", QUERY, "Adds the best passages from the project's sources and notes."),
    CONTEXT_MAX_CHARS,
];

/// Makes the operation from the arguments. Assistants see the pinned notes (spec.md: MCP server).
pub fn read(mut values: Values) -> Result<ReadContext, Error> {
    let project = values.id("projectId").map(|id| id.to_string());
    Ok(ReadContext {
        project: Target(project.into_iter().collect()).id(0)?,
        query: values.text("query"),
        max_chars: values.integer("maxChars"),
        pinned_notes: true,
    })
}
