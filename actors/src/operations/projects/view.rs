//! The view of projects with the counts of their items.

use std::collections::HashMap;

use entity::{project, project_item};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect};
use serde::Serialize;
use values::id::{ProjectId, UserId};
use values::kind::{ItemKind, ProjectStatus};
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
    #[serde(flatten)]
    view: ProjectView,
    /// The user's instructions for assistants; empty if there are none.
    instructions: String,
    created_at: Timestamp,
}

/// A project, as it is after the request.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProjectResponse {
    project: ProjectDetails,
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
        let count = counts.remove(&row.id).unwrap_or_default();
        ProjectView {
            id: row.id,
            name: row.name,
            description: row.description,
            status: row.status,
            item_count: count.items,
            source_count: count.sources,
            updated_at: row.updated_at,
        }
    });
    Ok(views.collect())
}

#[derive(Default)]
struct ItemCount {
    items: u64,
    sources: u64,
}

async fn counts(
    db: &impl ConnectionTrait,
    user: UserId,
    projects: Vec<ProjectId>,
) -> Result<HashMap<ProjectId, ItemCount>, Error> {
    if projects.is_empty() {
        return Ok(HashMap::new());
    }
    let rows: Vec<(ProjectId, ItemKind, i64)> = project_item::Entity::visible_to(user)
        .filter(project_item::Column::ProjectId.is_in(projects))
        .select_only()
        .columns([project_item::Column::ProjectId, project_item::Column::Kind])
        .column_as(project_item::Column::Id.count(), "items")
        .group_by(project_item::Column::ProjectId)
        .group_by(project_item::Column::Kind)
        .into_tuple()
        .all(db)
        .await?;
    let mut found: HashMap<ProjectId, ItemCount> = HashMap::new();
    for (project, kind, items) in rows {
        let items = u64::try_from(items).unwrap_or_default();
        let count = found.entry(project).or_default();
        count.items += items;
        count.sources += if kind == ItemKind::Note { 0 } else { items };
    }
    Ok(found)
}
