//! One attempt of a job: its handler runs under the lease of the job, and how it ended is recorded.

use std::time::Duration;

use database::is_reported;
use entity::job;
use errors::{Error, INTERNAL_MESSAGE, JobRule};
use jobs::{ClaimedJob, Deferral, JobError, JobKind, LEASE_DURATION, MAX_ATTEMPTS};
use library::owned_transaction::begin_owned;
use sea_orm::{ConnectionTrait, DbErr};
use tokio::task::JoinError;
use tracing::field::{DisplayValue, display};
use tracing::{info, warn};
use uuid::Uuid;
use values::time::Timestamp;

use super::context::WorkerContext;
use super::handlers::{self, AttemptFailure};

/// Minimum delay after an attempt that met a busy component.
const MIN_BUSY_DELAY: Duration = Duration::from_secs(2);
/// Attempts of a file whose parser crashes, hangs or runs out of memory.
const MAX_PARSER_CRASHES: i32 = 3;
/// Failed renewals in a row after which an attempt is ended. The lease would expire before another one.
pub(super) const MAX_FAILED_RENEWALS: u32 = 3;

/// The reason of a job that waits for its host.
const HOST_BUSY: &str = "waiting, because other requests to the same host come first";

/// Runs one attempt under its lease. It ends early when the lease is lost.
///
/// # Errors
/// The [`JobError`] of the handler; [`JobError::LeaseLost`] when another attempt has claimed the job; [`JobError::Internal`] when the
/// lease cannot be renewed.
pub(super) async fn run(ctx: &WorkerContext, job: &ClaimedJob) -> Result<(), JobError> {
    // The handler is dropped when the lease is lost, which rolls back its open transaction.
    tokio::select! {
        done = handlers::run(ctx, job) => done,
        lost = keep_lease(ctx, &job.row) => Err(lost),
    }
}

/// Renews the lease until it is lost.
async fn keep_lease(ctx: &WorkerContext, job: &job::Model) -> JobError {
    let mut failures = 0;
    loop {
        tokio::time::sleep(LEASE_DURATION / 3).await;
        match jobs::renew(ctx.core.db.write(), job, ctx.core.clock.now()).await {
            Ok(true) => failures = 0,
            Ok(false) => return JobError::LeaseLost,
            // One failure does not end an attempt of many minutes: the lease holds for two more renewals.
            Err(_) if failures + 1 < MAX_FAILED_RENEWALS => failures += 1,
            Err(error) => return error.into(),
        }
    }
}

/// Records how the task of an attempt ended. A handler records its success itself, in the transaction that keeps its result.
pub(super) async fn record_end(
    ctx: &WorkerContext,
    job: &ClaimedJob,
    end: Result<Result<(), JobError>, JoinError>,
) {
    let error = match end {
        // A job whose lease is lost belongs to another attempt, which records its end.
        Ok(Ok(())) | Ok(Err(JobError::LeaseLost)) => return,
        // Aborted by `Stop`, which releases the job, or in favour of a later attempt.
        Err(stopped) if stopped.is_cancelled() => return,
        Ok(Err(error)) => error,
        Err(_panicked) => panic_error(),
    };
    record_failure(ctx, job, error).await;
}

/// Returns the error of an attempt that panicked.
pub(super) fn panic_error() -> JobError {
    JobError::Internal(Error::internal("the job panicked"))
}

/// Records that an attempt failed. Returns what the job waits for if it is not the cause.
pub(super) async fn record_failure(ctx: &WorkerContext, job: &ClaimedJob, error: JobError) -> Option<Wait> {
    let recorded = record_disposition(ctx, job, |job| disposition(job, error)).await;
    match recorded? {
        Disposition::Wait(wait) => Some(wait),
        Disposition::LeaseLost | Disposition::Retry { .. } | Disposition::GivenUp { .. } => None,
    }
}

/// Puts a job back that would have met what another job met, as if there had been no attempt.
pub(super) async fn record_wait(ctx: &WorkerContext, job: &ClaimedJob, wait: Wait) {
    record_disposition(ctx, job, |_| Disposition::Wait(wait)).await;
}

/// The delay of a job that is not the cause of it: a component is busy, or the server has a fault, such as a full disk.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wait {
    /// The job runs again soon. Only the job has the reason.
    Deferred {
        /// The time until the next attempt.
        delay: Duration,
        /// What the job waits for, as a sentence for the user.
        reason: Option<&'static str>,
    },
    /// The job waits for something. Its subject has the reason too.
    Blocked {
        /// The time until the next attempt.
        delay: Duration,
        /// What the job waits for, as a sentence for the user.
        reason: &'static str,
    },
}

/// Records the treatment of a job. A failure to do so is logged: its lease expires then. Returns the treatment, or `None` if it was not
/// recorded because of that, or because the lease is lost.
async fn record_disposition(
    ctx: &WorkerContext,
    job: &ClaimedJob,
    decide: impl FnOnce(&ClaimedJob) -> Disposition,
) -> Option<Disposition> {
    match try_record(ctx, job, decide).await {
        Ok(disposition) => disposition,
        Err(error) => {
            if !is_reported(&error) {
                warn!(
                    job.id = %job.row.id, job.kind = %job.kind.name(), job.subject = %job.row.subject, %error,
                    "could not record the failure of a job"
                );
            }
            None
        }
    }
}

async fn try_record(
    ctx: &WorkerContext,
    job: &ClaimedJob,
    decide: impl FnOnce(&ClaimedJob) -> Disposition,
) -> Result<Option<Disposition>, DbErr> {
    let now = ctx.core.clock.now();
    let txn = begin_owned(&ctx.core.db, job.row.user_id).await?;
    // Read again: progress during the attempt has reset the number of attempts, which decides whether this was the last one.
    let Some(row) = jobs::reload(&txn, &job.row).await? else { return Ok(None) };
    let job = ClaimedJob { kind: job.kind, row };
    let disposition = decide(&job);
    if !write_job(&txn, &job.row, &disposition, now).await? {
        return Ok(None);
    }
    write_subject(&txn, &job, &disposition, now).await?;
    txn.commit().await?;
    if let Disposition::GivenUp { .. } = disposition {
        count_given_up(job.kind);
    }
    Ok(Some(disposition))
}

/// The treatment of a job after a failed attempt.
enum Disposition {
    /// Another worker has claimed it: nothing.
    LeaseLost,
    /// It waits, as if there had been no attempt.
    Wait(Wait),
    /// The attempt failed; another one follows.
    Retry { delay: Duration, reason: String },
    /// The attempt failed and was the last.
    GivenUp { reason: String },
}

/// Writes the row of the job. Returns whether this attempt still held the lease.
async fn write_job(
    txn: &impl ConnectionTrait,
    job: &job::Model,
    disposition: &Disposition,
    now: Timestamp,
) -> Result<bool, DbErr> {
    let deferral = match disposition {
        Disposition::LeaseLost => return Ok(false),
        Disposition::GivenUp { reason } => return jobs::give_up(txn, job, reason, now).await,
        Disposition::Wait(Wait::Deferred { delay, reason }) => {
            Deferral { counts_attempt: false, reason: *reason, delay: *delay }
        }
        Disposition::Wait(Wait::Blocked { delay, reason }) => {
            Deferral { counts_attempt: false, reason: Some(reason), delay: *delay }
        }
        Disposition::Retry { delay, reason } => {
            Deferral { counts_attempt: true, reason: Some(reason), delay: *delay }
        }
    };
    jobs::defer(txn, job, deferral, now).await
}

/// Records the end with the subject of the job.
async fn write_subject(
    txn: &impl ConnectionTrait,
    job: &ClaimedJob,
    disposition: &Disposition,
    now: Timestamp,
) -> Result<(), DbErr> {
    let (failure, reason) = match disposition {
        Disposition::LeaseLost | Disposition::Wait(Wait::Deferred { .. }) => return Ok(()),
        Disposition::Wait(Wait::Blocked { reason, .. }) => (AttemptFailure::Blocked, *reason),
        Disposition::Retry { reason, .. } => (AttemptFailure::Retry, reason.as_str()),
        Disposition::GivenUp { reason } => (AttemptFailure::GivenUp, reason.as_str()),
    };
    handlers::record_failure(txn, job, failure, reason, now).await
}

fn disposition(job: &ClaimedJob, error: JobError) -> Disposition {
    let blocked = |delay, reason| Disposition::Wait(Wait::Blocked { delay, reason });
    let deferred = |delay, reason| Disposition::Wait(Wait::Deferred { delay, reason });
    // The cause of a fault of the server is for the log alone: the reason is shown to the user.
    let mut cause = None;
    let (reason, min_delay, is_last) = match error {
        JobError::LeaseLost => return Disposition::LeaseLost,
        JobError::Blocked { reason, after } => return blocked(after, reason),
        JobError::HostBusy(delay) => return deferred(delay, Some(HOST_BUSY)),
        JobError::Transient { reason, after } => (reason, after, job.row.attempts >= MAX_ATTEMPTS),
        JobError::FailedFetch { reason, last_advice, after } => {
            let is_last = job.row.attempts >= MAX_ATTEMPTS;
            // Before the last attempt the queue itself tries again, so the user need not.
            let reason = if is_last { format!("{reason}; {last_advice}") } else { reason };
            (reason, after, is_last)
        }
        // The same bytes most likely crash the parser again, so there are fewer attempts than for other failures.
        JobError::ParserCrash(reason) => (reason, None, job.row.attempts >= MAX_PARSER_CRASHES),
        JobError::Permanent(reason) => (reason, None, true),
        JobError::Internal(error) => match error.spec().job {
            JobRule::Defer => {
                let delay = error.retry_after().unwrap_or_default().max(MIN_BUSY_DELAY);
                return deferred(delay, None);
            }
            JobRule::Block { reason, after } => return blocked(after, reason),
            JobRule::Retry { after } => {
                // An import ends instead of running again: it keeps its position, and its user resumes it.
                let is_last = job.kind == JobKind::Import || job.row.attempts >= MAX_ATTEMPTS;
                (error.to_string(), Some(after), is_last)
            }
            JobRule::GiveUp => (error.to_string(), None, true),
            JobRule::Fail => {
                cause = Some(error.chain());
                (INTERNAL_MESSAGE.to_owned(), None, job.row.attempts >= MAX_ATTEMPTS)
            }
        },
    };
    log_failure(job, &reason, cause.as_deref(), is_last);
    let delay = min_delay.unwrap_or_default().max(jobs::backoff(&job.row));
    if is_last { Disposition::GivenUp { reason } } else { Disposition::Retry { delay, reason } }
}

/// Logs a failed attempt: as a warning if no other attempt follows, or if the server itself failed, of which there is a cause.
fn log_failure(job: &ClaimedJob, reason: &str, cause: Option<&str>, is_last: bool) {
    let (attempts, document) = (job.row.attempts, document_of(job));
    let outcome = if is_last { "given_up" } else { "retried" };
    if is_last || cause.is_some() {
        warn!(
            job.id = %job.row.id, job.kind = %job.kind.name(), job.subject = %job.row.subject,
            document.id = document, job.attempts = attempts, %outcome, reason, cause,
            "an attempt of a job failed"
        );
    } else {
        info!(
            job.id = %job.row.id, job.kind = %job.kind.name(), job.subject = %job.row.subject,
            document.id = document, job.attempts = attempts, %outcome, reason,
            "an attempt of a job failed"
        );
    }
}

/// Returns the document that a job makes, for a log line.
fn document_of(job: &ClaimedJob) -> Option<DisplayValue<Uuid>> {
    job.kind.makes_document().then(|| display(job.row.subject))
}

/// Gives up a job whose last attempt crashed the process, and records it with its subject, in one transaction.
pub(super) async fn record_crash(ctx: &WorkerContext, job: &ClaimedJob) -> Result<(), DbErr> {
    let now = ctx.core.clock.now();
    let txn = begin_owned(&ctx.core.db, job.row.user_id).await?;
    if jobs::give_up_crashed(&txn, &job.row, now).await? {
        let (reason, document) = (jobs::crash_reason(&job.row), document_of(job));
        handlers::record_failure(&txn, job, AttemptFailure::GivenUp, reason, now).await?;
        txn.commit().await?;
        warn!(
            job.id = %job.row.id, job.kind = %job.kind.name(), job.subject = %job.row.subject,
            document.id = document, reason,
            "an attempt of a job crashed the process: the job is given up"
        );
        count_given_up(job.kind);
    }
    Ok(())
}

/// Counts a job that is not retried any more.
fn count_given_up(kind: JobKind) {
    metrics::counter!("carrel_jobs_given_up_total", "kind" => kind.name()).increment(1);
}

#[cfg(test)]
mod tests;
