//! Compares an index that may be incomplete with the database, and follows the rebuild of what it lost.

use std::time::Duration;

use errors::Error;
use search::index::AuditReason;
use tokio::time::Instant;
use tracing::info;

use super::context::RepairContext;
use super::watch::{AuditRequest, WatchState, has_passed};
use super::{audit, rows};
use crate::retrieval::Completeness;

/// A comparison that failed is started again after this.
const COMPARISON_RETRY_DELAY: Duration = Duration::from_secs(60);
/// A rebuild that makes no progress for this long is enqueued again.
const STUCK_REBUILD_TIME: Duration = Duration::from_secs(60);

/// Compares the index with the database if there is a reason to, unless a comparison failed a moment ago.
pub(super) async fn compare_if_suspicious(ctx: &RepairContext, state: &mut WatchState) -> Result<(), Error> {
    let now = ctx.core.clock.elapsed();
    if let Some(audit_request) = state.audit_request
        && has_passed(state.comparison_failed_at, COMPARISON_RETRY_DELAY, now)
    {
        let compared = compare_passages(ctx, state, audit_request).await;
        state.comparison_failed_at = compared.is_err().then_some(now);
        compared?;
    }
    Ok(())
}

/// Compares the index with the database. When this returns, the jobs that restore what is missing are enqueued.
async fn compare_passages(
    ctx: &RepairContext,
    state: &mut WatchState,
    audit_request: AuditRequest,
) -> Result<(), Error> {
    let started = Instant::now();
    let findings = audit::compare(ctx, audit_request.stale).await?;
    // Only now: a comparison that failed or was interrupted starts again, because the request remains.
    state.audit_request = None;
    if audit_request.reason != AuditReason::CountMismatch {
        // A new generation of markers: a folder that has one of the old generation is not this index.
        state.marker = None;
    }
    ctx.index_watch.raise_marker(&ctx.core.db, state, &*ctx.core.clock).await;
    let lost = rows::count_lost(ctx.core.db.read()).await?;
    ctx.retrieval.engine().set_completeness(Completeness::Complete.with_documents_left(lost));
    info!(
        documents_lost = findings.documents_lost,
        passages_removed = findings.passages_removed,
        duration_ms = started.elapsed().as_millis(),
        "compared the passage index with the database"
    );
    Ok(())
}

/// Updates the progress of a rebuild, and enqueues lost documents again that have no job.
pub(super) async fn follow_rebuild(ctx: &RepairContext, state: &mut WatchState) -> Result<(), Error> {
    let before = ctx.retrieval.engine().completeness();
    if !matches!(before, Completeness::Rebuilding { .. }) {
        return Ok(());
    }
    let now = ctx.core.clock.elapsed();
    let lost = rows::count_lost(ctx.core.db.read()).await?;
    ctx.retrieval.engine().set_completeness(before.with_documents_left(lost));
    if lost == 0 {
        info!("the passage index is complete again");
    } else if lost != state.remaining_documents {
        (state.remaining_documents, state.remaining_since) = (lost, now);
    } else if has_passed(Some(state.remaining_since), STUCK_REBUILD_TIME, now) {
        state.remaining_since = now;
        let has_model = ctx.retrieval.engine().has_model();
        rows::enqueue_lost(&ctx.core.db, has_model, ctx.core.clock.now()).await?;
        ctx.job_signal.notify();
    }
    Ok(())
}
