//! A file of another program, or an export, that a person brought.

use crate::id::{ImportId, UserId};
use crate::kind::ImportState;
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// A file of another program, or an export, that a person brought.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "import")]
pub struct Model {
    /// The import.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: ImportId,
    /// Whose it is.
    pub user_id: UserId,
    /// Name of the file as it came, without its folders.
    #[sea_orm(column_type = "Text", nullable)]
    pub file_name: Option<String>,
    /// How far it is.
    pub state: ImportState,
    /// It is only looked at what would come of it.
    pub dry_run: bool,
    /// Which program wrote the file: as the person said, or as it was found.
    pub format: Option<String>,
    /// Columns of a table that are not read, as a list in JSON.
    #[sea_orm(column_type = "Text", nullable)]
    pub unread_columns: Option<String>,
    /// Rows of the file that are done.
    pub done: i64,
    /// Things that were made.
    pub created: i32,
    /// Things that were there and got something.
    pub updated: i32,
    /// Rows that were passed over.
    pub skipped: i32,
    /// Rows that were passed over and are not kept one by one, as JSON: their number by reason.
    #[sea_orm(column_type = "Text", nullable)]
    pub unlisted_faults: Option<String>,
    /// Rows that were passed over since the last one that was taken in.
    pub faults_in_a_row: i32,
    /// Why it failed, in words for the person.
    #[sea_orm(column_type = "Text", nullable)]
    pub error: Option<String>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
}

crate::owned::owned_table!(ImportId);
