//! Keeps the index complete. An index that is lost, partial, old, foreign or damaged is recognised at the start and while the
//! server runs, and filled again from the database while the server answers searches.
//!
//! There are three checks, from cheap to expensive. The [marker](search::index::marker) says at the start whether the folder is
//! the one that the server left. A count of passages (`counts`) is compared with the database every minute. A comparison of
//! every passage (`audit`) runs only after one of these, or requests that failed, gave a
//! [reason](search::index::AuditReason) for it. It records which documents are lost. Jobs of the queue index them again, the
//! newest first and after everything that a user waits for: first by their words, which takes moments, then by their vectors.
//! Until both are restored, search reports `degraded` to the affected users.
//!
//! The same checks follow a change of the embedding model (`model_change`), during which nothing counts as lost.
//!
//! Nothing is lost in a crash: the marker is written only when a comparison has ended, and what it found is in rows.
//!
//! With several servers on one database, only one of them does this (`maintainer`): the rows describe its index. The others leave their
//! folders as they are; on a Qdrant server they share its index, add to it, and follow its state (`shared`).

mod audit;
mod context;
mod counts;
mod inspect;
mod maintainer;
mod marker_log;
mod model_change;
mod model_rows;
mod rebuild;
mod relocation;
mod removed_users;
mod reopen;
mod rows;
mod shared;
mod watch;

use database::Db;
use errors::Error;
use library::clock::Clock;
use search::index::InitialIndex;
use tracing::warn;

use crate::retrieval::Retrieval;

pub use context::RepairContext;
pub use inspect::{Inspection, inspect};
pub use relocation::{Relocation, RelocationError, relocate};
pub use removed_users::purge_removed_users;
pub use watch::IndexWatch;

impl IndexWatch {
    /// Starts to watch the index, and to maintain it if no other server does. An empty index of an empty library is new, and needs
    /// no comparison. One that could not be opened for lack of space is opened once there is space.
    pub async fn begin(
        db: &Db,
        retrieval: &Retrieval,
        initial: InitialIndex,
        clock: &dyn Clock,
    ) -> Result<Self, Error> {
        let watch = Self::new(initial, clock);
        model_change::follow_record(db, retrieval).await?;
        watch.begin_maintenance(db, retrieval, clock).await?;
        Ok(watch)
    }
}

/// Checks and repairs the index if this server maintains it: reopens it, counts, compares and follows a rebuild, each when
/// necessary. A server that does not maintain it only opens an index that it could not open at its start. Called every two seconds.
///
/// # Errors
/// [`Error`] when the index fails; the next check continues.
pub async fn check_index(ctx: &RepairContext) -> Result<(), Error> {
    let watch = &ctx.index_watch;
    let mut state = watch.state.lock().await;
    let is_maintainer = watch.maintain(&ctx.core.db, &ctx.retrieval, &mut state, &*ctx.core.clock).await?;
    let model_record = model_change::follow_record(&ctx.core.db, &ctx.retrieval).await?;
    if !shared::check_server(ctx, &mut state, is_maintainer).await? {
        return Ok(());
    }
    let must_open = !ctx.retrieval.engine().has_index();
    if !is_maintainer && !must_open {
        return Ok(());
    }
    if !ctx.disk.has_room() {
        // A repair adds data to the index.
        return Ok(());
    }
    reopen::reopen_if_necessary(ctx, &mut state).await?;
    if !is_maintainer {
        // The state of an index that was just opened is that of an index which another server does not maintain.
        return watch.maintain(&ctx.core.db, &ctx.retrieval, &mut state, &*ctx.core.clock).await.map(drop);
    }
    if state.reopened_at.is_some() {
        // An index that is to be replaced is neither counted nor compared.
        return Ok(());
    }
    if state.audit_request.is_none() {
        counts::compare_counts(ctx, &mut state).await?;
    }
    rebuild::compare_if_suspicious(ctx, &mut state).await?;
    rebuild::follow_rebuild(ctx, &mut state).await?;
    // Before the change of the model, whose deletions may fail again and again.
    marker_log::follow_changes(ctx, &mut state).await;
    if let Some(record) = model_record {
        model_change::follow_change(ctx, &mut state, record).await?;
    }
    Ok(())
}

/// Checks that this server still maintains the index, also while [`check_index`] compares it. Called every two seconds.
///
/// # Errors
/// [`Error`] when the database fails. Until it is reached again, this server does not count as the maintainer.
pub async fn check_maintainer(ctx: &RepairContext) -> Result<(), Error> {
    ctx.index_watch.check_lock(&ctx.core.db).await
}

/// Closes the index at the end of the server, once nothing writes to it any more.
pub async fn close_index(ctx: &RepairContext) {
    // If a comparison or an opening is in progress, the next start finds the index as after a crash.
    ctx.index_watch.store.cancel_opening();
    let Ok(state) = ctx.index_watch.state.try_lock() else { return };
    if !ctx.index_watch.is_maintainer() {
        return;
    }
    if let Err(error) = marker_log::mark_closed(ctx, &state).await {
        warn!(cause = error.chain(), "could not mark the passage index as cleanly closed");
    }
}
