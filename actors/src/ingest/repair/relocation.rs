//! Moves the index from the data folder to a Qdrant server, or back, while no server runs. Nothing is embedded.
//!
//! The rows describe the index at the old place until the copy is complete and verified. The new place is marked before the first passage
//! is written, so a server that starts with a copy that was interrupted compares it with the database, and completes it.

use database::Db;
use errors::Error;
use library::clock::Clock;
use search::index::{
    AuditReason, CopyError, CopyReport, EdgeIndex, IndexError, IndexFolder, IndexStore, Marker, OpenedIndex,
    ServerIndex, copy_passages,
};
use tokio::task::spawn_blocking;

use super::maintainer::wait_for_lock;
use super::model_change::clear_retired_model;
use super::rows;
use crate::ingest::model::IndexedModels;
use crate::service_state::{self, ServiceStateKey};

/// Why an index could not be moved. Messages name the places as [`IndexStore::description`] does.
#[derive(Debug, thiserror::Error)]
pub enum RelocationError {
    /// Another server on the database maintains an index.
    #[error(
        "a server on this database is running; stop all servers first, because nothing may change the index while it is moved"
    )]
    ServerRuns,
    /// There is nothing to move.
    #[error("{0} does not exist, so it cannot be moved")]
    Missing(String),
    /// The rows describe another index.
    #[error(
        "{0} is not the index that the server used last, so it is not moved; without a move the server fills an index from the database"
    )]
    NotInUse(String),
    /// The index lacks changes.
    #[error(
        "{place} {}, so it must be compared with the database before it can be moved; start the server with it once",
        .reason.description()
    )]
    Incomplete {
        /// The index that was to be moved.
        place: String,
        /// Why it lacks changes.
        reason: AuditReason,
    },
    /// The old or the new place could not be opened.
    #[error("{place} could not be opened")]
    Open {
        /// The index that was to be opened.
        place: String,
        /// Why it could not.
        #[source]
        source: IndexError,
    },
    /// The index could not be copied.
    #[error(
        "the index was not moved; the one that was used before is unchanged, and the command can be repeated"
    )]
    Copy(#[source] CopyError),
    /// A server changed the index meanwhile, or it lost passages.
    #[error(
        "the copy has {copied} passages, and the database expects {before} before and {after} after it was made; stop all servers, and \
         repeat the command, or start a server with the index to have it compared with the database"
    )]
    Changed {
        /// Passages of the copy.
        copied: usize,
        /// Passages that the rows expected before the copy was made.
        before: u64,
        /// Passages that they expected afterwards.
        after: u64,
    },
    /// The copy could not be marked as complete.
    #[error("the copy could not be marked as complete; the command can be repeated")]
    Mark(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database failed, or a thread could not run.
    #[error(transparent)]
    Other(#[from] Error),
}

/// A move of the index that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// What was copied.
    pub copy: CopyReport,
    /// The number of passages that the copy has beyond those that the database expects, such as those of a job that was interrupted. They may
    /// hide that others are missing, so the next start compares the index with the database if there are any.
    pub surplus: u64,
}

/// Moves the index `from` to `to`, in place of the index that is there. The index at the old place stays, and is not used any more. Calls
/// `on_progress` with the number of passages that were written so far. The caller ensures that no other process uses the data folder.
///
/// # Errors
/// [`RelocationError`]: then the rows still describe the index at the old place.
pub async fn relocate(
    db: &Db,
    from: &IndexStore,
    to: &IndexStore,
    clock: &dyn Clock,
    on_progress: impl Fn(usize) + Send + 'static,
) -> Result<Relocation, RelocationError> {
    if !wait_for_lock(db).await? {
        return Err(RelocationError::ServerRuns);
    }
    require_used(db, from).await?;
    let original = open_original(db, from, clock).await?;
    let copy = open_copy(db, to, clock).await?;
    if copy.found.is_none() {
        // In no row, so a server that starts with an interrupted copy compares it, and knows from when on it may be outdated.
        let as_of = original.found.as_ref().map_or_else(|| clock.now(), |marker| marker.as_of);
        write_marker(to, Marker { as_of, ..Marker::first(clock.now()) }).await?;
    }
    clear_retired_models(db, clock).await?;
    let before = expected_passages(db).await?;
    let copied = spawn_blocking(move || {
        // They are closed by the end of this, on a thread that may wait.
        let (original, copy) = (original.index, copy.index);
        copy_passages(&*original, &*copy, &on_progress)
    });
    let copy = copied.await.map_err(Error::internal)?.map_err(RelocationError::Copy)?;
    let surplus = require_unchanged(copy.passages, before, expected_passages(db).await?)?;
    record_move(db, to, surplus == 0, clock).await?;
    Ok(Relocation { copy, surplus })
}

async fn expected_passages(db: &Db) -> Result<u64, Error> {
    // Of the writer: another server may have written the rows.
    Ok(rows::expected_passages(db.write()).await?)
}

/// Refuses a copy that may lack passages. The lock says only that no server maintains the index: one that shares it on a Qdrant server may still
/// add to it. An index may hold more than the rows expect, such as passages of a job that was interrupted; these are copied too. Returns their
/// number.
fn require_unchanged(copied: usize, before: u64, after: u64) -> Result<u64, RelocationError> {
    let surplus = (copied as u64).checked_sub(after).filter(|_| before == after);
    surplus.ok_or(RelocationError::Changed { copied, before, after })
}

/// Refuses to move an index that the rows do not describe.
async fn require_used(db: &Db, store: &IndexStore) -> Result<(), RelocationError> {
    let used = read_state(db, ServiceStateKey::IndexMaintainer).await?;
    if used == Some(store.id().to_string()) {
        return Ok(());
    }
    Err(RelocationError::NotInUse(store.description()))
}

/// Forgets the vectors of models that are not searched any more: they are not copied, and no row may claim vectors that the index lacks, also
/// if one of these models is set again.
async fn clear_retired_models(db: &Db, clock: &dyn Clock) -> Result<(), Error> {
    let row = read_state(db, ServiceStateKey::IndexedModels).await?;
    let Some(models) = row.as_deref().and_then(IndexedModels::from_row) else { return Ok(()) };
    for name in &models.retired {
        clear_retired_model(db, &models, name, clock.now()).await?;
    }
    Ok(())
}

/// Opens the index that is moved. Refuses one that a server would compare with the database.
async fn open_original(
    db: &Db,
    store: &IndexStore,
    clock: &dyn Clock,
) -> Result<OpenedIndex, RelocationError> {
    let recorded = read_marker(db, store).await?;
    if !exists(store).await? {
        return Err(RelocationError::Missing(store.description()));
    }
    let incomplete = |reason| RelocationError::Incomplete { place: store.description(), reason };
    if let Some(folder) = store.folder() {
        // Before it is opened, because a damaged one would be replaced.
        let (path, recorded) = (folder.path(), recorded.clone());
        let examined = spawn_blocking(move || IndexFolder::examine(&path, recorded.as_ref()).1);
        if let Some(reason) = examined.await.map_err(Error::internal)? {
            return Err(incomplete(reason));
        }
    }
    let opened = open(store, recorded, clock).await?;
    match opened.audit_reason {
        Some(reason) => Err(incomplete(reason)),
        None => Ok(opened),
    }
}

/// Opens the index at the new place, or creates it there.
async fn open_copy(db: &Db, store: &IndexStore, clock: &dyn Clock) -> Result<OpenedIndex, RelocationError> {
    let recorded = read_marker(db, store).await?;
    open(store, recorded, clock).await
}

/// Returns whether there is an index at a place.
async fn exists(store: &IndexStore) -> Result<bool, RelocationError> {
    let store = store.clone();
    let found = spawn_blocking(move || match &store {
        IndexStore::Folder(folder) => Ok(EdgeIndex::exists_in(&folder.path())),
        IndexStore::Server(server) => match server.inspect() {
            Ok(report) => Ok(report.passages.is_some()),
            Err(source) => Err(RelocationError::Open { place: store.description(), source }),
        },
    });
    found.await.map_err(Error::internal)?
}

/// Opens an index. Unlike at the start of a server, a Qdrant server that does not answer is an error.
async fn open(
    store: &IndexStore,
    recorded: Option<Marker>,
    clock: &dyn Clock,
) -> Result<OpenedIndex, RelocationError> {
    let opened = match store {
        IndexStore::Folder(folder) => folder.open_on_thread(recorded, clock.now()).await,
        IndexStore::Server(server) => {
            let server = server.clone();
            let opened = spawn_blocking(move || ServerIndex::open_and_compare(&server, recorded.as_ref()));
            opened.await.map_err(Error::internal)?
        }
    };
    opened.map_err(|source| RelocationError::Open { place: store.description(), source })
}

/// Marks the copy as complete, and records that the rows describe it from now on. Without a record of its marker, unless it `is_exact`, the next
/// start compares it with the database.
async fn record_move(
    db: &Db,
    to: &IndexStore,
    is_exact: bool,
    clock: &dyn Clock,
) -> Result<(), RelocationError> {
    let marker = Marker::first(clock.now());
    write_marker(to, marker.clone()).await?;
    let row = marker.to_row().map_err(Error::internal)?;
    let recorded = async {
        let txn = db.begin().await?;
        let key = ServiceStateKey::IndexMarker(to.id());
        if is_exact {
            service_state::write(&txn, key, row).await?;
        } else {
            service_state::forget(&txn, key).await?;
        }
        service_state::write(&txn, ServiceStateKey::IndexMaintainer, to.id().to_string()).await?;
        Ok::<_, Error>(txn.commit().await?)
    };
    Ok(recorded.await?)
}

async fn write_marker(store: &IndexStore, marker: Marker) -> Result<(), RelocationError> {
    let store = store.clone();
    let written = spawn_blocking(move || store.write_marker(&marker));
    written.await.map_err(Error::internal)?.map_err(RelocationError::Mark)
}

async fn read_marker(db: &Db, store: &IndexStore) -> Result<Option<Marker>, Error> {
    let row = read_state(db, ServiceStateKey::IndexMarker(store.id())).await?;
    Ok(row.as_deref().and_then(Marker::from_row))
}

async fn read_state(db: &Db, key: ServiceStateKey) -> Result<Option<String>, Error> {
    Ok(service_state::read_state(db.read(), key).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_of_an_index_that_was_changed_is_refused() {
        let is_refused = |copied, before, after| {
            matches!(require_unchanged(copied, before, after), Err(RelocationError::Changed { .. }))
        };

        assert!(is_refused(4, 4, 5) && is_refused(5, 4, 5), "passages were added meanwhile");
        assert!(is_refused(4, 4, 3), "a text was replaced by a shorter one");
        assert!(is_refused(3, 4, 4), "the index had lost passages");
        assert_eq!(require_unchanged(4, 4, 4).unwrap(), 0);
        assert_eq!(require_unchanged(5, 4, 4).unwrap(), 1, "a job was interrupted before its last passages");
    }
}
