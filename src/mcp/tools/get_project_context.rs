//! `get_project_context`: its arguments.

use actors::operations::projects::{ContextChars, ReadContext};
use actors::operations::search::QueryText;
use errors::Error;
use validation::{Id, Integer, Words, request};
use values::id::ProjectId;

request! {
    /// The arguments of `get_project_context`.
    pub struct GetProjectContextArguments {
        /// Id of the project, as returned by list_projects.
        pub project_id: Id<ProjectId>,
        /// Adds the best passages from the project's sources and notes.
        pub query?: QueryText,
        /// Maximum length of the response data, as compact JSON, in characters. Default 16000.
        pub max_chars?: ContextChars,
    }
}

/// Creates the operation from the arguments.
pub fn build_operation(arguments: GetProjectContextArguments) -> Result<ReadContext, Error> {
    Ok(ReadContext {
        project: arguments.project_id.into_inner(),
        query: arguments.query.map(Words::into_inner),
        max_chars: arguments.max_chars.and_then(Integer::convert),
        // Assistants see only the pinned notes; over REST the operation shows all (spec.md: MCP server).
        pinned_notes: true,
    })
}
