//! Waiting for what was left for the server. The one who waits is told why it does not go on.

use std::io::{self, Write};

use actors::desk::Desk;
use actors::error::Error;
use actors::ingest::queue::{self, Work};
use indicatif::ProgressBar;
use tokio::time::{Duration, Instant, sleep};
use uuid::Uuid;

use super::probe;
use crate::settings::Settings;

/// How often it is looked whether it is done.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How often it is asked whether the server is still there.
const ASK_EVERY: Duration = Duration::from_secs(5);
/// A server that does not answer so often is gone: one that is started anew is there again by then.
const MISSES: u32 = 3;
/// A server that has nothing else to do has begun by then.
const SOON: Duration = Duration::from_secs(5);
const NOT_BEGUN: &str = "the server that runs has not begun: it has other work, or another database";

/// What was found when it was looked.
pub enum Found<T> {
    /// It is done.
    Done(T),
    /// It is not, and why it does not go on, where it does not.
    Open(Option<String>),
}

/// What `look` finds, once it is done; none where no server is there to do it, or none any more.
///
/// # Errors
/// Those of `look`, and the database.
pub async fn until_done<T>(
    (desk, settings): (&Desk, &Settings),
    (work, subject): (Work, Uuid),
    bar: &ProgressBar,
    mut look: impl AsyncFnMut() -> Result<Found<T>, Error>,
) -> Result<Option<T>, Error> {
    let mut missed = if probe::runs(settings).await { 0 } else { MISSES };
    let mut told = Told { bar, since: Instant::now(), begun: false, last: None };
    while missed < MISSES {
        let until = Instant::now() + ASK_EVERY;
        while Instant::now() < until {
            match look().await? {
                Found::Done(done) => return Ok(Some(done)),
                Found::Open(why) => {
                    let waits = !told.begun && queue::is_waiting(desk.db.read(), work, subject).await?;
                    told.tell(waits, why);
                }
            }
            sleep(LOOK_EVERY).await;
        }
        missed = if probe::runs(settings).await { 0 } else { missed + 1 };
    }
    Ok(match look().await? {
        Found::Done(done) => Some(done),
        Found::Open(_) => None,
    })
}

/// What the one who waits was told.
struct Told<'a> {
    bar: &'a ProgressBar,
    since: Instant,
    begun: bool,
    last: Option<String>,
}

impl Told<'_> {
    fn tell(&mut self, waits: bool, why: Option<String>) {
        self.begun |= !waits;
        let late = !self.begun && self.since.elapsed() > SOON;
        let Some(why) = why.or_else(|| late.then(|| NOT_BEGUN.to_owned())) else { return };
        if self.last.as_ref() != Some(&why) {
            let words = format!("carrel: waiting: {why}. It is kept, and nobody has to wait for it here");
            // Where stderr is closed there is nobody to tell.
            self.bar.suspend(|| writeln!(io::stderr(), "{words}")).ok();
            self.last = Some(why);
        }
    }
}
