//! Waits for a job that the running server executes, and prints why it does not continue.

use std::fmt;
use std::io::{self, Write};

use errors::Error;
use indicatif::ProgressBar;
use jobs::JobKind;
use library::context::CoreContext;
use tokio::time::{Duration, Instant, sleep};
use uuid::Uuid;

use super::probe;
use crate::server;
use crate::settings::Settings;

/// Interval at which the state of the job is read.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Interval at which the server is probed.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
/// A server that misses this many probes has stopped: one that restarts is ready by then.
const MAX_MISSED_PROBES: u32 = 3;
/// An idle server has started the job after this time.
const MAX_START_DELAY: Duration = Duration::from_secs(5);

/// The progress of the job, as `poll` of [`until_done`] reports it.
pub enum Progress<T> {
    /// The job has ended, with this result.
    Done(T),
    /// The job has not ended. Holds the reason if it does not continue at present.
    Open(Option<String>),
}

/// Waits until `poll` reports that the job is done, and returns its result; `None` if no server runs, or none any more.
///
/// # Errors
/// [`Error`] of `poll`.
pub async fn until_done<T>(
    (core, settings): (&CoreContext, &Settings),
    (kind, subject): (JobKind, Uuid),
    bar: &ProgressBar,
    mut poll: impl AsyncFnMut() -> Result<Progress<T>, Error>,
) -> Result<Option<T>, Error> {
    let mut missed = if probe::is_server_running(settings).await { 0 } else { MAX_MISSED_PROBES };
    let mut notice = WaitNotice { bar, waits_since: None, last: None };
    while missed < MAX_MISSED_PROBES {
        let has_room = server::measured_disks(settings).has_room();
        let until = Instant::now() + PROBE_INTERVAL;
        while Instant::now() < until {
            match poll().await? {
                Progress::Done(done) => return Ok(Some(done)),
                Progress::Open(reason) => {
                    notice.update(jobs::is_waiting(core.db.read(), kind, subject).await?, has_room, reason);
                }
            }
            sleep(POLL_INTERVAL).await;
        }
        missed = if probe::is_server_running(settings).await { 0 } else { missed + 1 };
        if missed > 0 {
            notice.print(WaitReason::NoResponse);
        }
    }
    // Once more: the job may have ended after the last look at it and before the server stopped.
    Ok(match poll().await? {
        Progress::Done(done) => Some(done),
        Progress::Open(_) => None,
    })
}

/// Why a job does not continue.
#[derive(Debug, PartialEq, Eq)]
enum WaitReason {
    /// No server answers.
    NoResponse,
    /// A server answers, and the job is still queued.
    NotStarted,
    /// The job is queued, and the server starts none that adds data.
    StorageFull,
    /// The reason that is recorded with the subject of the job.
    Recorded(String),
}

impl WaitReason {
    /// Returns what becomes of the job if the command is stopped, as the predicate of a sentence.
    fn describe_outlook(&self) -> &'static str {
        match self {
            // Without a server, no job continues.
            Self::NoResponse => "stays queued for the server",
            Self::NotStarted | Self::Recorded(_) => "continues",
            Self::StorageFull => "continues when there is room again",
        }
    }
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoResponse => "the server does not answer",
            Self::NotStarted => {
                "the running server has not started this job: it is busy or uses another database"
            }
            Self::StorageFull => "a disk is full or has less than storage.min_free_bytes free",
            Self::Recorded(reason) => reason,
        })
    }
}

/// Prints why the job does not continue, each reason once until another one follows.
struct WaitNotice<'a> {
    bar: &'a ProgressBar,
    /// The time since which the job waits for a server.
    waits_since: Option<Instant>,
    /// The reason that was printed last.
    last: Option<WaitReason>,
}

impl WaitNotice<'_> {
    fn update(&mut self, is_waiting: bool, has_room: bool, reason: Option<String>) {
        self.waits_since = self.waits_since.filter(|_| is_waiting).or_else(|| is_waiting.then(Instant::now));
        let is_late = self.waits_since.is_some_and(|since| since.elapsed() > MAX_START_DELAY);
        let full = (is_waiting && !has_room).then_some(WaitReason::StorageFull);
        let not_started = is_late.then_some(WaitReason::NotStarted);
        // A full disk comes first: a recorded reason is that of an earlier attempt.
        if let Some(reason) = full.or(reason.map(WaitReason::Recorded)).or(not_started) {
            self.print(reason);
        }
    }

    fn print(&mut self, reason: WaitReason) {
        if self.last.as_ref() != Some(&reason) {
            let line = format_line(&reason);
            // A closed stderr is ignored.
            self.bar.suspend(|| writeln!(io::stderr(), "{line}")).ok();
            self.last = Some(reason);
        }
    }
}

/// Returns the line that tells the user why the command waits.
fn format_line(reason: &WaitReason) -> String {
    format!("carrel: waiting: {reason}. Press Ctrl-C to stop waiting; the job {}.", reason.describe_outlook())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disk_is_the_reason_of_a_job_that_waits() {
        let bar = ProgressBar::hidden();
        let last_after = |is_waiting, has_room, recorded: Option<&str>| {
            let mut notice = WaitNotice { bar: &bar, waits_since: None, last: None };
            notice.update(is_waiting, has_room, recorded.map(str::to_owned));
            notice.last
        };

        assert_eq!(last_after(true, false, None), Some(WaitReason::StorageFull));
        assert_eq!(last_after(true, false, Some("earlier")), Some(WaitReason::StorageFull));
        assert_eq!(last_after(false, false, None), None);
        assert_eq!(last_after(true, true, None), None);
        assert_eq!(
            format_line(&WaitReason::StorageFull),
            "carrel: waiting: a disk is full or has less than storage.min_free_bytes free. Press Ctrl-C to stop waiting; the job \
             continues when there is room again."
        );
    }

    #[test]
    fn job_without_a_server_is_said_to_stay_queued() {
        let recorded = WaitReason::Recorded("the server does not answer".to_owned());

        assert_eq!(
            format_line(&WaitReason::NoResponse),
            "carrel: waiting: the server does not answer. Press Ctrl-C to stop waiting; the job stays queued for the server."
        );
        assert_eq!(
            format_line(&WaitReason::NotStarted),
            "carrel: waiting: the running server has not started this job: it is busy or uses another database. Press Ctrl-C to \
             stop waiting; the job continues."
        );
        assert!(
            format_line(&recorded).ends_with("the job continues."),
            "the reason of a job is not compared by its text"
        );
    }
}
