//! Records in the row of an import why it failed, or why it waits.

use entity::import::{Column, Entity};
use entity::job;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter};
use values::id::{ImportId, UserId};
use values::kind::ImportState;
use values::time::Timestamp;

/// Marks the import of a job as failed. Called in the transaction that gives up the job.
pub async fn record_failure(
    db: &impl ConnectionTrait,
    job: &job::Model,
    reason: &str,
    now: Timestamp,
) -> Result<(), DbErr> {
    mark_failed(db, job.user_id, ImportId(job.subject), reason, now).await
}

/// Records why the import of a job, or its undo, does not continue for now.
pub async fn record_wait(db: &impl ConnectionTrait, job: &job::Model, reason: &str) -> Result<(), DbErr> {
    Entity::update_owned(job.user_id)
        .col_expr(Column::Error, Expr::value(reason))
        .filter(Column::Id.eq(ImportId(job.subject)))
        // A paused import shows no error: `pause::change_state` takes an error for a sign that not all rows were applied.
        .filter(Column::State.is_in([ImportState::Running, ImportState::Undoing]))
        .exec(db)
        .await
        .map(drop)
}

/// Marks a running import as failed, or a running undo as half done. Leaves an import in any other state as it is.
pub async fn mark_failed(
    db: &impl ConnectionTrait,
    user: UserId,
    id: ImportId,
    reason: &str,
    now: Timestamp,
) -> Result<(), DbErr> {
    // Conditional updates: the state may have changed since the job was claimed, and only these two can fail.
    let transitions =
        [(ImportState::Running, ImportState::Failed), (ImportState::Undoing, ImportState::HalfUndone)];
    for (from, to) in transitions {
        Entity::update_owned(user)
            .col_expr(Column::State, Expr::value(to))
            .col_expr(Column::Error, Expr::value(reason))
            .col_expr(Column::FinishedAt, Expr::value(Some(now)))
            .filter(Column::Id.eq(id))
            .filter(Column::State.eq(from))
            .exec(db)
            .await?;
    }
    Ok(())
}
