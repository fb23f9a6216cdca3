//! One attempt of many short jobs together. The jobs that it leaves, because they are not short or because something failed, run alone
//! then, one after another: so the job at fault is found, and only that one fails.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;

use entity::job;
use futures_util::FutureExt;
use jobs::{ClaimedJob, JobError, JobKind, LEASE_DURATION};
use tracing::warn;
use values::id::UserId;

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
    let error = loop {
        tokio::time::sleep(LEASE_DURATION / 3).await;
        match jobs::renew_all(ctx.core.db.write(), jobs, ctx.core.clock.now()).await {
            Ok(()) => failures = 0,
            Err(_) if failures + 1 < MAX_FAILED_RENEWALS => failures += 1,
            Err(error) => break error,
        }
    };
    if !database::is_reported(&error) {
        warn!(
            jobs = jobs.len(),
            %error,
            "the leases of jobs that run together could not be renewed; the jobs are due again when they expire"
        );
    }
}

async fn work(ctx: &WorkerContext, jobs: &[ClaimedJob]) {
    let together = batch::run(&ctx.extraction, &ctx.indexing, jobs);
    // The jobs run again alone, so a panic says nothing of any of them; the panic hook has logged the place.
    let _ = AssertUnwindSafe(together).catch_unwind().await;
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
    for row in alternate_users(rows) {
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

/// Orders jobs so that their users alternate: the first one of each user, then the second ones, and so on.
fn alternate_users(mut rows: Vec<job::Model>) -> Vec<job::Model> {
    let mut counts: HashMap<UserId, usize> = HashMap::new();
    // Once for each row, in the order of the rows.
    rows.sort_by_cached_key(|row| {
        let count = counts.entry(row.user_id).or_default();
        *count += 1;
        *count
    });
    rows
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

#[cfg(test)]
mod tests {
    use uuid::Uuid;
    use values::time::Timestamp;

    use super::*;

    #[test]
    fn users_alternate_in_the_order_of_their_jobs() {
        let now = Timestamp::from_millis(1);
        let (many, few) = (UserId::new(now), UserId::new(now));
        let row = |(user, number): (UserId, u128)| {
            job::Model::queued(user, JobKind::Index.name(), Uuid::from_u128(number), (1, 0), now)
        };
        let rows = [(many, 1), (many, 2), (many, 3), (few, 4), (few, 5)].map(row);

        let subjects: Vec<u128> =
            alternate_users(rows.to_vec()).iter().map(|row| row.subject.as_u128()).collect();

        assert_eq!(subjects, [1, 4, 2, 5, 3]);
    }
}
