//! Keeps the index whole: an index that is lost, partial, old, foreign or damaged is noticed at the start and while the
//! service runs, and filled again from the database while it serves.
//!
//! Three things tell of it, from cheap to dear. The [marker](search::index::marker) says at the start whether the
//! folder is the one that the service left. A [count](counts) of passages is compared with the database every minute. A
//! [comparison](audit) of every passage runs only after one of these, or a search that failed, gave a
//! [reason](search::index::audit_reason) for it. It writes down which documents are lost; jobs of the queue put these in again,
//! newest first and behind everything that a user waits for: first by their words, which takes moments, then by their
//! vectors. Until both are restored, search reports `degraded` to the affected users.
//!
//! After a crash nothing is lost: the marker is written only when a comparison has ended, and what it found is in rows.
//!
//! With several services on one database, only the [maintainer] of the index does this: the rows describe its index.

mod audit;
mod counts;
mod inspect;
mod maintainer;
mod marker_log;
mod rebuild;
mod reopen;
mod rows;
mod watch;

use database::Db;
use search::index::OpenedIndex;
use tracing::warn;

use crate::ingest::context::IngestContext;
use library::clock::Clock;
use errors::Error;
use crate::retrieval::Retrieval;
use watch::{Suspicion, Watched};

pub use inspect::{Inspection, inspect};
pub use watch::IndexWatch;

impl IndexWatch {
    /// Starts to watch an index that was opened, and to maintain it if no other service does. An empty index of an empty library is
    /// new, and needs no comparison.
    ///
    /// # Errors
    /// The database fails.
    pub async fn begin(
        db: &Db,
        retrieval: &Retrieval,
        opened: OpenedIndex,
        clock: &dyn Clock,
    ) -> Result<Self, Error> {
        let watch = Self::new(opened, clock);
        watch.begin_maintenance(db, retrieval, clock).await?;
        Ok(watch)
    }
}

/// Checks and repairs the index if this service maintains it: reopens it, counts, compares and follows a rebuild, each when
/// necessary. Called every two seconds.
///
/// # Errors
/// The database or the index fails; the next check goes on.
pub async fn check_index(ctx: &IngestContext) -> Result<(), Error> {
    let watch = &ctx.index_watch;
    let mut watched = watch.watched.lock().await;
    if !watch.maintain(&ctx.core.db, &ctx.retrieval, &mut watched, &*ctx.core.clock).await? {
        return Ok(());
    }
    if !ctx.disk.has_room() {
        // Whatever repairs the index adds to it.
        return Ok(());
    }
    watch.reopen_if_gone(ctx, &mut watched).await?;
    if watched.reopened_at.is_some() {
        // An index that is still to be replaced is neither counted nor compared.
        return Ok(());
    }
    if watched.suspicion.is_none() {
        watch.compare_counts(ctx, &mut watched).await?;
    }
    watch.compare_if_doubted(ctx, &mut watched).await?;
    watch.follow_rebuild(ctx, &mut watched).await?;
    watch.follow_changes(ctx, &mut watched).await;
    Ok(())
}

/// Notices that another service maintains the index, also while [`check_index`] compares it. Called every two seconds.
///
/// # Errors
/// The database fails: until it is reached again, no service counts as the maintainer.
pub async fn check_maintainer(ctx: &IngestContext) -> Result<(), Error> {
    ctx.index_watch.check_lock(&ctx.core.db).await
}

/// Closes the index at the end of the service, once nothing is written to it any more.
pub async fn close_index(ctx: &IngestContext) {
    // If a comparison or an opening is in progress, the next start finds the index as after a crash.
    ctx.index_watch.folder.cancel_opening();
    let Ok(watched) = ctx.index_watch.watched.try_lock() else { return };
    if !ctx.index_watch.is_maintainer() {
        return;
    }
    if let Err(error) = ctx.index_watch.mark_closed(ctx, &watched).await {
        warn!(cause = error.chain(), "could not mark the passage index as left in order");
    }
}
