//! What became of a row of an import: for the report, for continuing the import, and for undoing it.

use crate::id::{ImportId, ImportRowId, UserId};
use crate::kind::{ImportedKind, RowOutcome};
use sea_orm::entity::prelude::*;

/// What became of a row of an import: for the report, for continuing the import, and for undoing it.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "import_row")]
pub struct Model {
    /// The row.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: ImportRowId,
    /// The import.
    pub import_id: ImportId,
    /// Whose it is.
    pub user_id: UserId,
    /// Where it stands in the file, from 1.
    pub line: i64,
    /// What came of it.
    pub outcome: RowOutcome,
    /// What it is; none of a row that was passed over.
    pub kind: Option<ImportedKind>,
    /// Its id in the export that it came from.
    pub source_id: Option<Uuid>,
    /// What it became, or what was there already; none once an undo has found the thing gone or deleted it.
    pub made_id: Option<Uuid>,
    /// Why it was passed over; of a dry run the name of the row; else what the undo of the import and later imports of the same
    /// file need of it.
    #[sea_orm(column_type = "Text", nullable)]
    pub detail: Option<String>,
}

crate::owned::owned_table!();

impl Model {
    /// Whether the import created the row's thing, rather than finding it.
    pub fn has_created(&self) -> bool {
        matches!(self.outcome, RowOutcome::Created | RowOutcome::Beside)
    }
}

impl Entity {
    /// The rows of an import, if it is this user's.
    pub fn within(user: UserId, import: ImportId) -> Select<Entity> {
        Self::owned_by(user).filter(Column::ImportId.eq(import))
    }
}
