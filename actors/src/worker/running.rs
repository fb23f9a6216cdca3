//! The jobs and batches that run now, and the slots that they leave free.

use std::collections::HashMap;

use entity::job;
use jobs::{ClaimedJob, Priority, SlotBudget, Track};
use tokio::task::AbortHandle;
use values::id::{JobId, UserId};

/// Imports that run at the same time. More would only wait for the database.
const MAX_IMPORTS: usize = 2;
/// Exports that run at the same time, one of a user. An export does not yield, so the track is apart from imports.
const MAX_EXPORTS: usize = 2;
/// Recordings that are in progress at the same time: one is transcribed, and others are fetched meanwhile.
const MAX_RECORDINGS: usize = 4;
/// Questions that are answered at the same time. A model takes seconds for each, and most endpoints answer several side by side.
const MAX_ANSWERS: usize = 4;

/// The maximum numbers of jobs that run at the same time.
#[derive(Clone, Copy, Debug)]
pub struct ConcurrencyLimits {
    /// Jobs that use the network: pages, feeds, e-mails.
    pub web: usize,
    /// Jobs that work on stored data, such as indexing and the delivery of feed entries.
    pub library: usize,
    /// Jobs that read stored files, such as PDFs.
    pub files: usize,
}

impl ConcurrencyLimits {
    /// Returns the number of slots of a track.
    pub(super) fn of_track(self, track: Track) -> usize {
        match track {
            Track::Web => self.web,
            Track::Library => self.library,
            Track::Files => self.files,
            Track::Imports => MAX_IMPORTS,
            Track::Exports => MAX_EXPORTS,
            Track::Recordings => MAX_RECORDINGS,
            Track::Answers => MAX_ANSWERS,
        }
    }
}

struct RunningJob {
    job: ClaimedJob,
    task: AbortHandle,
}

/// Jobs that share a slot.
struct RunningBatch {
    track: Track,
    priority: Priority,
    task: AbortHandle,
}

/// What a worker runs, by the id of the job or the number of the batch.
#[derive(Default)]
pub(super) struct RunningWork {
    jobs: HashMap<JobId, RunningJob>,
    batches: HashMap<u64, RunningBatch>,
    started_batches: u64,
}

impl RunningWork {
    /// Returns whether nothing runs.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.batches.is_empty()
    }

    /// Aborts the attempt of this job that runs, if there is one.
    pub fn abort_job(&mut self, id: JobId) {
        if let Some(older) = self.jobs.remove(&id) {
            older.task.abort();
        }
    }

    /// Adds an attempt of a job.
    pub fn add_job(&mut self, job: ClaimedJob, task: AbortHandle) {
        self.jobs.insert(job.row.id, RunningJob { job, task });
    }

    /// Removes an attempt that has ended, unless a later one of the same job has replaced it.
    pub fn remove_job(&mut self, ended: &job::Model) {
        let of_same_lease = |running: &RunningJob| running.job.row.lease_token == ended.lease_token;
        if self.jobs.get(&ended.id).is_some_and(of_same_lease) {
            self.jobs.remove(&ended.id);
        }
    }

    /// Adds a batch. Returns its number, which no other batch has.
    pub fn add_batch(&mut self, track: Track, priority: Priority, task: AbortHandle) -> u64 {
        self.started_batches += 1;
        self.batches.insert(self.started_batches, RunningBatch { track, priority, task });
        self.started_batches
    }

    /// Removes a batch that has ended.
    pub fn remove_batch(&mut self, number: u64) {
        self.batches.remove(&number);
    }

    /// Aborts all that runs.
    pub fn abort_all(&mut self) {
        for (_, running) in self.jobs.drain() {
            running.task.abort();
        }
        for (_, running) in self.batches.drain() {
            running.task.abort();
        }
    }

    /// Returns the number of batches of a track.
    pub fn batches(&self, track: Track) -> usize {
        self.batches.values().filter(|running| running.track == track).count()
    }

    /// Returns the number of batches of a track whose jobs no user waits for.
    pub fn backlog_batches(&self, track: Track) -> usize {
        let is_backlog =
            |running: &&RunningBatch| running.track == track && running.priority == Priority::Backlog;
        self.batches.values().filter(is_backlog).count()
    }

    /// Returns the free slots of a track for jobs of all kinds, one for each job. On tracks whose jobs take long, such as fetches from slow
    /// hosts, the backlog leaves a third of the slots to jobs that a user waits for, and each user leaves one slot to the others. While
    /// a batch runs, there is one more slot for jobs that a user waits for, because a batch takes longer than the jobs of its track.
    pub fn free_slots(&self, track: Track, limits: ConcurrencyLimits) -> SlotBudget {
        let own = || self.jobs.values().filter(|running| running.job.kind.track() == track);
        let backlog_jobs =
            own().filter(|running| Priority::of(&running.job.row) == Priority::Backlog).count();
        let mut used_by_user: HashMap<UserId, u64> = HashMap::new();
        for running in own() {
            *used_by_user.entry(running.job.row.user_id).or_default() += 1;
        }
        let limit = limits.of_track(track);
        let (max_backlog, max_per_user) = match track {
            Track::Web | Track::Files | Track::Recordings | Track::Answers => {
                (limit - (limit + 1) / 3, (limit - 1).max(1))
            }
            Track::Library | Track::Imports => (limit, limit),
            Track::Exports => (limit, 1),
        };
        let batches = self.batches(track);
        let more_slots = usize::from(batches > 0);
        let used_by_backlog = backlog_jobs + self.backlog_batches(track);
        SlotBudget {
            free: (limit + more_slots).saturating_sub(own().count() + batches) as u64,
            free_for_backlog: max_backlog.saturating_sub(used_by_backlog) as u64,
            max_per_user: (max_per_user + more_slots) as u64,
            used_by_user,
            ..SlotBudget::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use jobs::JobKind;
    use uuid::Uuid;
    use values::time::Timestamp;

    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);
    const LIMITS: ConcurrencyLimits = ConcurrencyLimits { web: 6, library: 2, files: 2 };

    fn task() -> AbortHandle {
        tokio::spawn(async {}).abort_handle()
    }

    fn claimed(user: UserId, kind: JobKind) -> ClaimedJob {
        // With the number of the priority of the backlog.
        let row = job::Model::queued(user, kind.name(), Uuid::from_u128(1), (0, 10), NOON);
        ClaimedJob { kind, row }
    }

    #[actix::test]
    async fn backlog_of_slow_jobs_leaves_slots_to_others() {
        let (mut running, user) = (RunningWork::default(), UserId::new(NOON));
        for _ in 0..4 {
            running.add_job(claimed(user, JobKind::FetchPage), task());
        }

        let slots = running.free_slots(Track::Web, LIMITS);

        assert_eq!((slots.free, slots.free_for_backlog, slots.max_per_user), (2, 0, 5));
        assert_eq!(slots.used_by_user, HashMap::from([(user, 4)]));
        assert_eq!(running.free_slots(Track::Files, LIMITS).free, 2);
    }

    #[actix::test]
    async fn batch_adds_a_slot_for_jobs_that_a_user_waits_for() {
        let mut running = RunningWork::default();
        let number = running.add_batch(Track::Library, Priority::Backlog, task());

        let slots = running.free_slots(Track::Library, LIMITS);

        assert_eq!((slots.free, slots.free_for_backlog, slots.max_per_user), (2, 1, 3));
        running.remove_batch(number);
        assert_eq!(running.free_slots(Track::Library, LIMITS).max_per_user, 2);
        assert!(running.is_empty());
    }

    #[actix::test]
    async fn ended_attempt_leaves_a_later_one_running() {
        let mut running = RunningWork::default();
        let earlier = claimed(UserId::new(NOON), JobKind::FetchPage);
        let mut later = earlier.clone();
        later.row.lease_token = Some(Uuid::from_u128(2));
        running.add_job(later.clone(), task());

        running.remove_job(&earlier.row);
        assert!(!running.is_empty());

        running.remove_job(&later.row);
        assert!(running.is_empty());
    }
}
