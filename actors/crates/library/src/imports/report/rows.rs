//! Lists the rows of an import.

use entity::import;
use entity::import_row::{Column, Entity, Model};
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, Condition, QueryFilter, QueryOrder, QuerySelect};
use values::id::ImportRowId;
use values::kind::RowOutcome;

use super::super::rows::faults::MAX_LISTED_FAULTS;
use crate::context::CoreContext;
use errors::Error;

/// Which rows of an import are listed, and from where on.
#[derive(Clone, Copy, Debug)]
pub struct RowQuery {
    /// Only rows with this outcome; all rows of the file if `None`.
    pub outcome: Option<RowOutcome>,
    /// Only rows after this line and id.
    pub after: Option<(i64, ImportRowId)>,
    /// The maximum number of rows.
    pub limit: u64,
}

/// Lists rows of an import in the order of the file.
pub async fn list_rows(
    core: &CoreContext,
    import: &import::Model,
    query: RowQuery,
) -> Result<Vec<Model>, Error> {
    let outcome = match query.outcome {
        Some(outcome) => Column::Outcome.eq(outcome),
        None => Column::Outcome.ne(RowOutcome::Incidental),
    };
    // By line and id, because several rows may have the same line.
    let after = query.after.map(|(line, id)| {
        // A comparison of pairs, of which both databases make one range of an index.
        let place = Expr::tuple([Column::Line, Column::Id].map(|column| Expr::col((Entity, column))));
        place.gt(Expr::tuple([Expr::value(line), Expr::value(id)]))
    });
    let rows = Entity::within(import.user_id, import.id)
        .filter(outcome)
        .filter(Condition::all().add_option(after))
        .order_by_asc(Column::Line)
        .order_by_asc(Column::Id)
        .limit(query.limit);
    Ok(rows.all(core.db.read()).await?)
}

/// Lists the first skipped rows of an import: the line of each, and the reason.
pub async fn list_skipped_rows(
    core: &CoreContext,
    import: &import::Model,
) -> Result<Vec<(i64, String)>, Error> {
    let rows = Entity::within(import.user_id, import.id)
        .filter(Column::Outcome.eq(RowOutcome::Skipped))
        .order_by_asc(Column::Line)
        .limit(u64::from(MAX_LISTED_FAULTS.unsigned_abs()))
        .all(core.db.read())
        .await?;
    Ok(rows.into_iter().map(|row| (row.line, row.detail.unwrap_or_default())).collect())
}
