//! A step by which a change is undone.

use sea_orm::entity::prelude::*;
use values::id::{UndoId, UserId};

/// A step by which a change is undone. The steps are carried out from the last to the first.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "undo_step")]
pub struct Model {
    /// The change. The row is deleted with it.
    #[sea_orm(primary_key, auto_increment = false)]
    pub undo_id: UndoId,
    /// The user who made the change.
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    /// The number of the step, from 0.
    #[sea_orm(primary_key, auto_increment = false)]
    pub position: i32,
    /// The step as JSON: what to change, and on which bookmarks (`library::undo`).
    #[sea_orm(column_type = "Text")]
    pub step: String,
}

crate::owned::owned_table!();
