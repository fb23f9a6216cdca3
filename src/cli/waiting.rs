//! Waiting for what was left for the server. The one who waits is told why it does not go on.

use std::io::{self, Write};

use library::context::CoreContext;
use errors::Error;
use jobs::JobKind;
use indicatif::ProgressBar;
use tokio::time::{Duration, Instant, sleep};
use uuid::Uuid;

use super::probe;
use crate::settings::Settings;

/// How often it is looked whether it is done.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// How often it is asked whether the server is still there.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
/// A server that does not answer so often is gone: one that is started anew is there again by then.
const MAX_MISSED_PROBES: u32 = 3;
/// A server that has nothing else to do is at it by then.
const LATE_AFTER: Duration = Duration::from_secs(5);
const NOT_STARTED: &str = "the running server has not started this job: it is busy or uses another database";
const NO_ANSWER: &str = "the server does not answer";

/// How far the job is.
pub enum Progress<T> {
    /// It is done.
    Done(T),
    /// It is not, and why it does not continue, where it does not.
    Open(Option<String>),
}

/// Returns what `look` finds, once it is done; none where no server is there to do it, or none any more.
///
/// # Errors
/// Those of `look`, and the database.
pub async fn until_done<T>(
    (core, settings): (&CoreContext, &Settings),
    (work, subject): (JobKind, Uuid),
    bar: &ProgressBar,
    mut look: impl AsyncFnMut() -> Result<Progress<T>, Error>,
) -> Result<Option<T>, Error> {
    let mut missed = if probe::runs(settings).await { 0 } else { MAX_MISSED_PROBES };
    let mut told = WaitNotice { bar, waits_since: None, last: None };
    while missed < MAX_MISSED_PROBES {
        let until = Instant::now() + PROBE_INTERVAL;
        while Instant::now() < until {
            match look().await? {
                Progress::Done(done) => return Ok(Some(done)),
                Progress::Open(why) => {
                    told.see(jobs::is_waiting(core.db.read(), work, subject).await?, why);
                }
            }
            sleep(POLL_INTERVAL).await;
        }
        missed = if probe::runs(settings).await { 0 } else { missed + 1 };
        if missed > 0 {
            told.tell(NO_ANSWER.to_owned());
        }
    }
    Ok(match look().await? {
        Progress::Done(done) => Some(done),
        Progress::Open(_) => None,
    })
}

/// What the one who waits was told.
struct WaitNotice<'a> {
    bar: &'a ProgressBar,
    /// Since when no server is at it.
    waits_since: Option<Instant>,
    last: Option<String>,
}

impl WaitNotice<'_> {
    fn see(&mut self, waits: bool, why: Option<String>) {
        self.waits_since = self.waits_since.filter(|_| waits).or_else(|| waits.then(Instant::now));
        let late = self.waits_since.is_some_and(|since| since.elapsed() > LATE_AFTER);
        if let Some(why) = why.or_else(|| late.then(|| NOT_STARTED.to_owned())) {
            self.tell(why);
        }
    }

    fn tell(&mut self, why: String) {
        if self.last.as_ref() != Some(&why) {
            let words = format!("carrel: waiting: {why}. The job is saved: you may stop waiting.");
            // Where stderr is closed there is nobody to tell.
            self.bar.suspend(|| writeln!(io::stderr(), "{words}")).ok();
            self.last = Some(why);
        }
    }
}
