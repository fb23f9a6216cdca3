//! The rows of an import, and what became of each.

use entity::id::ImportRowId;
use entity::import;
use entity::import_row::{Column, Entity, Model};
use entity::kind::RowOutcome;
use sea_orm::{ColumnTrait, Condition, QueryFilter, QueryOrder, QuerySelect};

use crate::context::CoreContext;
use errors::Error;

/// Which rows are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Only those of which this became; none is all that stand in the file.
    pub outcome: Option<RowOutcome>,
    /// Only those behind this one.
    pub after: Option<(i64, ImportRowId)>,
    /// How many at most.
    pub most: u64,
}

/// Rows in the order of the file.
///
/// # Errors
/// The database.
pub async fn rows(core: &CoreContext, import: &import::Model, wanted: Wanted) -> Result<Vec<Model>, Error> {
    let outcome = match wanted.outcome {
        Some(outcome) => Column::Outcome.eq(outcome),
        None => Column::Outcome.ne(RowOutcome::Incidental),
    };
    let behind = wanted.after.map(|(line, id)| {
        let same_line = Condition::all().add(Column::Line.eq(line)).add(Column::Id.gt(id));
        Condition::any().add(Column::Line.gt(line)).add(same_line)
    });
    let rows = Entity::within(import.user_id, import.id)
        .filter(outcome)
        .filter(behind.unwrap_or_else(Condition::all))
        .order_by_asc(Column::Line)
        .order_by_asc(Column::Id)
        .limit(wanted.most);
    Ok(rows.all(core.db.read()).await?)
}
