//! A person's project: what they work on, with instructions, decisions, notes and sources.

use crate::id::{ProjectId, UserId};
use crate::kind::ProjectStatus;
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// A person's project: what they work on, with instructions, decisions, notes and sources.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "project")]
pub struct Model {
    /// The project.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: ProjectId,
    /// Whose it is.
    pub user_id: UserId,
    /// Its name; names may repeat.
    pub name: String,
    /// What it is about.
    #[sea_orm(column_type = "Text", nullable)]
    pub description: Option<String>,
    /// What an assistant is to keep to; may be empty.
    #[sea_orm(column_type = "Text")]
    pub instructions: String,
    /// Whether it is worked on.
    pub status: ProjectStatus,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it, or anything in it, last changed: the order of the list.
    pub updated_at: Timestamp,
}

crate::owned::owned_table!(ProjectId);
