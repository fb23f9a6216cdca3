//! Pauses and resumes imports. While an import is paused, no more rows are applied, and the pages that it created are not fetched.

use entity::bookmark;
use entity::import::{self, Column, Entity};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect};
use uuid::Uuid;
use values::id::{ImportId, UserId};
use values::kind::ImportState;
use values::time::Timestamp;

use super::{begin, created};
use crate::BATCH_ROWS;
use crate::context::CoreContext;
use crate::owned_transaction::begin_owned;
use errors::Error;

/// The error of a page's job whose import is paused.
const PAUSED: &str = "the import of this page is paused";

/// Pauses a running import, or the pages of a finished one.
///
/// # Errors
/// [`Error::NotFound`] when it does not exist or belongs to another user; [`Error::Conflict`] in any other state, and for a dry
/// run.
pub async fn pause(core: &CoreContext, user: UserId, id: ImportId) -> Result<import::Model, Error> {
    let from = [ImportState::Running, ImportState::Done];
    change_state(
        core,
        user,
        id,
        &from,
        ImportState::Paused,
        "only a running or finished import can be paused",
    )
    .await
}

/// Resumes a paused import, or one that failed, from where it stopped.
///
/// # Errors
/// [`Error::NotFound`] when it does not exist or belongs to another user; [`Error::Conflict`] in any other state, for a dry run,
/// and when the file was deleted.
pub async fn resume(core: &CoreContext, user: UserId, id: ImportId) -> Result<import::Model, Error> {
    let from = [ImportState::Paused, ImportState::Failed];
    change_state(core, user, id, &from, ImportState::Running, "only a paused or failed import can be resumed")
        .await
}

async fn change_state(
    core: &CoreContext,
    user: UserId,
    id: ImportId,
    from: &[ImportState],
    to: ImportState,
    rule: &str,
) -> Result<import::Model, Error> {
    let now = core.clock.now();
    let txn = begin_owned(&core.db, user).await?;
    let row = Entity::one_of(user, id).lock_exclusive().one(&txn).await?.ok_or(Error::not_found())?;
    if row.is_dry_run || !from.contains(&row.state) {
        return Err(state_conflict(rule, &row));
    }
    // All rows of a finished import were applied, so only its pages continue.
    let is_finished = row.finished_at.is_some() && row.error.is_none();
    let to = if to == ImportState::Running && is_finished { ImportState::Done } else { to };
    let finished_at = if to == ImportState::Running { None } else { row.finished_at };
    if to == ImportState::Running {
        begin::require_file(&txn, row.id).await?;
    }
    Entity::update_owned(user)
        .col_expr(Column::State, Expr::value(to))
        .col_expr(Column::Error, Expr::value(None::<String>))
        .col_expr(Column::FinishedAt, Expr::value(finished_at))
        .filter(Column::Id.eq(row.id))
        .exec(&txn)
        .await?;
    let row = import::Model { state: to, error: None, finished_at, ..row };
    if to == ImportState::Paused {
        postpone_pages(&txn, &row).await?;
    } else {
        release_pages(&txn, &row, now).await?;
    }
    if to == ImportState::Running {
        begin::enqueue_job(&txn, &row, now).await?;
    }
    txn.commit().await?;
    Ok(row)
}

/// Creates the error for an import whose state does not allow a change: the rule, and the state.
pub(super) fn state_conflict(rule: &str, import: &import::Model) -> Error {
    if import.is_dry_run {
        return Error::conflict(format!("{rule}; this one is a dry run"));
    }
    Error::conflict(format!("{rule}; this one is {}", import.state))
}

/// Postpones the jobs of the import's pages that no worker has claimed. A request for the same job, such as a refetch by the user,
/// makes it due in spite of the pause.
async fn postpone_pages(txn: &impl ConnectionTrait, import: &import::Model) -> Result<(), Error> {
    for bookmarks in created::list_bookmarks(txn, import).await?.chunks(BATCH_ROWS) {
        let documents = list_documents(txn, import.user_id, bookmarks).await?;
        if !documents.is_empty() {
            jobs::postpone(txn, import.user_id, documents, PAUSED).await?;
        }
    }
    Ok(())
}

/// Makes the postponed jobs of the import's pages due.
pub(super) async fn release_pages(
    txn: &impl ConnectionTrait,
    import: &import::Model,
    now: Timestamp,
) -> Result<(), Error> {
    for bookmarks in created::list_bookmarks(txn, import).await?.chunks(BATCH_ROWS) {
        let documents = list_documents(txn, import.user_id, bookmarks).await?;
        if !documents.is_empty() {
            jobs::release_postponed(txn, import.user_id, documents, PAUSED, now).await?;
        }
    }
    Ok(())
}

/// Lists the documents of a batch of bookmarks, which are the subjects of their jobs.
async fn list_documents(
    txn: &impl ConnectionTrait,
    user: UserId,
    bookmarks: &[Uuid],
) -> Result<Vec<Uuid>, Error> {
    // Short lists of ids: a table that has just grown has no statistics, and a join over it may take minutes on PostgreSQL.
    let own =
        bookmark::Entity::visible_to(user).filter(bookmark::Column::Id.is_in(bookmarks.iter().copied()));
    Ok(own.select_only().column(bookmark::Column::DocumentId).into_tuple().all(txn).await?)
}
