//! The result of one row of an import: for the report, for continuing the import, and for undoing it.

use sea_orm::entity::prelude::*;
use values::id::{ImportId, ImportRowId, UserId};
use values::kind::{ImportedKind, RowOutcome};

/// The result of one row of an import: for the report, for continuing the import, and for undoing it.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "import_row")]
pub struct Model {
    /// Id of the row in this table; the file does not contain it.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: ImportRowId,
    /// The import to which the row belongs.
    pub import_id: ImportId,
    /// The user who owns it.
    pub user_id: UserId,
    /// Line in the file, from 1.
    pub line: i64,
    /// What the import did with the row.
    pub outcome: RowOutcome,
    /// Kind of the object; `None` if the row was skipped.
    pub kind: Option<ImportedKind>,
    /// Id of the object in the export.
    pub source_id: Option<Uuid>,
    /// Id of the object that was created or found; `None` once an undo has deleted it or has found it deleted.
    pub object_id: Option<Uuid>,
    /// Title or URL in the file, cut, of a row that was skipped and of a row of a dry run; `None` for others, whose object has one.
    #[sea_orm(column_type = "Text", nullable)]
    pub name: Option<String>,
    /// The reason if the row was skipped; otherwise what the undo of the import and later imports of the same file need.
    #[sea_orm(column_type = "Text", nullable)]
    pub detail: Option<String>,
}

crate::owned::owned_table!();

impl Model {
    /// Returns whether the import created the object of the row, rather than found it.
    pub fn has_created(&self) -> bool {
        matches!(self.outcome, RowOutcome::Created | RowOutcome::Incidental)
    }
}

impl Entity {
    /// Returns the rows of an import, if it belongs to this user.
    pub fn within(user: UserId, import: ImportId) -> Select<Entity> {
        Self::owned_by(user).filter(Column::ImportId.eq(import))
    }
}
