//! What an undo did, counted by the rows of its import.

use entity::import;
use entity::import_row::{Column, Entity};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, PaginatorTrait, QueryFilter};
use serde::Serialize;
use values::kind::{ImportState, ImportedKind, RowOutcome};

use super::super::rows::trace::ADDITION;
use crate::context::CoreContext;
use errors::Error;

/// The result of the undo of an import, or the result so far if it stopped before its end. Objects are bookmarks, feeds, collections
/// and projects, and the notes and decisions of projects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndoReport {
    /// Objects that the import created and that were deleted, by the undo or before.
    pub deleted: u64,
    /// Objects that the import created and that stay, because they were changed since or are in use.
    pub kept: u64,
    /// Rows of the file that added something to an object that existed before the import, such as tags, notes, highlights, or a
    /// place in a project. What they added stays.
    pub additions_kept: u64,
}

/// The kinds of objects that an undo deletes.
const DELETED_KINDS: [ImportedKind; 6] = [
    ImportedKind::Bookmark,
    ImportedKind::Collection,
    ImportedKind::Feed,
    ImportedKind::Project,
    ImportedKind::Note,
    ImportedKind::Decision,
];

/// Counts what the undo of an import did; `None` for an import that was not undone, or is being undone.
pub async fn load_undo_report(
    core: &CoreContext,
    import: &import::Model,
) -> Result<Option<UndoReport>, Error> {
    match import.state {
        ImportState::HalfUndone | ImportState::Undone => {}
        ImportState::Running
        | ImportState::DryRunDone
        | ImportState::Paused
        | ImportState::Done
        | ImportState::Failed
        | ImportState::Undoing => return Ok(None),
    }
    let db = core.db.read();
    let rows = Entity::within(import.user_id, import.id);
    let created = rows
        .clone()
        .filter(Column::Outcome.is_in([RowOutcome::Created, RowOutcome::Incidental]))
        .filter(Column::Kind.is_in(DELETED_KINDS));
    let deleted = created.clone().filter(Column::ObjectId.is_null());
    // A row that the undo decided about has no trace, so rows that an interrupted undo has not reached are in neither number.
    let kept = created.filter(Column::ObjectId.is_not_null()).filter(Column::Detail.is_null());
    let additions = rows
        .filter(Column::Outcome.is_in([RowOutcome::Created, RowOutcome::Updated]))
        .filter(Column::Detail.starts_with(ADDITION));
    Ok(Some(UndoReport {
        deleted: deleted.count(db).await?,
        kept: kept.count(db).await?,
        additions_kept: additions.count(db).await?,
    }))
}
