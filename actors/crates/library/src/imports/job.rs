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
use crate::app::App;
use crate::error::Error;
use crate::ingest::queue::{self, Priority};
use crate::ingest::{Failure, unread};
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
/// [`Failure`], as every job.
pub async fn run(app: &App, job: &job::Model) -> Result<(), Failure> {
    let found = import::Entity::one_of(job.user_id, ImportId(job.subject)).one(app.db.read()).await?;
    match found {
        Some(import) if import.state == ImportState::Running => take(app, job, import).await,
        Some(import) if import.state == ImportState::Undoing => undo::run(app, job, &import).await,
        Some(_) | None => Ok(queue::finish(app.db.write(), job, app.clock.now()).await.map(drop)?),
    }
}

/// What an import is made with, of the running service.
pub fn means(app: &App) -> Means {
    Means { desk: app.desk.clone(), guard: app.fetcher.guard().clone(), store: app.uploads.store.clone() }
}

async fn take(app: &App, job: &job::Model, import: import::Model) -> Result<(), Failure> {
    let mut reading = open(app, &import).await?;
    let import = known(app, import, &reading).await?;
    let (mut began, mut taking) = (Instant::now(), Taking::new(means(app), import));
    taking.go_on(&mut reading).await.map_err(not_read)?;
    let turn = TURN.max(began.elapsed() * 4);
    began = Instant::now();
    let asks = !taking.import().dry_run;
    loop {
        if asks && !queue::has_room(app.db.read(), job.user_id, Priority::Backlog).await? {
            return Err(Failure::Waiting { reason: FULL, after: LOOK_AGAIN });
        }
        let lot = taking.read(&mut reading).await.map_err(not_read)?;
        let now = app.clock.now();
        let txn = begin_owned(&app.db, job.user_id).await?;
        if asks {
            library::hold(&txn, job.user_id).await?;
        }
        let own = import::Entity::one_of(job.user_id, ImportId(job.subject)).lock_exclusive();
        if !own.one(&txn).await?.is_some_and(|import| import.state == ImportState::Running) {
            // Paused, or the account is gone.
            queue::finish(&txn, job, now).await?;
            return Ok(txn.commit().await?);
        }
        if lot.is_empty() {
            if queue::finish(&txn, job, now).await? {
                let ended = taking.end(&txn).await?;
                // A dry run reads its file again when it is started.
                if ended.state == ImportState::Done {
                    release_file(&txn, ended.id).await?;
                }
                txn.commit().await?;
            }
            return Ok(());
        }
        if asks && !queue::has_room(&txn, job.user_id, Priority::Backlog).await? {
            return Err(Failure::Waiting { reason: FULL, after: LOOK_AGAIN });
        }
        if !queue::advance(&txn, job, now).await? {
            return Err(Failure::LeaseLost);
        }
        let room = LibraryRoom::of_owner(&txn, app, job.user_id).await?;
        taking.take(&txn, lot).await?;
        // Nothing of a lot is taken that does not fit: the import ends, and goes on with this lot when it is resumed.
        room.must_hold(&txn).await?;
        if taking.is_stopped() {
            queue::finish(&txn, job, now).await?;
        }
        txn.commit().await?;
        app.ingest.wake();
        if taking.is_stopped() {
            return Ok(());
        }
        if began.elapsed() > turn {
            return Ok(queue::give_way(app.db.write(), job, 0, Priority::of(job), app.clock.now())
                .await
                .map(drop)?);
        }
    }
}

fn not_read(error: Unread) -> Failure {
    match error {
        Unread::Sandbox(error) => unread(error),
        Unread::Inside(error) => error.into(),
    }
}

/// The import's file, opened in a child.
async fn open(app: &App, import: &import::Model) -> Result<ImportReader, Failure> {
    let gone = || Failure::Permanent("the file of the import is missing; import it again".to_owned());
    let stored = stored_file::Entity::of_import(import.id).one(app.db.read()).await?.ok_or_else(gone)?;
    let local = match app.uploads.store.local_file(&stored.path).await {
        Ok(local) => local,
        Err(BlobError::Missing) => return Err(gone()),
        Err(error) => return Err(error.into()),
    };
    let path = local.path().to_owned();
    let file = tokio::task::spawn_blocking(move || std::fs::File::open(path)).await;
    let file = file.map_err(Error::internal)?.map_err(BlobError::from)?;
    let format = import.format.as_deref().and_then(|name| name.parse().ok());
    app.sandbox.open_import(file, format).await.map_err(unread)
}

/// Writes down what the file was found to be.
async fn known(app: &App, import: import::Model, reading: &ImportReader) -> Result<import::Model, Failure> {
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
    let txn = begin_owned(&app.db, known.user_id).await?;
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
