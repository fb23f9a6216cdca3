//! A decision of a project.

use sea_orm::entity::prelude::*;
use values::id::{DecisionId, ProjectId, UserId};
use values::kind::DecisionStatus;
use values::time::Timestamp;

use crate::project;

/// A decision of a project.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "decision")]
pub struct Model {
    /// Id of the decision.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: DecisionId,
    /// The user who owns it.
    pub user_id: UserId,
    /// The project for which it was taken; the row is deleted with it.
    pub project_id: ProjectId,
    /// What was decided, in one line.
    pub title: String,
    /// The decision and its reasons.
    #[sea_orm(column_type = "Text")]
    pub body: String,
    /// Whether it is proposed, decided or rejected.
    pub status: DecisionStatus,
    /// Time since which the decision holds; `None` unless its status is decided.
    pub decided_at: Option<Timestamp>,
    /// Time at which it was recorded, whatever its status.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

crate::owned::owned_table!();

impl Entity {
    /// Returns the rows of one project.
    pub fn within(project: &project::Model) -> Select<Entity> {
        Self::owned_by(project.user_id).filter(Column::ProjectId.eq(project.id))
    }
}
