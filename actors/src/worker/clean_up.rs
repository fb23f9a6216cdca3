//! The clean-ups that run soon after the start and every hour.

use std::time::Duration;

use entity::{bookmark, document};
use errors::Error;
use library::context::CoreContext;
use library::owned_transaction::begin_owned;
use library::{exports, feeds, imports, undo, uploads};
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, DbErr, QueryFilter, QueryOrder, QuerySelect, Select};
use tracing::warn;
use values::id::BookmarkId;
use values::time::Timestamp;

use super::context::WorkerContext;
use crate::ai::answers;
use crate::auth::{limits, password_resets, sessions};
use crate::ingest::media;

/// Time for which finished jobs are kept.
const DONE_JOB_RETENTION: Duration = Duration::from_secs(24 * 3600);
/// Time for which jobs that were given up and are about no document are kept.
const GIVEN_UP_JOB_RETENTION: Duration = Duration::from_secs(90 * 24 * 3600);
/// Deleted bookmarks that are read together.
const BATCH_ROWS: u64 = 500;

/// Runs all clean-ups one after another. One that fails is logged and does not stop the others.
pub(super) async fn run(ctx: &WorkerContext) {
    let (core, now) = (&ctx.core, ctx.core.clock.now());
    log_failure("sessions", sessions::sweep(core).await);
    log_failure("password resets", password_resets::sweep(core).await);
    log_failure("counts of earlier days", limits::sweep(&core.db, now).await);
    log_failure("stored responses", ctx.idempotency.sweep(now).await);
    log_failure("claims of answers", answers::sweep(&core.db, now).await);
    // Jobs of documents that were given up are kept with their reason as long as the document exists.
    let ended_jobs = jobs::sweep(&core.db, now - DONE_JOB_RETENTION, now - GIVEN_UP_JOB_RETENTION).await;
    log_failure("ended jobs", ended_jobs);
    log_failure("jobs of unknown kinds", report_unknown_jobs(core).await);
    log_failure("sources of feeds", feeds::source::delete_unfollowed(core.db.write()).await);
    log_failure("uploads", uploads::sweep(core).await);
    log_failure("fetched recordings", media::recording_file::sweep(core).await);
    log_failure("exports", exports::sweep(core).await);
    log_failure("files of imports", imports::sweep(core).await);
    log_failure("undos", undo::delete_expired(core.db.write(), now).await);
    log_failure("deleted bookmarks", remove_deleted_bookmarks(ctx).await);
}

fn log_failure<E: Into<Error>>(what: &'static str, result: Result<(), E>) {
    if let Err(error) = result {
        let error: Error = error.into();
        warn!(cause = error.chain(), what, "could not finish a clean-up");
    }
}

/// Reports how many jobs wait for a version of the server that knows their kind.
async fn report_unknown_jobs(core: &CoreContext) -> Result<(), DbErr> {
    for (kind, waiting) in jobs::unknown_by_kind(core.db.read()).await? {
        warn!(job.kind = kind, waiting, "jobs wait for a version of Carrel that knows their kind");
    }
    Ok(())
}

/// Removes bookmarks that cannot be restored any more, with their documents, highlights and notes.
async fn remove_deleted_bookmarks(ctx: &WorkerContext) -> Result<(), Error> {
    let now = ctx.core.clock.now();
    let mut after = None;
    loop {
        let batch = expired_bookmarks(now, after).all(ctx.core.db.read()).await?;
        let Some(last) = batch.last() else { return Ok(()) };
        // By position and not by offset: a bookmark that could not be removed does not come up again in this clean-up.
        after = Some((last.deleted_at, last.id));
        for row in batch {
            log_failure("a deleted bookmark", remove_deleted_bookmark(ctx, &row, now).await);
        }
    }
}

/// Selects a batch of the bookmarks that cannot be restored any more, after the one with this deletion time and id. The order is that
/// of the index `bookmark_deleted`, so a batch reads no other bookmarks.
fn expired_bookmarks(
    now: Timestamp,
    after: Option<(Option<Timestamp>, BookmarkId)>,
) -> Select<bookmark::Entity> {
    let (deleted_at, id) = (bookmark::Column::DeletedAt, bookmark::Column::Id);
    let mut expired = bookmark::Entity::past_restore_period(now);
    if let Some((last_deleted_at, last_id)) = after {
        // A comparison of rows, because SQLite reads the alternatives of an OR one by one and sorts them.
        let position = Expr::tuple([deleted_at.into_expr(), id.into_expr()]);
        let last = Expr::tuple([Expr::value(last_deleted_at), Expr::value(last_id)]);
        expired = expired.filter(position.gt(last));
    }
    expired.order_by_asc(deleted_at).order_by_asc(id).limit(BATCH_ROWS)
}

async fn remove_deleted_bookmark(
    ctx: &WorkerContext,
    row: &bookmark::Model,
    now: Timestamp,
) -> Result<(), Error> {
    let of_bookmark = document::Column::BookmarkId.eq(row.id);
    let documents = document::Entity::with_hidden(row.user_id).filter(of_bookmark.clone());
    // The passages first: after a crash in between, the next clean-up finds the rows again. Passages without rows would be found
    // by an audit of the index only.
    for document in documents.all(ctx.core.db.read()).await? {
        ctx.retrieval.delete_document(row.user_id, document.id).await?;
    }
    let txn = begin_owned(&ctx.core.db, row.user_id).await?;
    document::Entity::delete_owned(row.user_id)
        .filter(of_bookmark)
        // It may have been restored since it was read.
        .filter(document::Column::HiddenAt.is_not_null())
        .exec(&txn)
        .await?;
    // The document of an entry stays with its feed.
    bookmark::Entity::delete_owned(row.user_id)
        .filter(bookmark::Column::Id.eq(row.id))
        .filter(bookmark::Column::DeletedAt.lt(now - bookmark::RESTORE_PERIOD))
        .exec(&txn)
        .await?;
    Ok(txn.commit().await?)
}

#[cfg(test)]
mod tests {
    use database::{Db, QueryPlan};
    use sea_orm::{DbBackend, QueryTrait};

    use super::*;

    #[actix::test]
    async fn expired_bookmarks_are_read_in_the_order_of_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = Db::open(&url).await.unwrap();
        let now = Timestamp::from_millis(1_714_996_800_000);
        let (first, next) = (None, Some((Some(now), BookmarkId::new(now))));

        for (after, range) in [(first, "(deleted_at<?)"), (next, "((deleted_at,id)>(?,?) AND deleted_at<?)")]
        {
            let batch = expired_bookmarks(now, after).build(DbBackend::Sqlite);
            let plan = QueryPlan::of(&db, batch).await.unwrap();

            assert!(plan.has_step(&format!("bookmark_deleted {range}")) && !plan.sorts(), "{plan:#?}");
        }
    }
}
