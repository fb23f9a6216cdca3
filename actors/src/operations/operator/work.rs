//! Shows the background jobs of all users, and retries those that failed.

use jobs::{Depth, JobKind};
use library::failed_jobs::{self, FailedJob, RetryJobError};
use schemars::JsonSchema;
use serde::Serialize;
use values::id::JobId;
use values::scope::Scope;
use values::time::Timestamp;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use validation::NoFields;

/// Failed jobs that are listed, the latest.
const MAX_FAILED_JOBS: u64 = 100;

/// Counts the jobs of each track, and lists the latest failed ones.
#[derive(Debug)]
pub struct ShowQueue;

impl FromRequest for ShowQueue {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// The jobs of a track: those that wait for the same resource.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrackView {
    /// Name of the track: `web`, `library`, `files`, `imports`, `recordings` or `exports`.
    pub track: &'static str,
    /// Number of jobs that wait, including those between two attempts.
    pub waiting: u64,
    /// Number of jobs that run.
    pub running: u64,
    /// Time from which the first of the waiting jobs was due; in the future if none is due. Null if none waits.
    pub since: Option<Timestamp>,
}

impl From<Depth> for TrackView {
    fn from(depth: Depth) -> Self {
        let Depth { track, waiting, running, since } = depth;
        Self { track: track.name(), waiting, running, since }
    }
}

/// The failed jobs of a kind.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FailedKind {
    /// Name of the kind of work, such as `fetch_page`.
    pub work: String,
    /// Number of these jobs that failed permanently.
    pub failed: u64,
}

/// A job that failed permanently. Its document, if it is about one, is not shown.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedJobRow {
    /// Id of the job, by which it is retried.
    pub id: JobId,
    /// Name of the kind of work, such as `fetch_page`.
    pub work: String,
    /// E-mail address of the account for which it ran.
    pub email: String,
    /// Why the last attempt failed.
    pub reason: Option<String>,
    /// Time at which it was given up.
    pub failed_at: Option<Timestamp>,
    /// Whether it can be retried here. Imports and exports are continued by their users.
    pub can_retry: bool,
}

impl From<FailedJob> for FailedJobRow {
    fn from(job: FailedJob) -> Self {
        let can_retry = match JobKind::named(&job.kind) {
            Some(JobKind::Import | JobKind::Export) | None => false,
            Some(_) => true,
        };
        let FailedJob { id, email, kind, subject: _, title: _, error, finished_at } = job;
        Self { id, work: kind, email, reason: error, failed_at: finished_at, can_retry }
    }
}

/// The background jobs of all users.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShowQueueResponse {
    /// The tracks, with their jobs of kinds that this version knows.
    pub tracks: Vec<TrackView>,
    /// Number of waiting jobs of kinds that only a newer version knows.
    pub unknown: u64,
    /// The numbers of failed jobs by kind.
    pub failed_kinds: Vec<FailedKind>,
    /// The latest 100 failed jobs, newest first.
    pub failed: Vec<FailedJobRow>,
}

impl Operation for ShowQueue {
    type Reply = ShowQueueResponse;
    const SCOPES: &'static [Scope] = &[];
    const NEEDS_OPERATOR: bool = true;

    async fn run(self, _: &Caller, ctx: &OperationContext) -> Result<ShowQueueResponse, Error> {
        let db = ctx.core.db.read();
        let number = |jobs: i64| u64::try_from(jobs).unwrap_or_default();
        let failed_kinds = failed_jobs::count_failed_jobs(db).await?;
        Ok(ShowQueueResponse {
            tracks: jobs::depths(db).await?.into_iter().map(TrackView::from).collect(),
            unknown: jobs::unknown_by_kind(db).await?.into_iter().map(|(_, jobs)| number(jobs)).sum(),
            failed_kinds: failed_kinds
                .into_iter()
                .map(|(work, failed)| FailedKind { work, failed: number(failed) })
                .collect(),
            failed: failed_jobs::list_failed_jobs(db, None, MAX_FAILED_JOBS)
                .await?
                .into_iter()
                .map(FailedJobRow::from)
                .collect(),
        })
    }
}

/// Retries a job that failed permanently, of any user.
#[derive(Debug)]
pub struct RetryJob(JobId);

impl RetryJob {
    /// Retries the job with this id.
    pub fn new(id: JobId) -> Self {
        Self(id)
    }
}

impl FromRequest for RetryJob {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// The job, which is queued.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RetryJobResponse {
    /// Id of the job.
    pub id: JobId,
}

impl Operation for RetryJob {
    type Reply = RetryJobResponse;
    const SCOPES: &'static [Scope] = &[];
    const NEEDS_OPERATOR: bool = true;
    const NEEDS_SPACE: bool = true;

    async fn run(self, _: &Caller, ctx: &OperationContext) -> Result<RetryJobResponse, Error> {
        failed_jobs::retry_failed_job(&ctx.core, self.0).await.map_err(|error| match error {
            RetryJobError::UnknownJob => Error::not_found(),
            RetryJobError::IsImport | RetryJobError::IsExport => {
                Error::conflict("the job is an import or an export, which its user continues")
            }
            RetryJobError::UnknownKind => Error::conflict(
                "this version of Carrel does not know the kind of the job; retry it with the newer one",
            ),
            RetryJobError::Failed(error) => error,
        })?;
        ctx.job_signal.notify();
        Ok(RetryJobResponse { id: self.0 })
    }
}
