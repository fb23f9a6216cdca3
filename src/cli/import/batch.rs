//! Saves by the batch: a transaction for each line would wait for the disk each time. A batch is gathered before its
//! transaction begins, so a slow file keeps nobody from writing.

use std::mem;

use actors::desk::Desk;
use actors::error::Error;
use actors::ingest::queue::Priority;
use actors::ops::bookmarks::save::{self, NewBookmark};
use entity::id::UserId;

use super::line;
use super::report::Report;
use crate::cli::failure::{Failure, words};

/// Lines of a batch, and bytes that it may have when another line comes in.
const LINES: usize = 100;
const BYTES: usize = 1 << 20;

/// Tries of a batch while the database is busy, each after several seconds of waiting for it.
const TRIES: u32 = 3;

/// A line: its number, and what it asks for or why it is passed over.
type Read = (u64, Result<NewBookmark, String>);

/// Takes lines in, and counts what came of them.
pub struct Batches {
    desk: Desk,
    user: UserId,
    waiting: Vec<Read>,
    bytes: usize,
    report: Report,
}

/// What came of a line.
enum Outcome {
    Created,
    Updated,
    Passed(String),
}

/// Why a batch is not in: the line, and what is wrong that is not the line's fault.
struct Stopped {
    line: u64,
    error: Error,
}

impl Batches {
    /// Saves for this user.
    pub fn new(desk: Desk, user: UserId) -> Self {
        Self { desk, user, waiting: Vec::new(), bytes: 0, report: Report::default() }
    }

    /// Takes one more line, of so many bytes.
    pub async fn take(
        &mut self,
        number: u64,
        read: Result<NewBookmark, String>,
        size: usize,
    ) -> Result<(), Failure> {
        self.waiting.push((number, read));
        self.bytes += size;
        if self.waiting.len() < LINES && self.bytes < BYTES {
            return Ok(());
        }
        self.flush().await
    }

    /// Saves what is left, and reports.
    pub async fn finish(mut self) -> Result<Report, Failure> {
        self.flush().await?;
        Ok(self.report)
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        let batch = mem::take(&mut self.waiting);
        self.bytes = 0;
        let outcomes = self.save(&batch).await.map_err(|Stopped { line, error }| Failure::Stopped {
            line,
            saved: self.report.saved(),
            why: words(&error),
        })?;
        for ((number, _), outcome) in batch.into_iter().zip(outcomes) {
            match outcome {
                Outcome::Created => self.report.created += 1,
                Outcome::Updated => self.report.updated += 1,
                Outcome::Passed(reason) => self.report.skip(number, reason),
            }
        }
        Ok(())
    }

    /// A server beside this may keep the database busy for a while.
    async fn save(&self, batch: &[Read]) -> Result<Vec<Outcome>, Stopped> {
        for _ in 1..TRIES {
            match self.try_to_save(batch).await {
                Err(Stopped { error: Error::Busy(wait), .. }) => tokio::time::sleep(wait).await,
                ended => return ended,
            }
        }
        self.try_to_save(batch).await
    }

    /// All of the batch or nothing; lines that are passed over are no reason for nothing.
    async fn try_to_save(&self, batch: &[Read]) -> Result<Vec<Outcome>, Stopped> {
        let mut line = batch.first().map_or(0, |(number, _)| *number);
        let in_one = async {
            let txn = self.desk.db.begin().await?;
            let mut outcomes = Vec::with_capacity(batch.len());
            for (number, read) in batch {
                line = *number;
                outcomes.push(match read {
                    Err(reason) => Outcome::Passed(reason.clone()),
                    Ok(new) => {
                        let now = self.desk.clock.now();
                        outcome(save::save_in(&txn, self.user, new.clone(), Priority::Backlog, now).await)?
                    }
                });
            }
            txn.commit().await?;
            Ok(outcomes)
        };
        in_one.await.map_err(|error| Stopped { line, error })
    }
}

fn outcome<T>(saved: Result<(T, bool), Error>) -> Result<Outcome, Error> {
    match saved {
        Ok((_, true)) => Ok(Outcome::Created),
        Ok((_, false)) => Ok(Outcome::Updated),
        Err(error) => line::reason(&error).map(Outcome::Passed).ok_or(error),
    }
}
