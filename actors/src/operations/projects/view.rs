//! The view of projects with the counts of their items.

use std::collections::HashMap;

use entity::{project, project_count};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};
use serde::Serialize;
use values::id::{ProjectId, UserId};
use values::kind::ProjectStatus;
use values::time::Timestamp;

use errors::Error;

/// A project in a list (spec.md: Project).
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectView {
    /// Id of the project, as other calls take it.
    pub id: ProjectId,
    /// Name that the user gave the project. Names need not be unique.
    pub name: String,
    /// Description of the project; null if it has none.
    pub description: Option<String>,
    /// `active`, or `archived` if the project cannot be changed.
    pub status: ProjectStatus,
    /// Number of items. The project's own notes are not items.
    pub item_count: u64,
    /// Number of items that are sources: all but notes.
    pub source_count: u64,
    /// When the project or its contents last changed.
    pub updated_at: Timestamp,
}

/// A project with its instructions.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectDetails {
    /// What lists show of it.
    #[serde(flatten)]
    pub view: ProjectView,
    /// The user's instructions for assistants; empty if there are none.
    pub instructions: String,
    /// When it was created.
    pub created_at: Timestamp,
}

/// A project, as it is after the request.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProjectResponse {
    /// The project after the request.
    pub project: ProjectDetails,
}

impl ProjectResponse {
    /// Returns the project without its instructions, as lists show it.
    pub fn into_view(self) -> ProjectView {
        self.project.view
    }
}

/// Returns a project with its instructions and counts.
pub async fn load_response(db: &impl ConnectionTrait, row: project::Model) -> Result<ProjectResponse, Error> {
    let (instructions, created_at) = (row.instructions.clone(), row.created_at);
    let view = load_views(db, row.user_id, vec![row]).await?.pop().ok_or(Error::not_found())?;
    Ok(ProjectResponse { project: ProjectDetails { view, instructions, created_at } })
}

/// Returns the views of projects of one user in their order, with one query.
pub async fn load_views(
    db: &impl ConnectionTrait,
    user: UserId,
    rows: Vec<project::Model>,
) -> Result<Vec<ProjectView>, Error> {
    let mut counts = counts(db, user, rows.iter().map(|row| row.id).collect()).await?;
    let views = rows.into_iter().map(|row| {
        // A trigger creates the counters with the project, so there are none only if they were deleted by hand.
        let count = counts.remove(&row.id);
        let number = |of: fn(&project_count::Model) -> i64| {
            count.as_ref().and_then(|count| u64::try_from(of(count)).ok()).unwrap_or_default()
        };
        ProjectView {
            id: row.id,
            name: row.name,
            description: row.description,
            status: row.status,
            item_count: number(|count| count.items),
            source_count: number(|count| count.sources),
            updated_at: row.updated_at,
        }
    });
    Ok(views.collect())
}

/// Returns the counters of projects of one user.
async fn counts(
    db: &impl ConnectionTrait,
    user: UserId,
    projects: Vec<ProjectId>,
) -> Result<HashMap<ProjectId, project_count::Model>, Error> {
    if projects.is_empty() {
        return Ok(HashMap::new());
    }
    let of_projects = project_count::Column::ProjectId.is_in(projects);
    let counts = project_count::Entity::owned_by(user).filter(of_projects).all(db).await?;
    Ok(counts.into_iter().map(|count| (count.project_id, count)).collect())
}
