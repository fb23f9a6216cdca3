//! `carrel jobs`: the background jobs that failed for good. A retry only enqueues the job: the running server executes it, or the next
//! start if none runs.

use std::fmt;

use clap::{Args, Subcommand};
use errors::Error;
use jobs::{FailedJob, JobKind};
use library::context::CoreContext;
use library::failed_jobs::{self, RetryJobError};
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

/// A subcommand of `carrel jobs`.
#[derive(Debug, Subcommand)]
pub enum JobsCommand {
    /// List the jobs that failed for good, with their reasons, newest first, at most 1,000
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
    let jobs = jobs::list_failed(core.db.read(), user, MAX_LISTED_JOBS).await.map_err(Error::from)?;
    CommandOutput::of(&FailedJobList { jobs: jobs.into_iter().map(FailedJobView::from).collect() })
}

/// Retries each of the jobs. One that cannot be retried does not stop the others, and the exit status is that of a failure.
async fn retry(core: &CoreContext, settings: &Settings, ids: Vec<JobId>) -> Result<CommandOutput, Failure> {
    let (mut retried, mut refused) = (Vec::new(), Vec::new());
    for id in ids {
        match failed_jobs::retry(core, id).await {
            Ok(()) => retried.push(id),
            Err(error) => refused.push(RefusedRetry::new(id, error)),
        }
    }
    let is_success = refused.is_empty();
    let server_running = probe::is_server_running(settings).await;
    Ok(CommandOutput::of(&RetryReport { retried, refused, server_running })?.with_success(is_success))
}

/// A job that failed for good.
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
    fn from(FailedJob { row, email, title }: FailedJob) -> Self {
        Self {
            id: row.id,
            email,
            kind: row.kind,
            subject: row.subject,
            title,
            reason: row.error,
            failed_at: row.finished_at,
        }
    }
}

#[derive(Serialize)]
struct FailedJobList {
    jobs: Vec<FailedJobView>,
}

impl fmt::Display for FailedJobList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.jobs.is_empty() {
            return f.write_str("no job has failed for good");
        }
        let row = |job: &FailedJobView| {
            let activity =
                JobKind::named(&job.kind).map_or_else(|| job.kind.clone(), |kind| kind.activity().to_owned());
            let at = job.failed_at.map_or_else(|| "-".to_owned(), |at| at.to_string());
            let title = job.title.as_deref().map_or_else(|| job.subject.to_string(), shown);
            let reason = job.reason.as_deref().map(shown).unwrap_or_default();
            [job.id.to_string(), job.email.clone(), at, activity, title, reason]
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
    fn new(id: JobId, error: RetryJobError) -> Self {
        let failure = match error {
            RetryJobError::UnknownJob => Failure::NoJob(id),
            RetryJobError::Refused(error) => error.into(),
        };
        Self { id, code: failure.code(), message: failure.to_string() }
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
