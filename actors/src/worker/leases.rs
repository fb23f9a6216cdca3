//! The leases of a worker: it claims jobs for its free slots, and releases those that it does not run to their end.

use std::sync::atomic::{AtomicBool, Ordering};

use jobs::{ClaimOrder, ClaimedJob, ClaimedJobs, SlotBudget, Track};
use library::owned_transaction::begin_owned;
use sea_orm::DbErr;
use tracing::warn;

use super::context::WorkerContext;
use super::due::DueWork;

/// Claims jobs for the free slots of each track, one track after another, until the worker stops.
pub(super) async fn claim_due(
    ctx: &WorkerContext,
    is_stopped: &AtomicBool,
    order: ClaimOrder,
    mut free: Vec<(Track, SlotBudget)>,
) -> Vec<Result<ClaimedJobs, DbErr>> {
    // Most tracks have no due job, and a claim takes two statements to find that out.
    match DueWork::find(&ctx.core.db, ctx.core.clock.now()).await {
        Ok(due) => free.retain(|(track, _)| due.jobs.is_claimable(*track)),
        Err(error) => return vec![Err(error)],
    }
    let mut all = Vec::new();
    for (track, slots) in free {
        // Checked before each track, so that a stop does not wait for the claims of all of them.
        if is_stopped.load(Ordering::SeqCst) {
            break;
        }
        let now = ctx.core.clock.now();
        all.push(jobs::claim(&ctx.core.db, ctx.lease_owner, track, order, now, slots).await);
    }
    all
}

/// Releases a job, as if there had been no attempt.
pub(super) async fn release(ctx: &WorkerContext, job: &ClaimedJob) {
    if let Err(error) = try_release(ctx, job).await {
        warn!(
            job.id = %job.row.id, job.kind = %job.kind.name(), job.subject = %job.row.subject, %error,
            "could not release a job; it is due again when its lease expires"
        );
    }
}

async fn try_release(ctx: &WorkerContext, job: &ClaimedJob) -> Result<(), DbErr> {
    let txn = begin_owned(&ctx.core.db, job.row.user_id).await?;
    // It ends if the same job was requested meanwhile, and is counted then.
    jobs::release(&txn, &job.row, ctx.core.clock.now()).await?;
    txn.commit().await
}

/// Releases all jobs of this process, as if there had been no attempt.
pub(super) async fn release_all(ctx: &WorkerContext) {
    if let Err(error) = jobs::release_all(&ctx.core.db, ctx.lease_owner, ctx.core.clock.now()).await {
        warn!(%error, "could not release the running jobs; they are due again when their leases expire");
    }
}
