//! The numbers of items of a project. Triggers of the database update them with every change of an item or of its document (see
//! `migration::counters`); only a repair writes them otherwise.

use sea_orm::entity::prelude::*;
use values::id::{ProjectId, UserId};

/// The numbers of items of a project. The row is created and deleted with the project.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "project_count")]
pub struct Model {
    /// The owner of the project.
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    /// The project.
    #[sea_orm(primary_key, auto_increment = false)]
    pub project_id: ProjectId,
    /// Number of visible items.
    pub items: i64,
    /// Number of visible items that are not notes.
    pub sources: i64,
}

crate::owned::owned_table!();
