//! What the watch over the index remembers from one check to the next.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use entity::time::Timestamp;
use search::index::{AuditReason, IndexFolder, Marker, OpenedIndex, PassageIndex};
use tokio::sync::Mutex;

use library::clock::Clock;

/// Watches the index of a running service.
pub struct IndexWatch {
    pub(super) folder: IndexFolder,
    pub(super) is_maintainer: AtomicBool,
    pub(super) watched: Mutex<Watched>,
}

impl IndexWatch {
    pub(super) fn new(opened: OpenedIndex, clock: &dyn Clock) -> Self {
        let OpenedIndex { folder, index: _, audit_reason, found, recorded } = opened;
        let start = clock.elapsed();
        let watched = Watched {
            // The row, not the folder: a folder that is one ahead is written again with the same number, so it never gets
            // further ahead however often the row cannot be written.
            marker: recorded,
            suspicion: audit_reason.map(|reason| Suspicion::new(reason, found.as_ref(), clock.now())),
            marked_at: start,
            marked_changes: 0,
            counted_at: start,
            counted_twice: 0,
            low_counts: 0,
            comparison_failed_at: None,
            doubted_count_at: None,
            set_aside_at: None,
            damage: None,
            reopened_at: None,
            left: (0, start),
            given_up: Vec::new(),
        };
        Self { folder, is_maintainer: AtomicBool::new(false), watched: Mutex::new(watched) }
    }
}

/// Why the index must be compared with the database, and since when documents are stale because of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspicion {
    pub reason: AuditReason,
    pub stale: Option<StalePeriod>,
}

/// What the index was told of within this period counts as lost, whatever it holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct StalePeriod {
    pub since: Timestamp,
    /// When the doubt was raised: what was put in afterwards is not stale.
    pub until: Timestamp,
}

impl StalePeriod {
    /// Whether it includes a document that the index was last told of at this time, or before such times were kept. A time after
    /// `now` was written before the clock was set back, so before the doubt.
    pub fn includes(self, indexed_at: Option<Timestamp>, now: Timestamp) -> bool {
        indexed_at.is_none_or(|at| at >= self.since && (at < self.until || at > now))
    }
}

impl Suspicion {
    pub fn new(reason: AuditReason, found: Option<&Marker>, now: Timestamp) -> Self {
        let stale = reason.stale_since(found).map(|since| StalePeriod { since, until: now });
        Self { reason, stale }
    }
}

/// What became of an index that failed to answer reads, until another one is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    /// It is to be moved aside.
    InPlace,
    /// It was moved aside.
    MovedAside,
}

/// Times are those of the clock's [`Clock::elapsed`], which never goes back.
pub(super) struct Watched {
    /// The marker that folder and database have; none until both have one.
    pub marker: Option<Marker>,
    /// Why the index is to be compared with the database; none where it was, or need not be.
    pub suspicion: Option<Suspicion>,
    pub marked_at: Duration,
    /// The changes of the index that the marker follows.
    pub marked_changes: u64,
    pub counted_at: Duration,
    /// So many passages are counted twice by an estimate, as far as is known.
    pub counted_twice: u64,
    /// Counts in a row that were too low.
    pub low_counts: u32,
    /// When the last comparison failed.
    pub comparison_failed_at: Option<Duration>,
    /// When a count raised a doubt.
    pub doubted_count_at: Option<Duration>,
    /// When an index was last moved aside because it failed to answer reads.
    pub set_aside_at: Option<Duration>,
    /// How far the replacement of an index is that failed to answer reads.
    pub damage: Option<Damage>,
    /// When another index was last tried to be opened, where the one that is searched is to be replaced and could not be yet.
    pub reopened_at: Option<Duration>,
    /// Documents that were left to be put in, and since when they are as many.
    pub left: (u64, Duration),
    /// Indexes that were given up because their folder was gone. They keep it locked, so one whose folder comes back is taken
    /// up again.
    pub given_up: Vec<Arc<dyn PassageIndex>>,
}

/// Whether a period has passed since then, or there is no such time.
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
    fn stale_is_what_was_indexed_within_the_period() {
        let period = StalePeriod { since: at(10), until: at(20) };
        let includes = |minute| period.includes(Some(at(minute)), at(30));

        assert!(includes(10) && includes(19));
        assert!(!includes(9), "the old copy holds it");
        assert!(!includes(20) && !includes(30), "it was put in after the doubt");
        assert!(period.includes(None, at(30)));
    }

    #[test]
    fn stale_is_what_was_indexed_before_the_clock_was_set_back() {
        let period = StalePeriod { since: at(10), until: at(20) };

        assert!(period.includes(Some(at(70)), at(21)));
    }
}
