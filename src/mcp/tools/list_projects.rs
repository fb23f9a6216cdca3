//! `list_projects`: its arguments.

use actors::operations::projects::{ListProjects, ProjectLimit};
use errors::Error;
use validation::{Choice, request};
use values::kind::ProjectStatus;

request! {
    /// The arguments of `list_projects`.
    pub struct ListProjectsArguments {
        /// Status of the projects. Default `active`.
        pub status?: Choice<ProjectStatus>,
        /// Maximum number of projects. Default 20.
        pub limit?: ProjectLimit,
    }
}

/// Creates the operation from the arguments.
pub fn build_operation(arguments: ListProjectsArguments) -> Result<ListProjects, Error> {
    Ok(ListProjects::first_page(arguments.status, arguments.limit))
}
