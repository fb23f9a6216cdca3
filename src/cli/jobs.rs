//! `carrel jobs`: the background jobs that failed for good. A retry only enqueues the job: the running server executes it, or the next
//! start if none runs.

use std::fmt;

use actors::worker::failed_jobs::{FailedJobView, MAX_LISTED_JOBS, list_failed_jobs, retry_failed_job};
use clap::{Args, Subcommand};
use errors::Error;
use jobs::JobKind;
use library::context::CoreContext;
use serde::Serialize;
use values::id::JobId;

use super::failure::Failure;
use super::output::{CommandOutput, shown, table};
use super::{choices, opening, probe};
use crate::settings::Settings;

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
    CommandOutput::of(&FailedJobList { jobs: list_failed_jobs(core, user).await? })
}

/// Retries the jobs in their order. The first one that cannot be retried ends the command.
async fn retry(core: &CoreContext, settings: &Settings, ids: Vec<JobId>) -> Result<CommandOutput, Failure> {
    for id in &ids {
        match retry_failed_job(core, *id).await {
            Ok(()) => {}
            Err(Error::NotFound(_)) => return Err(Failure::NoJob(*id)),
            Err(other) => return Err(other.into()),
        }
    }
    CommandOutput::of(&RetriedJobs { retried: ids, server_running: probe::is_server_running(settings).await })
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
            let activity = JobKind::named(&job.kind).map_or(job.kind.as_str(), JobKind::activity);
            let at = job.failed_at.map_or_else(|| "-".to_owned(), |at| at.to_string());
            let title = job.title.as_deref().map_or_else(|| job.subject.to_string(), shown);
            let reason = job.reason.as_deref().map(shown).unwrap_or_default();
            [job.id.to_string(), job.email.clone(), at, activity.to_owned(), title, reason]
        };
        let rows: Vec<_> = self.jobs.iter().map(row).collect();
        f.write_str(&table(["ID", "ACCOUNT", "FAILED", "WORK", "TITLE OR ID", "REASON"], &rows))?;
        if self.jobs.len() as u64 >= MAX_LISTED_JOBS {
            write!(f, "Only the newest {MAX_LISTED_JOBS} are listed; `carrel doctor` counts all")?;
        }
        Ok(())
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RetriedJobs {
    retried: Vec<JobId>,
    server_running: bool,
}

impl fmt::Display for RetriedJobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let jobs = if self.retried.len() == 1 { "job" } else { "jobs" };
        writeln!(f, "enqueued {} {jobs}", self.retried.len())?;
        f.write_str(if self.server_running {
            "The server runs them in the background"
        } else {
            "No server is running: the server runs them at its next start"
        })
    }
}
