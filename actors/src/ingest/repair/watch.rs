//! What the checks of the index remember from one to the next.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use library::clock::Clock;
use search::index::{AuditReason, IndexStore, InitialIndex, Marker, PassageIndex};
use tokio::sync::Mutex;
use values::time::Timestamp;

/// The watch over the index of a running server: what its checks remember, and whether this server maintains the index.
pub struct IndexWatch {
    pub(super) store: IndexStore,
    pub(super) is_maintainer: AtomicBool,
    /// Whether the server of the index answered the last check. An embedded index needs none.
    pub(super) is_reachable: AtomicBool,
    pub(super) state: Mutex<WatchState>,
}

impl IndexWatch {
    /// Returns whether this server fills and repairs the index.
    #[must_use]
    pub fn is_maintainer(&self) -> bool {
        self.is_maintainer.load(Ordering::SeqCst)
    }

    /// Returns whether the server of the index answered the last check, and no request failed since that suspended it; always for an
    /// embedded index. Work on the index is not begun otherwise, because it would only fail and wait.
    #[must_use]
    pub fn is_reachable(&self) -> bool {
        let is_suspended = self.store.server().is_some_and(|server| !server.suspension().is_zero());
        self.is_reachable.load(Ordering::SeqCst) && !is_suspended
    }

    /// Returns whether this server maintains the index and reaches it.
    #[must_use]
    pub fn can_maintain(&self) -> bool {
        self.is_maintainer() && self.is_reachable()
    }

    /// Returns whether this server runs the jobs that change the index: all servers do for an index that they share, and only the one that
    /// maintains it for an embedded index. None does while the index is not reached.
    #[must_use]
    pub fn runs_index_jobs(&self) -> bool {
        (self.is_shared() || self.is_maintainer()) && self.is_reachable()
    }

    /// Returns whether all servers on the database share the index.
    pub(super) fn is_shared(&self) -> bool {
        self.store.server().is_some()
    }

    pub(super) fn new(initial: InitialIndex, clock: &dyn Clock) -> Self {
        let InitialIndex { store, recorded, opened } = initial;
        let start = clock.elapsed();
        let is_reached = opened.as_ref().is_none_or(|opened| opened.is_reached);
        // An index that could not be opened yet is compared with the database once it is open: see `reopen`.
        let audit_request = opened.and_then(|opened| {
            opened.audit_reason.map(|reason| AuditRequest::new(reason, opened.found.as_ref(), clock.now()))
        });
        let state = WatchState {
            // The marker of the row, not that of the folder: a folder that is one ahead is written again with the same number, so
            // it never gets further ahead, however often the row cannot be written.
            marker: recorded,
            audit_request,
            marked_at: start,
            marked_changes: 0,
            counted_at: start,
            counted_twice: 0,
            low_counts: 0,
            comparison_failed_at: None,
            count_suspected_at: None,
            moved_aside_at: None,
            move_aside_interval: Duration::ZERO,
            damage: None,
            reopened_at: None,
            remaining_documents: 0,
            remaining_since: start,
            abandoned: Vec::new(),
            model_change: ModelChangeState::default(),
            shared: SharedIndexState { is_unseen: !is_reached, ..SharedIndexState::default() },
        };
        Self {
            store,
            is_maintainer: AtomicBool::new(false),
            is_reachable: AtomicBool::new(is_reached),
            state: Mutex::new(state),
        }
    }
}

/// A request to compare the index with the database: its reason, and the documents that are stale because of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct AuditRequest {
    pub reason: AuditReason,
    pub stale: Option<StalePeriod>,
}

/// Documents that were indexed within this period count as lost, whatever the index holds of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct StalePeriod {
    pub since: Timestamp,
    /// When the request was made: documents that were indexed later are not stale.
    pub until: Timestamp,
}

impl StalePeriod {
    /// Returns whether it includes a document that was last indexed at this time, or before such times were recorded. A time after `now`
    /// was recorded before the clock was set back, so before the request was made.
    pub fn includes(self, indexed_at: Option<Timestamp>, now: Timestamp) -> bool {
        indexed_at.is_none_or(|at| at >= self.since && (at < self.until || at > now))
    }
}

impl AuditRequest {
    pub fn new(reason: AuditReason, found: Option<&Marker>, now: Timestamp) -> Self {
        let stale = reason.stale_since(found).map(|since| StalePeriod { since, until: now });
        Self { reason, stale }
    }
}

/// The state of the replacement of an index that counts as damaged, until another one is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    /// The index is still in its folder, and is to be moved aside.
    InPlace,
    /// The index was moved aside, and a new one is to be opened.
    MovedAside,
}

/// The state that the checks keep. Times are those of [`Clock::elapsed`], which never goes back.
pub(super) struct WatchState {
    /// The marker of both the index and the database; none until both have one.
    pub marker: Option<Marker>,
    /// Why the index is to be compared with the database, if it is.
    pub audit_request: Option<AuditRequest>,
    /// The time when the marker was last raised.
    pub marked_at: Duration,
    /// The number of changes of the index that the marker covers.
    pub marked_changes: u64,
    /// The time when the passages were last counted.
    pub counted_at: Duration,
    /// Passages that an estimate counts twice, as of the last exact count.
    pub counted_twice: u64,
    /// The number of counts in a row that were too low.
    pub low_counts: u32,
    /// The time of the last comparison if it failed; `None` after one that succeeded.
    pub comparison_failed_at: Option<Duration>,
    /// When a count last was a reason for a comparison.
    pub count_suspected_at: Option<Duration>,
    /// When an index was last moved aside because it counted as damaged.
    pub moved_aside_at: Option<Duration>,
    /// How long after that no other index that is loaded is moved aside because of failed requests.
    pub move_aside_interval: Duration,
    /// How far the replacement of an index is that counts as damaged.
    pub damage: Option<Damage>,
    /// When a replacement was last tried to be opened, while the index that is searched could not be replaced yet.
    pub reopened_at: Option<Duration>,
    /// Lost documents that a rebuild had not restored yet at the last check.
    pub remaining_documents: u64,
    /// Since when their number has not changed.
    pub remaining_since: Duration,
    /// Indexes that were abandoned because their folder was gone. They keep it locked, so one
    /// whose folder comes back can be resumed.
    pub abandoned: Vec<Arc<dyn PassageIndex>>,
    /// What is remembered of a change of the embedding model.
    pub model_change: ModelChangeState,
    /// What is remembered of an index that several servers share.
    pub shared: SharedIndexState,
}

/// What the checks remember of an index that all servers on the database share.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SharedIndexState {
    /// Whether its marker was not compared yet since this server began to use or to maintain it.
    pub is_unseen: bool,
    /// Whether another server maintained it at the last check.
    pub was_follower: bool,
    /// Checks in a row that found another marker than this server wrote.
    pub marker_mismatches: u32,
    /// Whether the other servers were told that it is compared with the database; `None` before the first check.
    pub announced_audit: Option<bool>,
}

/// What the checks remember of a change of the embedding model.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ModelChangeState {
    /// When the documents without vectors of the next model were last counted; `None` without a next model.
    pub counted_at: Option<Duration>,
    /// Their number at that time.
    pub outdated_documents: u64,
    /// Since when their number has not changed.
    pub outdated_since: Duration,
    /// When documents without vectors of the searched model were last enqueued; `None` before the first check.
    pub enqueued_at: Option<Duration>,
    /// Since when there are vectors to be deleted, or when others were deleted last; `None` if there are none.
    pub retired_since: Option<Duration>,
}

/// Returns whether a period has passed since a time, or there is no such time.
pub(super) fn has_passed(since: Option<Duration>, period: Duration, now: Duration) -> bool {
    since.is_none_or(|since| now.saturating_sub(since) >= period)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: u64) -> Timestamp {
        Timestamp::from_millis(1_714_996_800_000) + Duration::from_secs(minute * 60)
    }

    #[test]
    fn documents_indexed_within_the_period_are_stale() {
        let period = StalePeriod { since: at(10), until: at(20) };
        let includes = |minute| period.includes(Some(at(minute)), at(30));

        assert!(includes(10) && includes(19));
        assert!(!includes(9), "the old copy holds it");
        assert!(!includes(20) && !includes(30), "it was indexed after the request");
        assert!(period.includes(None, at(30)));
    }

    #[test]
    fn documents_indexed_before_clock_was_set_back_are_stale() {
        let period = StalePeriod { since: at(10), until: at(20) };

        assert!(period.includes(Some(at(70)), at(21)));
    }
}
