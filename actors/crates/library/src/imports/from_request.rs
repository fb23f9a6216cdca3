//! Imports whose rows come with a request rather than with a file: the feeds of an OPML document. They have no job.

use entity::import;
use parse::bookmarks::{Format, Row, RowContent};
use sea_orm::{EntityTrait, IntoActiveModel, QuerySelect};
use values::kind::ImportState;

use super::begin::NewImport;
use super::context::ImportContext;
use super::failure::mark_failed;
use super::library_lock::lock_library;
use super::reading::RowInput;
use super::session::ImportSession;
use crate::library_quota::LibraryRoom;
use crate::owned_transaction::{RequestOwner, begin_owned, begin_request};
use errors::{Error, INTERNAL_MESSAGE};

/// Rows that are imported by one transaction.
const TRANSACTION_ROWS: usize = 100;

/// Imports the rows of a request as a separate import, and returns it as it ended.
///
/// # Errors
/// [`Error::LibraryFull`] when the library has no room for the import itself, of which nothing is stored then, or for a batch. The
/// batches before the failure stay imported.
pub async fn import_rows(
    context: &ImportContext,
    owner: &RequestOwner,
    format: Format,
    rows: Vec<RowContent>,
) -> Result<import::Model, Error> {
    let (core, user) = (&context.core, owner.user);
    let new = NewImport { user, file_name: None, format: Some(format), dry_run: false };
    let import = new.row(core.clock.now());
    // Committed before the batches, so that they can refer to it, and so that an import that breaks off is listed as failed.
    let txn = begin_owned(&core.db, user).await?;
    let room = LibraryRoom::of_owner(&txn, core, user).await?;
    import::Entity::insert(import.clone().into_active_model()).exec_without_returning(&txn).await?;
    room.must_hold(&txn).await?;
    txn.commit().await?;
    let ended = apply_batches(context, owner, import.clone(), rows).await;
    if let Err(error) = &ended {
        // The reason is shown to the user, so the cause of an internal error is not in it.
        let full = matches!(error, Error::LibraryFull { .. }).then(|| error.to_string());
        let reason = full.as_deref().unwrap_or(INTERNAL_MESSAGE);
        mark_failed(core.db.write(), user, import.id, reason, core.clock.now()).await?;
    }
    ended
}

async fn apply_batches(
    context: &ImportContext,
    owner: &RequestOwner,
    import: import::Model,
    rows: Vec<RowContent>,
) -> Result<import::Model, Error> {
    let (core, user) = (&context.core, owner.user);
    let mut session = ImportSession::new(context.clone(), import);
    let mut rows = rows
        .into_iter()
        .zip(1..)
        .map(|(content, line)| RowInput::without_file(Row { line, content }))
        .peekable();
    while rows.peek().is_some() {
        let txn = begin_request(&core.db, owner).await?;
        lock_library(&txn, user).await?;
        // Pauses and undos lock this row too, so they come before or after a batch of rows, never within one.
        let own = import::Entity::one_of(user, session.import().id).lock_exclusive();
        match own.one(&txn).await?.ok_or(Error::not_found())? {
            // The user paused it meanwhile, or undoes it already.
            own if own.state != ImportState::Running => return Ok(own),
            _ => {}
        }
        let room = LibraryRoom::of_owner(&txn, core, user).await?;
        session.apply(&txn, rows.by_ref().take(TRANSACTION_ROWS).collect()).await?;
        room.must_hold(&txn).await?;
        txn.commit().await?;
        if session.is_stopped() {
            return Ok(session.import().clone());
        }
    }
    session.finish(core.db.write()).await
}
