//! A decision of a project.

use crate::id::{DecisionId, ProjectId, UserId};
use crate::kind::DecisionStatus;
use crate::project;
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// A decision of a project.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "decision")]
pub struct Model {
    /// The decision.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: DecisionId,
    /// Whose it is.
    pub user_id: UserId,
    /// The project.
    pub project_id: ProjectId,
    /// What it is about.
    pub title: String,
    /// What was decided, and why.
    #[sea_orm(column_type = "Text")]
    pub body: String,
    /// Where it stands.
    pub status: DecisionStatus,
    /// Since when it holds; only while it does.
    pub decided_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

crate::owned::owned_table!();

impl Entity {
    /// Those of one project.
    pub fn within(project: &project::Model) -> Select<Entity> {
        Self::owned_by(project.user_id).filter(Column::ProjectId.eq(project.id))
    }
}
