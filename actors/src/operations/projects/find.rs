//! Finds projects by their names.

use entity::project::Column;
use schemars::JsonSchema;
use sea_orm::{QueryFilter, QuerySelect};
use serde::Serialize;
use values::kind::ProjectStatus;
use values::scope::Scope;

use super::list::select_projects;
use super::view::{self, ProjectView};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::Operation;
use crate::operations::name_match::name_contains;
use errors::Error;

/// Finds the active projects whose names contain a text.
#[derive(Debug)]
pub struct FindProjects {
    /// The text; case does not count.
    pub words: String,
    /// The maximum number of projects.
    pub limit: u64,
}

/// The projects that were found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FindProjectsResponse {
    /// The projects, most recently active first.
    pub projects: Vec<ProjectView>,
}

impl Operation for FindProjects {
    type Reply = FindProjectsResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadProjects];

    fn count(reply: &FindProjectsResponse) -> Option<usize> {
        Some(reply.projects.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<FindProjectsResponse, Error> {
        let db = ctx.core.db.read();
        let found = select_projects(caller.user, Some(ProjectStatus::Active))
            .filter(name_contains(Column::Name, &self.words))
            .limit(self.limit);
        let projects = view::load_views(db, caller.user, found.all(db).await?).await?;
        Ok(FindProjectsResponse { projects })
    }
}
