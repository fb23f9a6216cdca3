//! The job of an import: its file's rows, some at a time, until there are none, somebody pauses it, or others are to have a
//! turn.

use std::time::{Duration, Instant};

use entity::id::ImportId;
use entity::kind::ImportState;
use entity::{import, job, stored_file};
use sandbox::import::ImportReader;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QuerySelect};
use storage::blobs::BlobError;

use super::take::{Taking, Unread};
use super::{Means, library, release_file, undo};
use actors::context::CoreContext;
use errors::Error;
use jobs::Priority;
use jobs::JobError;
use crate::documents::unread;
use crate::library_quota::LibraryRoom;
use crate::owned_transaction::begin_owned;

/// After so long others have a turn: or after four times as long as it took to come to the place where the turn before ended,
/// so that a long file is not read for that alone.
pub(super) const TURN: Duration = Duration::from_secs(30);
/// Told of an import that waits until more may be asked for.
const FULL: &str = "waiting until fewer documents are in the queue";
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// Runs the job.
///
/// # Errors
/// [`JobError`], as every job.
pub async fn run(core: &CoreContext, job: &job::Model) -> Result<(), JobError> {
    let found = import::Entity::one_of(job.user_id, ImportId(job.subject)).one(core.db.read()).await?;
    match found {
        Some(import) if import.state == ImportState::Running => take(ctx, job, import).await,
        Some(import) if import.state == ImportState::Undoing => undo::run(ctx, job, &import).await,
        Some(_) | None => Ok(jobs::finish(core.db.write(), job, core.clock.now()).await.map(drop)?),
    }
}

/// What an import is made with, of the running service.
pub fn means(core: &CoreContext) -> Means {
    Means { core: core.clone(), guard: ctx.fetcher.guard().clone(), store: ctx.uploads.store.clone() }
}

async fn take(core: &CoreContext, job: &job::Model, import: import::Model) -> Result<(), JobError> {
    let mut reading = open(ctx, &import).await?;
    let import = known(ctx, import, &reading).await?;
    let (mut began, mut taking) = (Instant::now(), Taking::new(means(ctx), import));
    taking.go_on(&mut reading).await.map_err(not_read)?;
    let turn = TURN.max(began.elapsed() * 4);
    began = Instant::now();
    let asks = !taking.import().dry_run;
    loop {
        if asks && !jobs::has_room(core.db.read(), job.user_id, Priority::Backlog).await? {
            return Err(JobError::Blocked { reason: FULL, after: LOOK_AGAIN });
        }
        let lot = taking.read(&mut reading).await.map_err(not_read)?;
        let now = core.clock.now();
        let txn = begin_owned(&core.db, job.user_id).await?;
        if asks {
            library::hold(&txn, job.user_id).await?;
        }
        let own = import::Entity::one_of(job.user_id, ImportId(job.subject)).lock_exclusive();
        if !own.one(&txn).await?.is_some_and(|import| import.state == ImportState::Running) {
            // Paused, or the account is gone.
            jobs::finish(&txn, job, now).await?;
            return Ok(txn.commit().await?);
        }
        if lot.is_empty() {
            if jobs::finish(&txn, job, now).await? {
                let ended = taking.end(&txn).await?;
                // A dry run reads its file again when it is started.
                if ended.state == ImportState::Done {
                    release_file(&txn, ended.id).await?;
                }
                txn.commit().await?;
            }
            return Ok(());
        }
        if asks && !jobs::has_room(&txn, job.user_id, Priority::Backlog).await? {
            return Err(JobError::Blocked { reason: FULL, after: LOOK_AGAIN });
        }
        if !jobs::advance(&txn, job, now).await? {
            return Err(JobError::LeaseLost);
        }
        let room = LibraryRoom::of_owner(&txn, ctx, job.user_id).await?;
        taking.take(&txn, lot).await?;
        // Nothing of a lot is taken that does not fit: the import ends, and goes on with this lot when it is resumed.
        room.must_hold(&txn).await?;
        if taking.is_stopped() {
            jobs::finish(&txn, job, now).await?;
        }
        txn.commit().await?;
        ctx.job_signal.notify();
        if taking.is_stopped() {
            return Ok(());
        }
        if began.elapsed() > turn {
            return Ok(jobs::yield_job(core.db.write(), job, 0, Priority::of(job), core.clock.now())
                .await
                .map(drop)?);
        }
    }
}

fn not_read(error: Unread) -> JobError {
    match error {
        Unread::Sandbox(error) => unread(error),
        Unread::Inside(error) => error.into(),
    }
}

/// The import's file, opened in a child.
async fn open(core: &CoreContext, import: &import::Model) -> Result<ImportReader, JobError> {
    let gone = || JobError::Permanent("the file of the import is missing; import it again".to_owned());
    let stored = stored_file::Entity::of_import(import.id).one(core.db.read()).await?.ok_or_else(gone)?;
    let local = match ctx.uploads.store.local_file(&stored.path).await {
        Ok(local) => local,
        Err(BlobError::Missing) => return Err(gone()),
        Err(error) => return Err(error.into()),
    };
    let path = local.path().to_owned();
    let file = tokio::task::spawn_blocking(move || std::fs::File::open(path)).await;
    let file = file.map_err(Error::internal)?.map_err(BlobError::from)?;
    let format = import.format.as_deref().and_then(|name| name.parse().ok());
    ctx.sandbox.open_import(file, format).await.map_err(unread)
}

/// Writes down what the file was found to be.
async fn known(core: &CoreContext, import: import::Model, reading: &ImportReader) -> Result<import::Model, JobError> {
    if import.format.is_some() && import.unread_columns.is_some() {
        return Ok(import);
    }
    let columns = serde_json::to_string(reading.unread_columns()).map_err(Error::internal)?;
    let known = import::Model {
        format: Some(reading.format().name().to_owned()),
        unread_columns: Some(columns),
        ..import
    };
    // The names of the columns count towards the library.
    let txn = begin_owned(&core.db, known.user_id).await?;
    import::Entity::update_many()
        .col_expr(import::Column::Format, Expr::value(known.format.clone()))
        .col_expr(import::Column::UnreadColumns, Expr::value(known.unread_columns.clone()))
        .filter(import::Column::UserId.eq(known.user_id))
        .filter(import::Column::Id.eq(known.id))
        .exec(&txn)
        .await?;
    txn.commit().await?;
    Ok(known)
}
