//! How long the files of imports are kept, and the clean-up of imports that were abandoned.

use std::time::Duration;

use entity::import::{self, Column};
use entity::stored_file;
use jobs::JobKind;
use sea_orm::sea_query::{Expr, ExprTrait, Query};
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, EntityTrait, QueryFilter};
use values::id::{ImportId, UserId};
use values::kind::ImportState;

use super::failure::mark_failed;
use crate::context::CoreContext;
use errors::Error;

/// Time for which the file of a dry run or of a failed import is kept after the import began.
const FILE_RETENTION: Duration = Duration::from_secs(7 * 24 * 3600);
/// Age at which a running import without a job counts as abandoned. An import of rows that came with their request has no job
/// either, but a request ends long before.
const ABANDONED_AFTER: Duration = Duration::from_secs(24 * 3600);

/// Releases the files of imports that do not read them again or that were kept long enough, and marks abandoned imports as failed.
/// The rows of an import, which hold the outcome of the rows of its file, stay.
pub async fn sweep(core: &CoreContext) -> Result<(), Error> {
    let (db, now) = (core.db.write(), core.clock.now());
    // Undoing does not read the file, and one that broke off can only be undone further. A paused import whose rows are all in
    // resumes without its file; `release_files` leaves the other paused ones alone.
    let without_file = [ImportState::Done, ImportState::Paused, ImportState::HalfUndone, ImportState::Undone];
    let is_released = Condition::any()
        .add(Column::CreatedAt.lt(now - FILE_RETENTION))
        .add(Column::State.is_in(without_file));
    // Files of imports are few; without them the whole table of imports would be read.
    let has_file = Column::Id.in_subquery(stored_file::Entity::imports());
    let which = Condition::all().add(has_file).add(is_released);
    release_files(db, which).await?;
    let pending = jobs::jobs_for((import::Entity, Column::Id), JobKind::Import)
        .and_where(jobs::is_pending())
        .to_owned();
    let abandoned = import::Entity::running_since(now - ABANDONED_AFTER).filter(Expr::not_exists(pending));
    for import in abandoned.all(core.db.read()).await? {
        mark_failed(
            db,
            import.user_id,
            import.id,
            "the import was started and never finished; resume it or import the file again",
            now,
        )
        .await?;
    }
    Ok(())
}

/// Detaches its file from an import that does not read it again. The clean-up of the store deletes the file within seconds.
pub async fn release_file(txn: &impl ConnectionTrait, user: UserId, id: ImportId) -> Result<(), Error> {
    stored_file::Entity::update_owned(user)
        .col_expr(stored_file::Column::ImportId, Expr::value(None::<ImportId>))
        .filter(stored_file::Column::ImportId.eq(id))
        .exec(txn)
        .await?;
    Ok(())
}

/// Detaches their files from the imports that match, except from those that are running or were paused before their last row. The
/// clean-up of the store deletes the files within seconds.
pub async fn release_files(db: &impl ConnectionTrait, which: Condition) -> Result<(), Error> {
    let ended = Query::select()
        .column(Column::Id)
        .from(import::Entity)
        .cond_where(which)
        .and_where(Column::State.is_not_in([ImportState::Running, ImportState::Undoing]))
        // A paused import that has not finished resumes with the rest of its file.
        .and_where(Column::State.ne(ImportState::Paused).or(Column::FinishedAt.is_not_null()))
        .to_owned();
    stored_file::Entity::update_many()
        .col_expr(stored_file::Column::ImportId, Expr::value(None::<ImportId>))
        .filter(Expr::col(stored_file::Column::ImportId).in_subquery(ended))
        .exec(db)
        .await?;
    Ok(())
}
