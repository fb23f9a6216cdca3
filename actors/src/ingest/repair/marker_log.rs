//! Raises the marker of the index as the index changes, and marks an index that is cleanly closed.

use std::time::Duration;

use database::Db;
use errors::Error;
use library::clock::Clock;
use search::index::Marker;
use search::index::marker::FileStamp;
use tracing::warn;

use super::context::RepairContext;
use super::watch::{IndexWatch, WatchState, has_passed};
use crate::service_state::{self, ServiceStateKey};

/// Shortest time between two markers, each of which is written to the disk and to the database.
const MARK_INTERVAL: Duration = Duration::from_secs(60);
/// Time for which an orderly stop reads files for their checksums.
const MAX_CHECKSUM_TIME: Duration = Duration::from_secs(3);

/// Raises the marker if the index has changed since it was raised last.
pub(super) async fn follow_changes(ctx: &RepairContext, state: &mut WatchState) {
    let changes = ctx.retrieval.engine().changes();
    let is_behind = state.marker.is_none() || changes != state.marked_changes;
    let is_due = has_passed(Some(state.marked_at), MARK_INTERVAL, ctx.core.clock.elapsed());
    let may_raise = is_behind && is_due && state.audit_request.is_none();
    if may_raise && ctx.index_watch.raise_marker(&ctx.core.db, state, &*ctx.core.clock).await {
        state.marked_changes = changes;
    }
}

/// Marks the index as cleanly closed: the next start finds out from its files whether they were changed since.
pub(super) async fn mark_closed(ctx: &RepairContext, state: &WatchState) -> Result<(), Error> {
    if ctx.index_watch.is_shared() {
        // The server of the index knows its files.
        return mark_last_changes(ctx, state).await;
    }
    // Without a marker the next start compares the index with the database. A marker would declare damaged files as good.
    if ctx.retrieval.engine().has_damage_failures() {
        return remove_marker(ctx).await;
    }
    let Some(marker) = state.marker.as_ref().filter(|_| state.audit_request.is_none()) else {
        return Ok(());
    };
    let Some(folder) = ctx.index_watch.store.folder().filter(|_| ctx.retrieval.engine().is_in_place()) else {
        return Ok(());
    };
    let folder = folder.path();
    // Durable first, then without writers: a later write would look like a change by others at the next start.
    ctx.retrieval.engine().commit().await?;
    ctx.retrieval.engine().abandon().await?;
    let files = tokio::task::spawn_blocking(move || FileStamp::all(&folder, MAX_CHECKSUM_TIME)).await;
    let files = files.map_err(Error::internal)?.map_err(Error::internal)?;
    let closed = Marker { files: Some(files), ..marker.next(ctx.core.clock.now()) };
    ctx.index_watch.write_marker(&ctx.core.db, &closed).await
}

/// Raises the marker of an index on a server if this server has changed the index since it was raised last.
async fn mark_last_changes(ctx: &RepairContext, state: &WatchState) -> Result<(), Error> {
    let is_behind = ctx.retrieval.engine().changes() != state.marked_changes;
    let is_known = state.audit_request.is_none() && !state.shared.is_unseen;
    match state.marker.as_ref().filter(|_| is_behind && is_known && ctx.index_watch.is_reachable()) {
        Some(marker) => {
            let raised = marker.next(ctx.core.clock.now());
            ctx.index_watch.write_marker(&ctx.core.db, &raised).await
        }
        None => Ok(()),
    }
}

async fn remove_marker(ctx: &RepairContext) -> Result<(), Error> {
    let Some(folder) = ctx.index_watch.store.folder() else { return Ok(()) };
    let folder = folder.path();
    let removed = tokio::task::spawn_blocking(move || Marker::remove(&folder)).await;
    removed.map_err(Error::internal)?.map_err(Error::internal)
}

impl IndexWatch {
    /// Raises the marker in the index and in the database, or creates the first one. Returns whether it could. If it could
    /// not, as on a full disk, the next start compares the index with the database.
    pub(super) async fn raise_marker(&self, db: &Db, state: &mut WatchState, clock: &dyn Clock) -> bool {
        let now = clock.now();
        let marker = state.marker.as_ref().map_or_else(|| Marker::first(now), |marker| marker.next(now));
        state.marked_at = clock.elapsed();
        match self.write_marker(db, &marker).await {
            Ok(()) => {
                state.marker = Some(marker);
                true
            }
            Err(error) => {
                warn!(cause = error.chain(), "could not write the marker of the passage index");
                false
            }
        }
    }

    /// Writes the marker into the index, then into the database.
    async fn write_marker(&self, db: &Db, marker: &Marker) -> Result<(), Error> {
        // The index first: a process that ends in between leaves one that is one ahead, which the next start accepts.
        let (store, written) = (self.store.clone(), marker.clone());
        let written = tokio::task::spawn_blocking(move || store.write_marker(&written));
        written.await.map_err(Error::internal)?.map_err(Error::internal)?;
        let row = marker.to_row().map_err(Error::internal)?;
        Ok(service_state::write(db.write(), ServiceStateKey::IndexMarker(self.store.id()), row).await?)
    }
}
