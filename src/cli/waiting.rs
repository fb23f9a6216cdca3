//! Waits for a job that the running server executes, and prints why it does not continue.

use std::io::{self, Write};

use errors::Error;
use indicatif::ProgressBar;
use jobs::JobKind;
use library::context::CoreContext;
use tokio::time::{Duration, Instant, sleep};
use uuid::Uuid;

use super::probe;
use crate::settings::Settings;

/// Interval at which the state of the job is read.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Interval at which the server is probed.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
/// A server that misses this many probes has stopped: one that restarts is ready by then.
const MAX_MISSED_PROBES: u32 = 3;
/// An idle server has started the job after this time.
const MAX_START_DELAY: Duration = Duration::from_secs(5);
const NOT_STARTED: &str = "the running server has not started this job: it is busy or uses another database";
const NO_RESPONSE: &str = "the server does not answer";

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
        let until = Instant::now() + PROBE_INTERVAL;
        while Instant::now() < until {
            match poll().await? {
                Progress::Done(done) => return Ok(Some(done)),
                Progress::Open(reason) => {
                    notice.update(jobs::is_waiting(core.db.read(), kind, subject).await?, reason);
                }
            }
            sleep(POLL_INTERVAL).await;
        }
        missed = if probe::is_server_running(settings).await { 0 } else { missed + 1 };
        if missed > 0 {
            notice.print(NO_RESPONSE.to_owned());
        }
    }
    // Once more: the job may have ended after the last look at it and before the server stopped.
    Ok(match poll().await? {
        Progress::Done(done) => Some(done),
        Progress::Open(_) => None,
    })
}

/// The reason for the wait that was printed last.
struct WaitNotice<'a> {
    bar: &'a ProgressBar,
    /// The time since which the job waits for a server.
    waits_since: Option<Instant>,
    last: Option<String>,
}

impl WaitNotice<'_> {
    fn update(&mut self, is_waiting: bool, reason: Option<String>) {
        self.waits_since = self.waits_since.filter(|_| is_waiting).or_else(|| is_waiting.then(Instant::now));
        let is_late = self.waits_since.is_some_and(|since| since.elapsed() > MAX_START_DELAY);
        if let Some(reason) = reason.or_else(|| is_late.then(|| NOT_STARTED.to_owned())) {
            self.print(reason);
        }
    }

    fn print(&mut self, reason: String) {
        if self.last.as_ref() != Some(&reason) {
            // Without a server, no job continues.
            let job = if reason == NO_RESPONSE { "stays queued for the server" } else { "continues" };
            let line = format!("carrel: waiting: {reason}. Press Ctrl-C to stop waiting; the job {job}.");
            // A closed stderr is ignored.
            self.bar.suspend(|| writeln!(io::stderr(), "{line}")).ok();
            self.last = Some(reason);
        }
    }
}
