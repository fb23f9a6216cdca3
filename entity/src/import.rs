//! An import of a file: the export of another program, or of Carrel.

use sea_orm::entity::prelude::*;
use values::id::{ImportId, UserId};
use values::kind::ImportState;
use values::time::Timestamp;

/// An import of a file: the export of another program, or of Carrel.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "import")]
pub struct Model {
    /// Id of the import, by which its progress is read.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: ImportId,
    /// The user who owns it.
    pub user_id: UserId,
    /// Name of the file as it was uploaded, without its folders.
    #[sea_orm(column_type = "Text", nullable)]
    pub file_name: Option<String>,
    /// State of the import, or of its undo.
    pub state: ImportState,
    /// Whether it is a dry run, which reports the result and changes nothing.
    pub is_dry_run: bool,
    /// Format of the file: given by the user, or detected.
    pub format: Option<String>,
    /// Columns of a table that are ignored, as a JSON list.
    #[sea_orm(column_type = "Text", nullable)]
    pub unread_columns: Option<String>,
    /// Number of rows that were processed, with any result. The import continues after them.
    pub done: i64,
    /// Number of objects that it created.
    pub created: i32,
    /// Number of existing objects that were updated.
    pub updated: i32,
    /// Number of rows that could not be imported.
    pub skipped: i32,
    /// Skipped rows that are not stored one by one, as JSON: their number by reason.
    #[sea_orm(column_type = "Text", nullable)]
    pub unlisted_faults: Option<String>,
    /// Number of skipped rows since the last one that was imported.
    pub faults_in_a_row: i32,
    /// Why it failed, as a message for the user.
    #[sea_orm(column_type = "Text", nullable)]
    pub error: Option<String>,
    /// Time at which the user requested it.
    pub created_at: Timestamp,
    /// Time at which it ended.
    pub finished_at: Option<Timestamp>,
}

crate::owned::owned_table!(ImportId);

impl Entity {
    /// Returns the imports of all users that were requested before `time` and are still marked as running, for the clean-up.
    pub fn running_since(time: Timestamp) -> Select<Entity> {
        // Spelled out, as in the partial index `import_running`.
        Self::find().filter(Column::CreatedAt.lt(time)).filter(Expr::cust("import.state = 'running'"))
    }
}
