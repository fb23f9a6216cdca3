//! An export of a user's whole library into one file.

use sea_orm::entity::prelude::*;
use values::id::{ExportId, UserId};
use values::kind::ExportState;
use values::time::Timestamp;

/// An export of a user's whole library into one file.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "export")]
pub struct Model {
    /// Id of the export, by which its progress is read.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: ExportId,
    /// The user who owns it.
    pub user_id: UserId,
    /// Whether the file is being written, is complete, or could not be written.
    pub state: ExportState,
    /// Length of the file in bytes; while the export runs, the bytes written so far; `None` before.
    pub bytes: Option<i64>,
    /// Why it failed, as a message for the user.
    #[sea_orm(column_type = "Text", nullable)]
    pub error: Option<String>,
    /// Time at which the user requested it.
    pub created_at: Timestamp,
    /// Time at which it ended.
    pub finished_at: Option<Timestamp>,
}

crate::owned::owned_table!(ExportId);
