//! `carrel jobs`: the background jobs that failed permanently. A retry only enqueues the job: the running server executes it, or the next
//! start if none runs.

use std::fmt;

use clap::{Args, Subcommand};
use errors::Error;
use jobs::JobKind;
use library::context::CoreContext;
use library::failed_jobs::{self, FailedJob, RetryJobError};
use serde::Serialize;
use uuid::Uuid;
use values::id::JobId;
use values::time::Timestamp;

use super::failure::Failure;
use super::output::{CommandOutput, shown, table};
use super::{choices, opening, probe};
use crate::settings::Settings;

/// Maximum number of jobs in a list.
const MAX_LISTED_JOBS: u64 = 1000;
const SERVER_RUNS: &str = "The server runs them in the background";
const NO_SERVER_RUNS: &str = "No server is running: the server runs them at its next start";
const IMPORT_REFUSAL: &str = "the job is an import: continue it with `carrel imports resume`, or with `carrel imports undo` if it \
                              was being undone";
const EXPORT_REFUSAL: &str = "the job is an export: start another one with `carrel export`";
const UNKNOWN_KIND_REFUSAL: &str = "this version of Carrel does not know the kind of the job: retry it with the newer version that \
                                    created it";

/// A subcommand of `carrel jobs`.
#[derive(Debug, Subcommand)]
pub enum JobsCommand {
    /// List the jobs that failed permanently, with their reasons, newest first, at most 1,000
    List(ListJobsArgs),
    /// Retry failed jobs
    Retry(RetryJobsArgs),
}

/// Failed jobs.
#[derive(Debug, Args)]
pub struct ListJobsArgs {
    /// Only jobs of the account with this e-mail address
    #[arg(long, value_name = "EMAIL")]
    user: Option<String>,
}

/// Failed jobs, by their ids.
#[derive(Debug, Args)]
pub struct RetryJobsArgs {
    /// Ids of the jobs, as `carrel jobs list` shows them
    #[arg(value_name = "ID", required = true, value_parser = choices::job_id)]
    ids: Vec<JobId>,
}

pub async fn run(command: JobsCommand, settings: &Settings) -> Result<CommandOutput, Failure> {
    let core = opening::core(settings).await?;
    match command {
        JobsCommand::List(ListJobsArgs { user }) => list(&core, user.as_deref()).await,
        JobsCommand::Retry(RetryJobsArgs { ids }) => retry(&core, settings, ids).await,
    }
}

async fn list(core: &CoreContext, email: Option<&str>) -> Result<CommandOutput, Failure> {
    let user = match email {
        Some(email) => Some(opening::account(core, email).await?.id),
        None => None,
    };
    let jobs = failed_jobs::list_failed_jobs(core.db.read(), user, MAX_LISTED_JOBS).await;
    let jobs = jobs.map_err(Error::from)?;
    CommandOutput::of(&FailedJobList { jobs: jobs.into_iter().map(FailedJobView::from).collect() })
}

/// Retries each of the jobs. One that cannot be retried does not stop the others, and the exit status is that of a failure. An error
/// that does not concern the job, such as one of the database, stops the command: it is printed after the report of the jobs before.
async fn retry(core: &CoreContext, settings: &Settings, ids: Vec<JobId>) -> Result<CommandOutput, Failure> {
    let mut report = RetryReport { retried: Vec::new(), refused: Vec::new(), server_running: false };
    let result = retry_each(core, ids, &mut report).await;
    let is_empty = report.retried.is_empty() && report.refused.is_empty();
    match result {
        Err(failure) if is_empty => Err(failure),
        result => {
            report.server_running = probe::is_server_running(settings).await;
            let is_success = report.refused.is_empty();
            Ok(CommandOutput::of(&report)?.with_success(is_success).with_failure(result.err()))
        }
    }
}

/// Retries the jobs in their order, and reports those that were retried or refused.
///
/// # Errors
/// The [`Failure`] of the first error that does not concern a job; the jobs after it are not retried.
async fn retry_each(core: &CoreContext, ids: Vec<JobId>, report: &mut RetryReport) -> Result<(), Failure> {
    for id in ids {
        match failed_jobs::retry_failed_job(core, id).await {
            Ok(()) => report.retried.push(id),
            Err(error) => report.refused.push(RefusedRetry::new(id, error)?),
        }
    }
    Ok(())
}

/// A job that failed permanently.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FailedJobView {
    id: JobId,
    /// E-mail address of the account for which it ran.
    email: String,
    /// Name of the kind of work.
    kind: String,
    /// Id of the object of the work, such as a document.
    subject: Uuid,
    /// Title of the document.
    title: Option<String>,
    /// Why the last attempt failed.
    reason: Option<String>,
    failed_at: Option<Timestamp>,
}

impl From<FailedJob> for FailedJobView {
    fn from(job: FailedJob) -> Self {
        let FailedJob { id, email, kind, subject, title, error, finished_at } = job;
        Self { id, email, kind, subject, title, reason: error, failed_at: finished_at }
    }
}

#[derive(Serialize)]
struct FailedJobList {
    jobs: Vec<FailedJobView>,
}

impl fmt::Display for FailedJobList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.jobs.is_empty() {
            return f.write_str("no job has failed permanently");
        }
        let row = |job: &FailedJobView| {
            let activity =
                JobKind::named(&job.kind).map_or_else(|| job.kind.clone(), |kind| kind.activity().to_owned());
            let at = job.failed_at.map_or_else(|| "-".to_owned(), |at| at.to_string());
            let title = job.title.as_deref().map_or_else(|| job.subject.to_string(), shown);
            let reason = job.reason.as_deref().map(shown).unwrap_or_default();
            [job.id.to_string(), shown(&job.email), at, activity, title, reason]
        };
        let rows: Vec<_> = self.jobs.iter().map(row).collect();
        f.write_str(&table(["ID", "ACCOUNT", "FAILED", "WORK", "TITLE OR ID", "REASON"], &rows))?;
        if self.jobs.len() as u64 >= MAX_LISTED_JOBS {
            write!(f, "Only the newest {MAX_LISTED_JOBS} are listed; `carrel doctor` counts all")?;
        }
        Ok(())
    }
}

/// Which jobs were enqueued, and which were not.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RetryReport {
    retried: Vec<JobId>,
    refused: Vec<RefusedRetry>,
    server_running: bool,
}

/// A job that was not retried, with the code and the message of the error.
#[derive(Serialize)]
struct RefusedRetry {
    id: JobId,
    code: &'static str,
    message: String,
}

impl RefusedRetry {
    /// Describes why a job is not retried.
    ///
    /// # Errors
    /// The [`Failure`] of an error that does not concern the job.
    fn new(id: JobId, error: RetryJobError) -> Result<Self, Failure> {
        let refusal: Failure = match error {
            RetryJobError::UnknownJob => Failure::NoJob,
            RetryJobError::IsImport => Error::conflict(IMPORT_REFUSAL).into(),
            RetryJobError::IsExport => Error::conflict(EXPORT_REFUSAL).into(),
            RetryJobError::UnknownKind => Error::conflict(UNKNOWN_KIND_REFUSAL).into(),
            RetryJobError::Failed(error @ (Error::Conflict(_) | Error::NotFound(_))) => error.into(),
            RetryJobError::Failed(error) => return Err(error.into()),
        };
        Ok(Self { id, code: refusal.code(), message: refusal.to_string() })
    }
}

impl fmt::Display for RetryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.retried.is_empty() {
            let jobs = if self.retried.len() == 1 { "job" } else { "jobs" };
            let ids: Vec<_> = self.retried.iter().map(ToString::to_string).collect();
            writeln!(f, "enqueued {} {jobs}: {}", ids.len(), ids.join(", "))?;
            writeln!(f, "{}", if self.server_running { SERVER_RUNS } else { NO_SERVER_RUNS })?;
        }
        for RefusedRetry { id, message, .. } in &self.refused {
            writeln!(f, "job {id} is not retried: {message}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_errors_about_a_job_are_refusals_of_it() {
        let id = JobId(Uuid::nil());
        let code_of = |error| RefusedRetry::new(id, error).map(|refused| refused.code);
        let being_processed = Error::conflict("the text of the document is being processed");

        assert_eq!(code_of(RetryJobError::UnknownJob).ok(), Some("NOT_FOUND"));
        let unknown = RefusedRetry::new(id, RetryJobError::UnknownJob).unwrap();
        assert!(!unknown.message.contains(&id.to_string()), "the report names the job: {}", unknown.message);
        assert_eq!(code_of(RetryJobError::IsImport).ok(), Some("CONFLICT"));
        assert_eq!(code_of(RetryJobError::Failed(being_processed)).ok(), Some("CONFLICT"));
        assert_eq!(code_of(RetryJobError::Failed(Error::not_found())).ok(), Some("NOT_FOUND"));
        for error in [Error::StorageFull, Error::internal("the database is damaged")] {
            assert!(code_of(RetryJobError::Failed(error)).is_err());
        }
    }
}
