//! Which of the due jobs a claim takes: it fills the slots of a track, one by one or with batches.

use std::collections::HashSet;

use entity::job::Model;
use uuid::Uuid;
use values::kind::JobState;

use super::kind::{JobKind, Priority};
use super::slots::{BatchBudget, ClaimedJob, ClaimedJobs, SlotBudget};
use super::{MAX_ATTEMPTS, MAX_CRASHES};

/// The jobs that a claim has taken so far, and the slots that are left.
pub(crate) struct JobChoice {
    slots: SlotBudget,
    /// Subjects of the jobs that were taken: the jobs of one result were selected before any of them was leased.
    pub(crate) subjects: HashSet<Uuid>,
    /// The leased jobs, and those whose last attempt crashed.
    pub(crate) claimed: ClaimedJobs,
}

/// The jobs that are taken of the result of one query. Their rows are not leased yet.
#[derive(Default)]
pub(crate) struct ChosenJobs {
    /// Jobs with a slot each, in the order of the query.
    pub(crate) jobs: Vec<ClaimedJob>,
    /// Jobs that share one slot, in the order of the query.
    pub(crate) batch: Vec<ClaimedJob>,
    /// Whether jobs may share a slot: there are more of them than slots.
    shares_slots: bool,
}

/// Where a job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlotPlace {
    /// In a slot that no other job uses.
    OwnSlot,
    /// With the others of the batch.
    Batch,
}

impl ChosenJobs {
    /// Returns whether it has jobs of the backlog that share a slot.
    pub(crate) fn is_batch_of_backlog(&self) -> bool {
        self.batch.first().is_some_and(|job| Priority::of(&job.row) == Priority::Backlog)
    }

    /// Returns whether it has no job.
    pub(crate) fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.batch.is_empty()
    }

    fn used_slots(&self) -> u64 {
        self.jobs.len() as u64 + u64::from(!self.batch.is_empty())
    }
}

impl JobChoice {
    pub(crate) fn new(slots: SlotBudget) -> Self {
        Self { slots, subjects: HashSet::new(), claimed: ClaimedJobs::default() }
    }

    /// Returns the number of rows to read of a query whose jobs may use this many slots; `None` if there is no slot for them.
    pub(crate) fn rows_to_read(&self, max_slots: u64) -> Option<u64> {
        let slots = self.slots.free.min(max_slots);
        let shared = self.slots.batches.map_or(0, |batches| batches.max_jobs);
        (slots > 0).then(|| slots.max(shared))
    }

    /// Takes jobs of the result of a query, in its order, as far as there are slots.
    pub(crate) fn choose(&mut self, rows: Vec<Model>, max_slots: u64) -> ChosenJobs {
        // If there is a slot for each, all run at once and none waits for the others, one of which may be long.
        let shares_slots = rows.len() as u64 > self.slots.free.min(max_slots);
        let mut chosen = ChosenJobs { shares_slots, ..ChosenJobs::default() };
        for row in rows {
            // The queries select known kinds alone (`SlotBudget::claimable_kinds`).
            let Some(kind) = JobKind::named(&row.kind) else { continue };
            if self.subjects.contains(&row.subject) {
                continue;
            }
            let subject = row.subject;
            let job = ClaimedJob { kind, row };
            if job.row.state == JobState::Running && has_no_attempts_left(&job.row) {
                self.subjects.insert(subject);
                self.claimed.crashed.push(job);
            } else if let Some(place) = self.take(&job, &chosen, max_slots) {
                self.subjects.insert(subject);
                match place {
                    SlotPlace::Batch => chosen.batch.push(job),
                    SlotPlace::OwnSlot => chosen.jobs.push(job),
                }
            }
        }
        chosen
    }

    /// Takes a slot for a job, or a part of the slot of the batch. Returns `None` if there is none for it.
    fn take(&mut self, job: &ClaimedJob, chosen: &ChosenJobs, max_slots: u64) -> Option<SlotPlace> {
        let is_backlog = Priority::of(&job.row) == Priority::Backlog;
        let budget = self.slots.batches.filter(|_| chosen.shares_slots && may_share_slot(job));
        let place = match budget {
            Some(budget) if !chosen.batch.is_empty() => {
                return ((chosen.batch.len() as u64) < budget.max_jobs).then_some(SlotPlace::Batch);
            }
            Some(budget) if is_backlog && !budget.has_room_for_backlog() => return None,
            Some(budget) if budget.free > 0 => SlotPlace::Batch,
            Some(_) | None => SlotPlace::OwnSlot,
        };
        if chosen.used_slots() >= max_slots || !self.slots.try_acquire(&job.row) {
            return None;
        }
        if let Some(budget) = budget.filter(|_| place == SlotPlace::Batch) {
            let free_for_backlog = budget.free_for_backlog.saturating_sub(u64::from(is_backlog));
            self.slots.batches = Some(BatchBudget { free: budget.free - 1, free_for_backlog, ..budget });
        }
        Some(place)
    }

    /// Adds jobs that were leased to the result. A batch of one job is a job like any other.
    pub(crate) fn add(&mut self, chosen: ChosenJobs) {
        self.claimed.jobs.extend(chosen.jobs);
        match chosen.batch.len() {
            0 | 1 => self.claimed.jobs.extend(chosen.batch),
            _ => self.claimed.batches.push(chosen.batch),
        }
    }
}

/// Returns whether a job may run in a batch. One that failed or crashed before runs alone: it may be the cause, and a crash of the process
/// counts for every job that runs at that moment. One with progress is long.
fn may_share_slot(job: &ClaimedJob) -> bool {
    is_first_attempt(&job.row) && job.may_run_in_batch()
}

/// Returns whether no attempt of a job has begun since it was requested, or since its last progress.
pub(crate) fn is_first_attempt(job: &Model) -> bool {
    job.state == JobState::Queued && job.attempts == 0 && job.crashes == 0
}

/// Returns whether a job whose last attempt crashed is given up: it crashed as many processes as it may, or used all attempts.
fn has_no_attempts_left(job: &Model) -> bool {
    // `crashes` does not include the last attempt: a claim would count it, and there is none for a job that is given up.
    job.crashes + 1 >= MAX_CRASHES || job.attempts >= MAX_ATTEMPTS
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use values::id::UserId;

    use super::*;
    use crate::test_queue::{NOON, OWNER, TestQueue, subject};
    use crate::{ClaimOrder, Deferral, Track, claim, defer, end_leases, enqueue_all, promote};

    const BATCHES: BatchBudget = BatchBudget { free: 2, free_for_backlog: 1, max_jobs: 4 };

    async fn enqueue_jobs(
        queue: &TestQueue,
        user: UserId,
        kind: JobKind,
        subjects: std::ops::Range<u128>,
        priority: Priority,
    ) {
        enqueue_all(queue.db.write(), user, kind, subjects.map(subject), priority, NOON).await.unwrap();
    }

    /// Claims jobs of two slots, which may be shared.
    async fn claim_batches(queue: &TestQueue, batches: BatchBudget) -> ClaimedJobs {
        let slots = SlotBudget { batches: Some(batches), ..SlotBudget::unrestricted(2) };
        claim(&queue.db, OWNER, Track::Library, ClaimOrder::InteractiveFirst, NOON, slots).await.unwrap()
    }

    fn subjects(jobs: &[ClaimedJob]) -> Vec<Uuid> {
        jobs.iter().map(|job| job.row.subject).collect()
    }

    #[tokio::test]
    async fn short_jobs_share_a_slot_up_to_the_size_of_a_batch() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        enqueue_jobs(&queue, user, JobKind::ProcessText, 0..7, Priority::Backlog).await;

        let claimed = claim_batches(&queue, BATCHES).await;

        assert!(claimed.jobs.is_empty(), "{claimed:?}");
        let [batch] = claimed.batches.as_slice() else { panic!("{claimed:?}") };
        assert_eq!(subjects(batch), [6, 5, 4, 3].map(subject));
        for job in batch {
            assert_eq!(queue.job(job.row.id).await.unwrap().lease_token, job.row.lease_token);
            assert_eq!((job.row.state, job.row.attempts), (JobState::Running, 1));
        }
        // More than the two slots, so they would share one, which is not to be added.
        let other_batch_runs = BatchBudget { free_for_backlog: 0, ..BATCHES };
        let rest = claim_batches(&queue, other_batch_runs).await;
        assert!(rest.jobs.is_empty() && rest.batches.is_empty(), "{rest:?}");
    }

    #[tokio::test]
    async fn job_that_a_user_waits_for_precedes_a_batch() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        enqueue_jobs(&queue, user, JobKind::ProcessText, 0..6, Priority::Backlog).await;
        enqueue_jobs(&queue, user, JobKind::ProcessText, 9..10, Priority::Now).await;

        let claimed = claim_batches(&queue, BATCHES).await;

        assert_eq!(subjects(&claimed.jobs), [subject(9)]);
        assert_eq!(claimed.batches.iter().map(Vec::len).collect::<Vec<_>>(), [4]);
    }

    #[tokio::test]
    async fn urgent_jobs_have_their_own_slots_while_no_batch_may_be_added() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        enqueue_jobs(&queue, user, JobKind::ProcessText, 0..6, Priority::Now).await;
        enqueue_jobs(&queue, user, JobKind::ProcessText, 6..8, Priority::Backlog).await;

        let claimed = claim_batches(&queue, BatchBudget { free: 0, ..BATCHES }).await;

        assert!(claimed.batches.is_empty(), "{claimed:?}");
        assert_eq!(subjects(&claimed.jobs), [0, 1].map(subject));
    }

    #[tokio::test]
    async fn few_jobs_have_a_slot_each() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        enqueue_jobs(&queue, user, JobKind::ProcessText, 0..2, Priority::Now).await;

        let claimed = claim_batches(&queue, BATCHES).await;

        assert!(claimed.batches.is_empty(), "{claimed:?}");
        assert_eq!(subjects(&claimed.jobs), [0, 1].map(subject));
    }

    #[tokio::test]
    async fn other_jobs_of_the_backlog_run_while_its_batches_do() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        enqueue_jobs(&queue, user, JobKind::ProcessText, 0..3, Priority::Backlog).await;
        let batches_run = BatchBudget { free_for_backlog: 0, ..BATCHES };
        assert!(claim_batches(&queue, batches_run).await.jobs.is_empty());
        enqueue_jobs(&queue, user, JobKind::DeliverEntries, 3..4, Priority::Backlog).await;

        let claimed = claim_batches(&queue, batches_run).await;

        assert!(claimed.batches.is_empty(), "{claimed:?}");
        assert_eq!(subjects(&claimed.jobs), [subject(3)]);
    }

    #[tokio::test]
    async fn users_share_a_batch_evenly() {
        let queue = TestQueue::new().await;
        let (many, few) = (queue.add_user().await, queue.add_user().await);
        enqueue_jobs(&queue, many, JobKind::ProcessText, 0..20, Priority::Backlog).await;
        enqueue_jobs(&queue, few, JobKind::ProcessText, 20..22, Priority::Backlog).await;

        let claimed = claim_batches(&queue, BATCHES).await;

        let of_few = claimed.batches.iter().flatten().filter(|job| job.row.user_id == few).count();
        assert_eq!(of_few, 2, "{claimed:?}");
    }

    #[tokio::test]
    async fn job_of_another_kind_has_its_own_slot() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        enqueue_jobs(&queue, user, JobKind::Index, 0..2, Priority::Backlog).await;
        enqueue_jobs(&queue, user, JobKind::RemoveFromIndex, 2..4, Priority::Backlog).await;
        enqueue_jobs(&queue, user, JobKind::ProcessText, 4..6, Priority::Backlog).await;

        let claimed = claim_batches(&queue, BatchBudget { max_jobs: 8, ..BATCHES }).await;

        assert_eq!(subjects(&claimed.jobs), [subject(2)]);
        let batches: Vec<_> = claimed.batches.iter().map(|batch| subjects(batch)).collect();
        assert_eq!(batches, [[5, 4, 1, 0].map(subject)]);
    }

    #[tokio::test]
    async fn job_that_failed_or_crashed_runs_alone() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        queue.enqueue(user, subject(1)).await;
        let failed = queue.claim_one(NOON).await;
        let deferral = Deferral { counts_attempt: true, reason: Some("no text"), delay: Duration::ZERO };
        assert!(defer(queue.db.write(), &failed, deferral, NOON).await.unwrap());
        queue.enqueue(user, subject(2)).await;
        queue.claim_one(NOON).await;
        assert_eq!(end_leases(queue.db.write(), OWNER, NOON).await.unwrap(), 1);
        promote(&queue.db, NOON).await.unwrap();

        let claimed = claim_batches(&queue, BATCHES).await;

        assert!(claimed.batches.is_empty(), "{claimed:?}");
        assert_eq!(subjects(&claimed.jobs), [subject(2), subject(1)]);
    }
}
