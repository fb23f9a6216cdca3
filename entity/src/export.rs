//! Everything that a person has, packed into one file.

use crate::id::{ExportId, UserId};
use crate::kind::ExportState;
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// Everything that a person has, packed into one file.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "export")]
pub struct Model {
    /// The export.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: ExportId,
    /// Whose it is.
    pub user_id: UserId,
    /// How far it is.
    pub state: ExportState,
    /// How long the file is; while it is packed, so far; none before.
    pub bytes: Option<i64>,
    /// Why it failed, in words for the person.
    #[sea_orm(column_type = "Text", nullable)]
    pub error: Option<String>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
}

crate::owned::owned_table!(ExportId);
