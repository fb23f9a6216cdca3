//! An index on a Qdrant server, which all servers on the database share. Every check asks it for its marker: whether it answers, and
//! whether it is still the index that the maintainer left. Unlike a folder, the collection can be replaced by a snapshot at any time.

use std::sync::atomic::Ordering;

use database::Db;
use errors::Error;
use search::index::{AuditReason, IndexError, Marker, compare_server_markers};
use tracing::{info, warn};
use values::cause::error_chain;

use super::context::RepairContext;
use super::rows;
use super::watch::{AuditRequest, IndexWatch, WatchState};
use crate::retrieval::Completeness;
use crate::service_state::{self, ServiceStateKey};

/// Checks in a row that must find another marker before the index is compared: in a cluster a node may return the marker before the last.
const MIN_MARKER_MISMATCHES: u32 = 2;

/// Asks the server of the index for the marker. Returns whether it answered: otherwise nothing can be checked.
///
/// # Errors
/// [`Error::Internal`] when the server refuses the request or the database fails.
pub(super) async fn check_server(
    ctx: &RepairContext,
    state: &mut WatchState,
    is_maintainer: bool,
) -> Result<bool, Error> {
    let Some(server) = ctx.index_watch.store.server().cloned() else { return Ok(true) };
    let read = tokio::task::spawn_blocking(move || server.read_marker()).await.map_err(Error::internal)?;
    match read {
        Ok(found) => {
            note_reachable(ctx);
            if is_maintainer {
                compare(ctx, state, found.as_ref()).await?;
                announce_audit(ctx, state).await?;
            } else {
                follow(ctx).await?;
            }
            Ok(true)
        }
        // The collection was deleted: the maintainer creates it again.
        Err(IndexError::Blocked) => {
            note_reachable(ctx);
            Ok(true)
        }
        Err(failure @ IndexError::Unreachable { .. }) => {
            if ctx.index_watch.is_reachable.swap(false, Ordering::SeqCst) {
                let cause = error_chain(&failure);
                warn!(
                    cause,
                    "the server of the passage index is not reached; changes of the index wait for it"
                );
            }
            Ok(false)
        }
        Err(failure) => Err(Error::internal(failure)),
    }
}

fn note_reachable(ctx: &RepairContext) {
    if !ctx.index_watch.is_reachable.swap(true, Ordering::SeqCst) {
        info!("the server of the passage index is reached again");
        ctx.job_signal.notify();
    }
}

/// Compares the marker of the index with the one that this server wrote last.
async fn compare(ctx: &RepairContext, state: &mut WatchState, found: Option<&Marker>) -> Result<(), Error> {
    let reason = compare_server_markers(found, state.marker.as_ref());
    if state.shared.is_unseen {
        state.shared.is_unseen = false;
        state.audit_request = reason.map(|reason| AuditRequest::new(reason, found, ctx.core.clock.now()));
        return ctx.index_watch.assess(&ctx.core.db, &ctx.retrieval, state, &*ctx.core.clock).await;
    }
    // Without a marker of this server the first one is still to be written.
    let reason = reason.filter(|_| state.marker.is_some() && state.audit_request.is_none());
    let Some(reason) = reason else {
        state.shared.marker_mismatches = 0;
        return Ok(());
    };
    state.shared.marker_mismatches += 1;
    if state.shared.marker_mismatches >= MIN_MARKER_MISMATCHES {
        state.shared.marker_mismatches = 0;
        request_audit(ctx, state, reason, found);
    }
    Ok(())
}

fn request_audit(ctx: &RepairContext, state: &mut WatchState, reason: AuditReason, found: Option<&Marker>) {
    let reason = if reason == AuditReason::Missing { AuditReason::Removed } else { reason };
    warn!(reason = reason.description(), "the passage index was replaced: it is compared with the database");
    state.audit_request = Some(AuditRequest::new(reason, found, ctx.core.clock.now()));
    ctx.retrieval.engine().set_completeness(Completeness::Checking);
}

/// Tells the other servers whether the index is compared with the database.
async fn announce_audit(ctx: &RepairContext, state: &mut WatchState) -> Result<(), Error> {
    let is_requested = state.audit_request.is_some();
    if state.shared.announced_audit == Some(is_requested) {
        return Ok(());
    }
    let (db, key) = (ctx.core.db.write(), ServiceStateKey::IndexAudit);
    if is_requested {
        service_state::write(db, key, String::new()).await?;
    } else {
        service_state::forget(db, key).await?;
    }
    state.shared.announced_audit = Some(is_requested);
    Ok(())
}

/// Takes over what the maintainer found out of the index.
async fn follow(ctx: &RepairContext) -> Result<(), Error> {
    let db = ctx.core.db.read();
    let engine = ctx.retrieval.engine();
    if service_state::read_state(db, ServiceStateKey::IndexAudit).await?.is_some() {
        engine.set_completeness(Completeness::Checking);
    } else {
        let lost = rows::count_lost(db).await?;
        engine.set_completeness(engine.completeness().with_documents_left(lost));
    }
    Ok(())
}

impl IndexWatch {
    /// Begins to maintain a shared index that another server maintained before: its last marker is that of the database.
    pub(super) async fn succeed_follower(&self, db: &Db, state: &mut WatchState) -> Result<(), Error> {
        let row = service_state::read_state(db.read(), ServiceStateKey::IndexMarker(self.store.id())).await?;
        state.marker = row.as_deref().and_then(Marker::from_row);
        state.audit_request = None;
        state.shared.is_unseen = true;
        state.shared.was_follower = false;
        Ok(())
    }
}
