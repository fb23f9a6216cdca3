//! A project of a user, with instructions, decisions, notes and sources.

use sea_orm::entity::prelude::*;
use values::id::{ProjectId, UserId};
use values::kind::ProjectStatus;
use values::time::Timestamp;

/// A project of a user, with instructions, decisions, notes and sources.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "project")]
pub struct Model {
    /// Id of the project.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: ProjectId,
    /// The user who owns it.
    pub user_id: UserId,
    /// Its name; names may repeat.
    pub name: String,
    /// Description by the user, if there is one.
    #[sea_orm(column_type = "Text", nullable)]
    pub description: Option<String>,
    /// Instructions for assistants; may be empty.
    #[sea_orm(column_type = "Text")]
    pub instructions: String,
    /// Whether it is active or archived.
    pub status: ProjectStatus,
    /// Time at which it was created.
    pub created_at: Timestamp,
    /// Time of the last change of the project or its contents; lists are sorted by it.
    pub updated_at: Timestamp,
}

crate::owned::owned_table!(ProjectId);
