//! Counts the passages of the index: a number that the database does not expect raises a doubt.

use std::time::Duration;

use database::Db;
use entity::time::Timestamp;
use search::index::AuditReason;
use tracing::warn;

use super::rows;
use super::watch::{IndexWatch, Suspicion, Watched, has_passed};
use crate::ingest::context::IngestContext;
use library::clock::Clock;
use errors::Error;
use crate::retrieval::{Completeness, Retrieval};

/// How often passages are counted: one sum over an index of the database, and none over the passages.
const COUNT_EVERY: Duration = Duration::from_secs(60);
/// A count raises no doubt again sooner, so that a count that stays wrong for a reason of its own costs little.
const DOUBT_COUNT_EVERY: Duration = Duration::from_secs(600);
/// Counts in a row that must be too low before the index is doubted.
const LOW_COUNTS_OF_DOUBT: u32 = 2;

impl Watched {
    /// How many passages the index holds. An estimate that is odd is not believed: then they are counted one by one.
    async fn count_held(
        &mut self,
        retrieval: &Retrieval,
        is_odd: impl Fn(u64) -> bool,
    ) -> Result<u64, Error> {
        let estimate = retrieval.count().await? as u64;
        let held = estimate.saturating_sub(self.counted_twice);
        if !is_odd(held) {
            return Ok(held);
        }
        let exact = retrieval.count_exactly().await? as u64;
        self.counted_twice = estimate.saturating_sub(exact);
        Ok(exact)
    }

    /// Doubts an index that holds another number of passages than the database expects before any job runs.
    fn judge_first_count(&mut self, held: Option<u64>, expected: u64, now: Timestamp) {
        if self.suspicion.is_none() && held.is_some_and(|held| held != expected) {
            self.suspicion = Some(Suspicion::new(AuditReason::CountMismatch, None, now));
        } else if expected == 0 && held == Some(0) {
            // New, or of a library that is empty: there is nothing to compare.
            self.marker = self.marker.take().filter(|_| self.suspicion.is_none());
            self.suspicion = None;
        }
    }
}

impl IndexWatch {
    /// Tells whether the index can be relied on, from its doubts and a count, where the rows speak of it from now on.
    pub(super) async fn assess(
        &self,
        db: &Db,
        retrieval: &Retrieval,
        watched: &mut Watched,
        clock: &dyn Clock,
    ) -> Result<(), Error> {
        // At the start no job runs yet, so the two numbers are equal where nothing is wrong and no job was interrupted.
        let expected = rows::expected_passages(db.read()).await?;
        let held = watched.count_held(retrieval, |held| held != expected).await.ok();
        let has_surplus = watched.suspicion.is_none() && held.is_some_and(|held| held > expected);
        watched.judge_first_count(held, expected, clock.now());
        let lost = rows::count_lost(db.read()).await?;
        let known = Completeness::Complete.with_documents_left(lost);
        if let Some(Suspicion { reason, .. }) = watched.suspicion {
            warn!(
                held,
                expected,
                "the passage index {}: it is compared with the database",
                reason.description()
            );
            // A surplus, such as of a job that was interrupted, hides nothing: results are read from the rows.
            retrieval.set_completeness(if has_surplus { known } else { Completeness::Checking });
            return Ok(());
        }
        self.raise_marker(db, watched, clock).await;
        retrieval.set_completeness(known);
        Ok(())
    }

    /// Counts passages where it is time to, and doubts an index that holds too few.
    pub(super) async fn compare_counts(&self, ctx: &IngestContext, watched: &mut Watched) -> Result<(), Error> {
        let (now, now_at) = (ctx.core.clock.elapsed(), ctx.core.clock.now());
        if !has_passed(Some(watched.counted_at), COUNT_EVERY, now)
            || !has_passed(watched.doubted_count_at, DOUBT_COUNT_EVERY, now)
        {
            return Ok(());
        }
        // On both sides of the count, for passages come and go meanwhile. Only fewer passages tell of a loss: the index may hold
        // more than it should, of a text that comes in or of one that is about to be taken out.
        let before = rows::expected_passages(ctx.core.db.read()).await?;
        let held = watched.count_held(&ctx.retrieval, |held| held < before).await?;
        let expected = before.min(rows::expected_passages(ctx.core.db.read()).await?);
        watched.low_counts = if held < expected { watched.low_counts + 1 } else { 0 };
        // One low count may have met a text that was just becoming shorter.
        if watched.low_counts >= LOW_COUNTS_OF_DOUBT {
            watched.low_counts = 0;
            warn!(held, expected, "the passage index {}", AuditReason::CountMismatch.description());
            watched.doubted_count_at = Some(now);
            watched.suspicion = Some(Suspicion::new(AuditReason::CountMismatch, None, now_at));
            ctx.retrieval.set_completeness(Completeness::Checking);
        }
        // After a first low count the next check counts again.
        if watched.low_counts == 0 {
            watched.counted_at = now;
        }
        Ok(())
    }
}
