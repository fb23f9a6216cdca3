//! Counts the passages of the index. A number that differs from what the database expects is a reason to compare the two.

use std::time::Duration;

use database::Db;
use errors::Error;
use library::clock::Clock;
use search::index::AuditReason;
use tracing::warn;
use values::time::Timestamp;

use super::context::RepairContext;
use super::rows;
use super::watch::{AuditRequest, IndexWatch, WatchState, has_passed};
use crate::retrieval::{Completeness, Retrieval};

/// Interval of counts. A count costs the database one sum over an index, and reads no passage.
const COUNT_INTERVAL: Duration = Duration::from_secs(60);
/// Shortest time between two comparisons that a count caused, so that a count that stays wrong costs little.
const COUNT_SUSPICION_INTERVAL: Duration = Duration::from_secs(600);
/// Counts in a row that must be too low before the index is compared.
const MIN_LOW_COUNTS: u32 = 2;

impl WatchState {
    /// Counts the passages of the index by its estimate. If the estimate is suspicious, they are counted one by one.
    async fn count_passages(
        &mut self,
        retrieval: &Retrieval,
        is_suspicious: impl Fn(u64) -> bool,
    ) -> Result<u64, Error> {
        let estimate = retrieval.engine().count().await? as u64;
        let count = estimate.saturating_sub(self.counted_twice);
        if !is_suspicious(count) {
            return Ok(count);
        }
        // Slow, so only after a suspicious estimate. What the estimate counts twice is subtracted from the next ones.
        let exact = retrieval.engine().count_exactly().await? as u64;
        self.counted_twice = estimate.saturating_sub(exact);
        Ok(exact)
    }

    /// Assesses a count that was made before any job runs, when the two numbers are to be equal.
    fn assess_first_count(
        &mut self,
        count: Option<u64>,
        expected: u64,
        is_suspicious: impl Fn(u64) -> bool,
        now: Timestamp,
    ) {
        if self.audit_request.is_none() && count.is_some_and(is_suspicious) {
            self.audit_request = Some(AuditRequest::new(AuditReason::CountMismatch, None, now));
        } else if expected == 0 && count == Some(0) {
            // The index is new, or all libraries are empty: there is nothing to compare.
            self.marker = self.marker.take().filter(|_| self.audit_request.is_none());
            self.audit_request = None;
        }
    }
}

impl IndexWatch {
    /// Determines from a count and from an earlier request whether the index is complete, once this server maintains it.
    pub(super) async fn assess(
        &self,
        db: &Db,
        retrieval: &Retrieval,
        state: &mut WatchState,
        clock: &dyn Clock,
    ) -> Result<(), Error> {
        if !retrieval.engine().has_index() {
            retrieval.engine().set_completeness(Completeness::Unavailable);
            return Ok(());
        }
        if state.shared.is_unseen {
            // Nothing is known of it until its server answers.
            retrieval.engine().set_completeness(Completeness::Checking);
            return Ok(());
        }
        // At the start no job runs yet, so the two numbers are equal unless something is wrong or a job was interrupted. On an index that
        // other servers share their jobs run.
        let expected = rows::expected_passages(db.read()).await?;
        let is_shared = self.is_shared();
        let is_suspicious =
            |count: u64| if is_shared { count == 0 && expected > 0 } else { count != expected };
        let count = state.count_passages(retrieval, is_suspicious).await.ok();
        let has_surplus = state.audit_request.is_none() && count.is_some_and(|count| count > expected);
        state.assess_first_count(count, expected, is_suspicious, clock.now());
        let lost = rows::count_lost(db.read()).await?;
        let known = Completeness::Complete.with_documents_left(lost);
        if let Some(AuditRequest { reason, .. }) = state.audit_request {
            warn!(
                passages = count,
                expected,
                reason = reason.description(),
                "the passage index may be incomplete: it is compared with the database"
            );
            // A surplus, such as that of an interrupted job, hides nothing: results are read from the rows.
            retrieval.engine().set_completeness(if has_surplus { known } else { Completeness::Checking });
            return Ok(());
        }
        self.raise_marker(db, state, clock).await;
        retrieval.engine().set_completeness(known);
        Ok(())
    }
}

/// Counts the passages if it is time to. An index that holds too few is to be compared with the database.
pub(super) async fn compare_counts(ctx: &RepairContext, state: &mut WatchState) -> Result<(), Error> {
    let (now, now_at) = (ctx.core.clock.elapsed(), ctx.core.clock.now());
    if !has_passed(Some(state.counted_at), COUNT_INTERVAL, now)
        || !has_passed(state.count_suspected_at, COUNT_SUSPICION_INTERVAL, now)
    {
        return Ok(());
    }
    // Before and after the count, because passages change meanwhile. Only a lower number is a sign of a loss: the index may hold
    // more than it should, of a text that is being indexed or of one that is about to be removed.
    let before = rows::expected_passages(ctx.core.db.read()).await?;
    let count = state.count_passages(&ctx.retrieval, |count| count < before).await?;
    let expected = before.min(rows::expected_passages(ctx.core.db.read()).await?);
    state.low_counts = if count < expected { state.low_counts + 1 } else { 0 };
    // A single low count may have met a text that was just replaced by a shorter one.
    if state.low_counts >= MIN_LOW_COUNTS {
        state.low_counts = 0;
        warn!(
            passages = count,
            expected, "the passage index has too few passages: it is compared with the database"
        );
        state.count_suspected_at = Some(now);
        state.audit_request = Some(AuditRequest::new(AuditReason::CountMismatch, None, now_at));
        ctx.retrieval.engine().set_completeness(Completeness::Checking);
    }
    // After a first low count the next check counts again, without waiting for the interval.
    if state.low_counts == 0 {
        state.counted_at = now;
    }
    Ok(())
}
