//! What a claim may take, and what it returns.

use std::collections::HashMap;

use entity::job::Model;
use sea_orm::sea_query::SimpleExpr;
use values::id::UserId;

use super::kind::{JobKind, Priority, Track, has_known_kind, is_one_of};

/// A job that a claim returned.
#[derive(Clone, Debug)]
pub struct ClaimedJob {
    /// Kind of the job, which this version of the server knows.
    pub kind: JobKind,
    /// Row of the job, as the claim left it.
    pub row: Model,
}

impl ClaimedJob {
    /// Returns whether the job may run in a batch: none of its attempts failed or crashed before this one, and it has no progress.
    #[must_use]
    pub fn may_run_in_batch(&self) -> bool {
        self.kind.runs_in_batches()
            && self.row.attempts <= 1
            && self.row.crashes == 0
            && self.row.progress == 0
    }
}

/// The result of a claim.
#[derive(Debug, Default)]
pub struct ClaimedJobs {
    /// Jobs to run. They are leased to the caller, who must end or renew each of them.
    pub jobs: Vec<ClaimedJob>,
    /// Jobs to run together, two or more of one priority in each batch. They are leased to the caller as the others.
    pub batches: Vec<Vec<ClaimedJob>>,
    /// Jobs whose last attempt crashed the process, to be given up with [`super::give_up_crashed`].
    pub crashed: Vec<ClaimedJob>,
}

/// How many batches a claim may form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchBudget {
    /// Number of batches that may be added to those that run. While it is 0, jobs that users wait for have a slot each: so of the slots of
    /// a track one at least is free again soon, for the users who have no job in a batch.
    pub free: u64,
    /// Number of batches of the backlog that may be added to those that run. Jobs of the backlog that may share a slot wait while this or
    /// `free` is 0.
    pub free_for_backlog: u64,
    /// Maximum number of jobs in a batch.
    pub max_jobs: u64,
}

impl BatchBudget {
    /// Returns whether a batch of the backlog may be added.
    #[must_use]
    pub fn has_room_for_backlog(self) -> bool {
        self.free.min(self.free_for_backlog) > 0
    }
}

/// The free slots of a track, and which jobs may use them. It only counts what a claim may
/// lease: a job holds its slot by its lease, which outlives the process, and not by a permit.
#[derive(Clone, Debug, Default)]
pub struct SlotBudget {
    /// Number of slots of the track that no job uses now.
    pub free: u64,
    /// Number of free slots that jobs of the backlog may use.
    pub free_for_backlog: u64,
    /// Maximum number of slots that the jobs of one user may use at a time.
    pub max_per_user: u64,
    /// Number of slots that running jobs of each user use now; absent users use none.
    pub used_by_user: HashMap<UserId, u64>,
    /// Whether jobs that change the index are left to another server.
    pub skips_index_jobs: bool,
    /// Whether only jobs that delete are claimed, because the disk is below its floor.
    pub only_deletions: bool,
    /// How jobs may share slots; `None` if each job has its own.
    pub batches: Option<BatchBudget>,
}

impl SlotBudget {
    /// Returns a budget of free slots that all jobs of all users may use.
    pub fn unrestricted(free: u64) -> Self {
        Self { free, free_for_backlog: free, max_per_user: free, ..Self::default() }
    }

    /// Returns whether there is a slot for a job of this user and priority.
    #[must_use]
    pub fn has_slot_for(&self, job: &Model) -> bool {
        let is_backlog = Priority::of(job) == Priority::Backlog;
        let used = self.used_by_user.get(&job.user_id).copied().unwrap_or(0);
        self.free > 0 && used < self.max_per_user && (!is_backlog || self.free_for_backlog > 0)
    }

    /// Takes a slot for a job. Returns `false` if there is none for it.
    pub(super) fn try_acquire(&mut self, job: &Model) -> bool {
        if !self.has_slot_for(job) {
            return false;
        }
        let is_backlog = Priority::of(job) == Priority::Backlog;
        *self.used_by_user.entry(job.user_id).or_default() += 1;
        self.free -= 1;
        self.free_for_backlog -= u64::from(is_backlog);
        true
    }

    /// Returns the condition that a job of a track is of a kind that may be claimed: a kind that this version of the server knows, and that
    /// the budget does not exclude. Returns `None` if the budget excludes all kinds of the track.
    ///
    /// If it excludes some, the others are spelled as in the partial indexes of the track, so that a claim does not read the excluded jobs,
    /// which wait for long.
    pub(super) fn claimable_kinds(&self, track: Track) -> Option<SimpleExpr> {
        let of_track: Vec<JobKind> = JobKind::ALL.into_iter().filter(|kind| kind.track() == track).collect();
        let claimable: Vec<JobKind> = of_track.iter().copied().filter(|kind| self.may_claim(*kind)).collect();
        if claimable.len() == of_track.len() {
            return Some(has_known_kind());
        }
        (!claimable.is_empty()).then(|| is_one_of(&claimable))
    }

    fn may_claim(&self, kind: JobKind) -> bool {
        !(self.skips_index_jobs && kind.changes_index()) && (!self.only_deletions || kind.only_deletes())
    }

    /// Returns the users that have all their slots.
    pub(super) fn users_at_maximum(&self) -> Vec<UserId> {
        let at_maximum = self.used_by_user.iter().filter(|(_, used)| **used >= self.max_per_user);
        at_maximum.map(|(user, _)| *user).collect()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;
    use values::time::Timestamp;

    use super::*;

    #[test]
    fn slot_is_refused_at_each_maximum() {
        let now = Timestamp::from_millis(1);
        let (user, other) = (UserId::new(now), UserId::new(now));
        let job = |user, priority: Priority| {
            Model::queued(user, JobKind::Index.name(), Uuid::nil(), (0, priority.number()), now)
        };
        let slots = SlotBudget { free: 2, free_for_backlog: 1, max_per_user: 1, ..SlotBudget::default() };

        let mut used = slots.clone();
        assert!(used.try_acquire(&job(user, Priority::Backlog)));

        assert!(!used.has_slot_for(&job(user, Priority::Now)), "the user has all its slots");
        assert!(!used.has_slot_for(&job(other, Priority::Backlog)), "the backlog has all its slots");
        assert!(used.try_acquire(&job(other, Priority::Now)));
        assert!(!used.has_slot_for(&job(UserId::new(now), Priority::Now)), "no slot is free");
    }

    #[test]
    fn track_whose_kinds_are_all_excluded_has_nothing_to_claim() {
        let only_deletions = SlotBudget { only_deletions: true, ..SlotBudget::default() };
        let without_index = SlotBudget { skips_index_jobs: true, ..SlotBudget::default() };
        let neither = SlotBudget { skips_index_jobs: true, ..only_deletions.clone() };
        let tracks = |slots: &SlotBudget| {
            let claimable = Track::ALL.into_iter().filter(|track| slots.claimable_kinds(*track).is_some());
            claimable.collect::<Vec<_>>()
        };

        assert_eq!(tracks(&SlotBudget::default()), Track::ALL);
        assert_eq!(tracks(&without_index), Track::ALL);
        assert_eq!(tracks(&only_deletions), [Track::Library]);
        assert!(tracks(&neither).is_empty());
    }
}
