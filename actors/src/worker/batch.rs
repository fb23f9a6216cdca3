//! One attempt of many short jobs together. The jobs that it leaves, because they are not short or because something failed, run alone
//! then, one after another: so the job at fault is found, and only that one fails.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use jobs::{ClaimedJob, JobError, JobKind, LEASE_DURATION};
use tracing::warn;

use super::attempt::{self, MAX_FAILED_RENEWALS, Wait};
use super::context::WorkerContext;
use super::handlers;
use crate::ingest::batch;

/// Jobs in a row that meet a fault of the server, such as a full disk, after which the others of the batch wait for its end too.
const MAX_WAITS_IN_A_ROW: u32 = 2;

/// Runs jobs under their leases, and records how they end. Ends early when the leases cannot be renewed; they expire then.
pub(super) async fn run(ctx: &WorkerContext, jobs: &[ClaimedJob]) {
    tokio::select! {
        () = work(ctx, jobs) => {}
        () = keep_leases(ctx, jobs) => {}
    }
}

/// Renews the leases until that fails. A lease that another attempt took is not renewed; the transactions of this one find that out.
async fn keep_leases(ctx: &WorkerContext, jobs: &[ClaimedJob]) {
    let mut failures = 0;
    while failures < MAX_FAILED_RENEWALS {
        tokio::time::sleep(LEASE_DURATION / 3).await;
        match jobs::renew_all(ctx.core.db.write(), jobs, ctx.core.clock.now()).await {
            Ok(()) => failures = 0,
            Err(_) => failures += 1,
        }
    }
}

async fn work(ctx: &WorkerContext, jobs: &[ClaimedJob]) {
    let together = batch::run(&ctx.extraction, &ctx.indexing, jobs);
    // The jobs run again alone, so a panic says nothing of any of them; the panic hook has logged the place.
    let caught = AssertUnwindSafe(together).catch_unwind().await;
    if let Ok(Err(JobError::Internal(error))) = caught
        && !error.is_reported()
    {
        warn!(
            jobs = jobs.len(),
            cause = error.chain(),
            "jobs that ran together failed; each of them runs alone"
        );
    }
    run_alone(ctx, jobs).await;
}

/// Runs the jobs that have not ended, one after another.
async fn run_alone(ctx: &WorkerContext, jobs: &[ClaimedJob]) {
    let rows = match jobs::reload_all(ctx.core.db.read(), jobs).await {
        Ok(rows) => rows,
        Err(error) => {
            if !database::is_reported(&error) {
                warn!(%error, "could not read which jobs have ended; the others are due again when their leases expire");
            }
            return;
        }
    };
    let mut waits = 0;
    let mut wait: Option<Wait> = None;
    for row in rows {
        let Some(kind) = JobKind::named(&row.kind) else { continue };
        let job = ClaimedJob { kind, row };
        if let Some(wait) = wait.filter(|_| waits >= MAX_WAITS_IN_A_ROW) {
            attempt::record_wait(ctx, &job, wait).await;
            continue;
        }
        wait = run_one(ctx, &job).await;
        waits = if wait.is_some() { waits + 1 } else { 0 };
    }
}

/// Runs a job, and records a failure. Returns what it waits for if it met a fault of the server.
async fn run_one(ctx: &WorkerContext, job: &ClaimedJob) -> Option<Wait> {
    let error = match AssertUnwindSafe(handlers::run(ctx, job)).catch_unwind().await {
        // A job whose lease is lost belongs to another attempt, which records its end.
        Ok(Ok(()) | Err(JobError::LeaseLost)) => return None,
        Ok(Err(error)) => error,
        Err(_panicked) => attempt::panic_error(),
    };
    attempt::record_failure(ctx, job, error).await
}
