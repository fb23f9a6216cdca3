//! # Jobs
//!
//! The durable queue of background jobs: rows with a lease, a fencing token, attempts and a final state.
//!
//! | To | Call |
//! |---|---|
//! | request work, in the transaction that makes it necessary | [`enqueue()`], [`enqueue_all`], [`withdraw`] |
//! | wake the worker | [`JobSignal`] |
//! | take due jobs under a lease | [`promote`], [`claim()`], [`end_leases`] |
//! | keep a lease | [`renew`], [`advance`] |
//! | end an attempt | [`finish`], [`yield_job`], [`defer`], [`release`], [`give_up`], [`give_up_crashed`] |
//! | end all attempts of a process that stops | [`release_all`] |
//! | work on many short jobs together | [`BatchBudget`], [`renew_all`], [`reload_all`], [`continue_as_index`], [`finish_all`] |
//! | postpone jobs until their user lets them run | [`postpone()`], [`release_postponed`] |
//! | keep jobs of other versions | [`requeue_unknown`], [`unknown_by_kind`] |
//! | say how an attempt failed | [`JobError`] |
//! | retry a job that was given up | [`retry_failed`] |
//! | look at the queue | [`depths`], [`given_up()`], [`is_waiting`], [`is_given_up`], [`others_wait`] |
//! | refuse jobs beyond the bound of a user | [`backlog_room()`], [`count_waiting`], [`RecentCounts`] |
//! | know whether anything is due | [`DueJobs`] |
//! | look at the jobs of documents | [`last_document_job`], [`is_document_running`], [`is_document_pending`], [`list_document_jobs`], [`count_running_documents`], [`lock_urgent_index_jobs`] |
//! | select documents and other subjects by their jobs | [`pending_documents`], [`has_no_pending_job_of`], [`leaves_metadata_to_no_job`], [`jobs_for`], [`is_pending`], [`runs_or_is_due`], [`has_state`], [`queued_subjects`] |
//! | remove rows | [`sweep`], [`remove_with_subjects`] |
//!
//! A job is a [`JobKind`] and a subject, such as the id of a document. Of each kind at most one job of a subject waits and
//! one runs, however often it is requested. An attempt may run twice, so each step of a job is idempotent, and ends in the
//! transaction that keeps its result: an attempt that lost its lease changes nothing ([`finish`] returns `false`).
//!
//! Several processes share a queue, and not all need to be of the same version. A job of a kind that a process does not know waits for
//! one that does: it is not claimed, and neither its queue position nor its wait counts for other jobs.
//!
//! Due jobs of a [`Track`] run by [`Priority`] and, among users, by start-time fair queueing: the column
//! `queue_position` holds the virtual start time of a job. Of the backlog of a user, the jobs of the newest documents run first if they run
//! in batches.
//!
//! | Bound | |
//! |---|---|
//! | time without a heartbeat after which an attempt counts as crashed | [`LEASE_DURATION`] |
//! | waiting jobs of a user at one priority | [`MAX_WAITING_JOBS`] |
//! | attempts | [`MAX_ATTEMPTS`], of which [`MAX_CRASHES`] may end with a crash of the process |
//!
//! Every function that takes a database returns [`sea_orm::DbErr`] when it fails. Sections `# Errors` list only what a function returns
//! besides.
//!
//! This crate runs nothing: the actor that runs jobs and the table of their handlers are in carrel-actors (`worker`).

mod backlog_room;
mod batch;
mod choice;
mod claim;
mod claimable;
mod complete;
mod document_jobs;
mod due;
mod enqueue;
mod error;
mod fairness;
mod inspect;
mod kind;
mod newest;
mod postpone;
mod room;
mod signal;
mod slots;
#[cfg(test)]
mod test_queue;

use std::time::Duration;

pub use backlog_room::backlog_room;
pub use batch::{continue_as_index, finish_all, queued_subjects, reload_all, renew_all};
pub use claim::{ClaimOrder, LeaseOwner, claim, end_leases};
pub use complete::{
    Deferral, REPEATED_CRASH, advance, backoff, crash_reason, defer, end_wait, finish, give_up,
    give_up_crashed, record_document_reason, release, release_all, reload, renew, requeue_unknown, sweep,
    yield_job,
};
pub use document_jobs::{
    PendingState, count_running_documents, has_no_pending_job_of, is_document_pending, is_document_running,
    last_document_job, leaves_metadata_to_no_job, list_document_jobs, lock_urgent_index_jobs,
    pending_documents,
};
pub use due::DueJobs;
pub use enqueue::{enqueue, enqueue_all, remove_with_subjects, retry_failed, withdraw};
pub use error::JobError;
pub use fairness::promote;
pub use inspect::{
    Depth, depths, given_up, has_state, is_given_up, is_pending, is_waiting, jobs_for, others_wait,
    runs_or_is_due, unknown_by_kind,
};
pub use kind::{JobKind, Priority, Track};
pub use postpone::{postpone, release_postponed};
pub use room::{RecentCounts, count_waiting};
pub use signal::JobSignal;
pub use slots::{BatchBudget, ClaimedJob, ClaimedJobs, SlotBudget};

/// An attempt whose lease is not renewed for this long counts as crashed. Its worker renews it three times as often.
pub const LEASE_DURATION: Duration = Duration::from_secs(12);
/// Waiting jobs of one user at one priority. Beyond this number saves are refused and imports wait.
pub const MAX_WAITING_JOBS: u64 = 100_000;
/// Number of attempts after which a job is given up; [`advance`] and a new request start the count again.
pub const MAX_ATTEMPTS: i32 = 6;
/// Number of attempts that crashed the process after which a job is given up: it is likely to crash it again.
pub const MAX_CRASHES: i32 = 3;
