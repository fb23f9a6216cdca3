//! The actor of the worker: claims due jobs, runs each in a separate task and watches it to its end.
//!
//! After a crash of the actor its running jobs lose their leases within seconds and are claimed again; every step may run
//! twice. After a crash of the whole process the next process of its data folder ends the leases at its start.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseActFuture, WrapFuture};
use database::is_reported;
use disk::SpaceLevel;
use jobs::{BatchBudget, ClaimOrder, ClaimedJob, ClaimedJobs, Priority, SlotBudget, Track};
use sea_orm::DbErr;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use tracing::warn;

use super::context::WorkerContext;
use super::due::DueWork;
use super::maintenance_task::MaintenanceTask;
use super::running::{ConcurrencyLimits, RunningWork};
use super::{attempt, batch, leases};

/// Interval of looks for everything that is due: jobs, feeds, and accounts that were removed. It bounds the delay after a lost signal, and
/// of what other processes make due.
const DUE_WORK_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum time between two claims that signals cause. Jobs that become due meanwhile are claimed together, because a flush of the index
/// costs the same whatever the number of passages: a third of the CPU-time of a save (`tests/bench/growth.py`, save). After a pause, a
/// signal is followed at once.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);
/// Interval of the clean-ups and of the merge of titles, which also run after the start.
const CLEAN_UP_INTERVAL: Duration = Duration::from_secs(3600);
/// Delay of the first clean-up. A server is ready once it has written to the database, and a write would wait for those of the clean-up.
const FIRST_CLEAN_UP_DELAY: Duration = Duration::from_secs(1);
/// Interval of looks for stored files that nothing refers to.
const FILES_INTERVAL: Duration = Duration::from_secs(5);
/// Interval of looks whether the index can be packed because nothing runs.
const PACK_INTERVAL: Duration = Duration::from_secs(30);
/// Interval of looks whether the index can be unloaded because nothing uses it, or must be loaded because its disk is nearly full.
const UNLOAD_INTERVAL: Duration = Duration::from_secs(30);
/// Interval of checks of the index. A removed index is reopened, and the progress of a rebuild updated, within it.
const REPAIR_INTERVAL: Duration = Duration::from_secs(2);
/// Interval of looks for metadata without vectors: those that failed are tried again.
const EMBED_METADATA_INTERVAL: Duration = Duration::from_secs(60);
/// Maximum delay after which metadata that the index failed to take is indexed again.
const MAX_METADATA_RETRY_DELAY: Duration = Duration::from_secs(60);
/// Longest wait until the running jobs are released at the end of the server. Another process may hold the lock of the database; the
/// leases expire then, or end at the next start.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);
/// Every n-th claim takes a job of the backlog first.
const CLAIMS_PER_BACKLOG_CLAIM: u64 = 8;
/// Batches of the backlog that run at the same time: while one waits for the database or the disk, the other computes.
const MAX_BACKLOG_BATCHES: usize = 2;
/// Jobs of a batch without an embedding model: a quarter of a second of work.
const MAX_BATCH_JOBS: u64 = 128;
/// Jobs of a batch with an embedding model, which takes about a thousand times as long for a passage.
const MAX_EMBEDDED_BATCH_JOBS: u64 = 32;

/// The actor of the worker.
pub struct WorkerActor {
    ctx: Arc<WorkerContext>,
    limits: ConcurrencyLimits,
    running: RunningWork,
    is_finding_due_work: bool,
    tasks: HashSet<MaintenanceTask>,
    /// The number of attempts to index metadata that failed in a row.
    metadata_failures: u32,
    /// When the next one may begin after a failure.
    metadata_retry_at: Option<Instant>,
    /// When metadata was last embedded, by the clock of the server, and the model that did; `None` if there may be metadata to embed.
    metadata_embedded: Option<(Duration, String)>,
    /// Held by the claim in progress, of which there is one at a time.
    claim_lock: Arc<Mutex<()>>,
    claims: u64,
    /// Whether jobs may have become due after the claim in progress looked for them.
    is_claim_due: bool,
    /// Set by [`Stop`]. An actor that is started again claims jobs again.
    is_stopped: Arc<AtomicBool>,
}

impl WorkerActor {
    pub(super) fn new(ctx: Arc<WorkerContext>, limits: ConcurrencyLimits) -> Self {
        Self {
            ctx,
            limits,
            running: RunningWork::default(),
            is_finding_due_work: false,
            tasks: HashSet::new(),
            metadata_failures: 0,
            metadata_retry_at: None,
            metadata_embedded: None,
            claim_lock: Arc::default(),
            claims: 0,
            is_claim_due: false,
            is_stopped: Arc::default(),
        }
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::SeqCst)
    }

    /// Starts a maintenance task, unless the last one of its kind still runs or the disk has too little space for it.
    fn begin(&mut self, task: MaintenanceTask, context: &mut Context<Self>) {
        if self.is_stopped() || !task.may_start(self.ctx.disk.level()) || !self.tasks.insert(task) {
            return;
        }
        let ctx = self.ctx.clone();
        let work = async move { task.run(&ctx).await };
        context.spawn(work.into_actor(self).map(move |done, actor, context| {
            actor.tasks.remove(&task);
            if task == MaintenanceTask::IndexMetadata {
                actor.delay_metadata(done.is_err());
                actor.metadata_embedded = None;
            }
            if let Err(error) = done
                && !error.is_reported()
            {
                warn!(?task, cause = error.chain(), "a background task failed");
            }
            // After a failure too: jobs that are due already can be claimed without a promotion.
            if task == MaintenanceTask::PromoteDueJobs {
                actor.claim(context);
            }
        }));
    }

    /// Claims jobs at the next signal, but not before this time, and so on.
    fn await_signal(&mut self, not_before: Instant, context: &mut Context<Self>) {
        let signal = self.ctx.job_signal.clone();
        let notified = async move { signal.notified(not_before).await };
        context.spawn(notified.into_actor(self).map(|(), actor, context| {
            actor.claim(context);
            actor.await_signal(Instant::now() + SIGNAL_INTERVAL, context);
        }));
    }

    /// Looks for everything that is due, and begins it.
    fn find_due_work(&mut self, context: &mut Context<Self>) {
        if self.is_stopped() || self.is_finding_due_work {
            return;
        }
        self.is_finding_due_work = true;
        let ctx = self.ctx.clone();
        let find = async move { DueWork::find(&ctx.core.db, ctx.core.clock.now()).await };
        context.spawn(find.into_actor(self).map(|found, actor, context| {
            actor.is_finding_due_work = false;
            match found {
                Ok(due) => actor.begin_due_work(due, context),
                Err(error) if is_reported(&error) => {}
                Err(error) => warn!(%error, "could not look for what is due"),
            }
        }));
    }

    fn begin_due_work(&mut self, due: DueWork, context: &mut Context<Self>) {
        if due.jobs.has_deferred || due.jobs.has_expired_lease {
            // The jobs are claimed when the task ends.
            self.begin(MaintenanceTask::PromoteDueJobs, context);
        } else if due.jobs.is_any_claimable() {
            self.claim(context);
        }
        if due.has_removed_users {
            self.begin(MaintenanceTask::PurgeRemovedUsers, context);
        }
        if due.has_feeds {
            self.begin(MaintenanceTask::EnqueueDueFeeds, context);
        }
        if self.ctx.index_watch.can_maintain() {
            if due.has_unindexed_metadata {
                self.index_metadata(context);
            }
            self.embed_metadata(context);
        }
    }

    /// Embeds metadata if a model is loaded, and some was indexed since it was last embedded, the model is another one, or a while has passed.
    fn embed_metadata(&mut self, context: &mut Context<Self>) {
        let Some(latest) = self.ctx.retrieval.engine().latest_loaded() else { return };
        let now = self.ctx.core.clock.elapsed();
        let is_done = |(at, model): &(Duration, String)| {
            model == latest.model() && now.saturating_sub(*at) < EMBED_METADATA_INTERVAL
        };
        let is_running = self.tasks.contains(&MaintenanceTask::EmbedMetadata);
        if !is_running && !self.metadata_embedded.as_ref().is_some_and(is_done) {
            self.metadata_embedded = Some((now, latest.model().to_owned()));
            self.begin(MaintenanceTask::EmbedMetadata, context);
        }
    }

    /// Indexes metadata, unless the index failed to take it a moment ago.
    fn index_metadata(&mut self, context: &mut Context<Self>) {
        if self.metadata_retry_at.is_none_or(|retry_at| Instant::now() >= retry_at) {
            self.begin(MaintenanceTask::IndexMetadata, context);
        }
    }

    /// Delays the next attempt to index metadata after a failure, each time for twice as long.
    fn delay_metadata(&mut self, has_failed: bool) {
        self.metadata_failures = if has_failed { self.metadata_failures.saturating_add(1) } else { 0 };
        let delay = DUE_WORK_INTERVAL.saturating_mul(2_u32.saturating_pow(self.metadata_failures));
        self.metadata_retry_at = has_failed.then(|| Instant::now() + delay.min(MAX_METADATA_RETRY_DELAY));
    }

    /// Claims as many due jobs as there are free slots. Below the floor of the disk, only jobs that delete.
    fn claim(&mut self, context: &mut Context<Self>) {
        // Other jobs would use up the remaining space, and the index writes through mapped files, where a full disk ends the
        // process.
        let level = self.ctx.disk.level();
        if self.is_stopped() || level == SpaceLevel::Full {
            return;
        }
        // One claim at a time: a second one would count the same slots as free. It may have looked before the latest job was due.
        let Ok(claim_guard) = self.claim_lock.clone().try_lock_owned() else {
            self.is_claim_due = true;
            return;
        };
        self.is_claim_due = false;
        let slots = Track::ALL.into_iter().map(|track| (track, self.slots(track, level)));
        let free: Vec<(Track, SlotBudget)> = slots.filter(|(_, slots)| slots.free > 0).collect();
        if free.is_empty() {
            return;
        }
        self.claims = self.claims.wrapping_add(1);
        let order = match self.claims.is_multiple_of(CLAIMS_PER_BACKLOG_CLAIM) {
            true => ClaimOrder::BacklogFirst,
            false => ClaimOrder::InteractiveFirst,
        };
        let (ctx, is_stopped) = (self.ctx.clone(), self.is_stopped.clone());
        let claim = async move { leases::claim_due(&ctx, &is_stopped, order, free).await };
        context.spawn(claim.into_actor(self).map(|all, actor, context| {
            let has_full_batch =
                all.iter().flatten().flat_map(|claimed| &claimed.batches).any(|batch| actor.is_full(batch));
            for claimed in all {
                actor.start_claimed(claimed, context);
            }
            drop(claim_guard);
            // A claim takes a batch or two, and leaves jobs that are due if one of them is full. What became due since then is left to the
            // next signal: it would take a slot for each job.
            if has_full_batch || actor.is_claim_due {
                actor.claim(context);
            }
        }));
    }

    /// Returns the free slots of a track, and which jobs this server may claim for them.
    fn slots(&self, track: Track, level: SpaceLevel) -> SlotBudget {
        SlotBudget {
            skips_index_jobs: !self.ctx.index_watch.runs_index_jobs(),
            only_deletions: level != SpaceLevel::AboveFloor,
            batches: self.batch_budget(track),
            ..self.running.free_slots(track, self.limits)
        }
    }

    /// Returns how jobs of a track may share slots. There are at most as many batches as slots, so the one slot more
    /// ([`RunningWork::free_slots`]) is never taken by a batch. A server that runs no index jobs leaves the second half of the work
    /// of a batch to one that does, or to a later time.
    fn batch_budget(&self, track: Track) -> Option<BatchBudget> {
        if track != Track::Library || !self.ctx.index_watch.runs_index_jobs() {
            return None;
        }
        let (batches, backlog_batches) = (self.running.batches(track), self.running.backlog_batches(track));
        Some(BatchBudget {
            free: self.limits.of_track(track).saturating_sub(batches) as u64,
            free_for_backlog: MAX_BACKLOG_BATCHES.saturating_sub(backlog_batches) as u64,
            max_jobs: self.max_batch_jobs(),
        })
    }

    fn max_batch_jobs(&self) -> u64 {
        let has_model = self.ctx.indexing.retrieval.engine().has_model();
        if has_model { MAX_EMBEDDED_BATCH_JOBS } else { MAX_BATCH_JOBS }
    }

    /// Returns whether a batch has as many jobs as a batch may have, so that more of them may be due.
    fn is_full(&self, batch: &[ClaimedJob]) -> bool {
        batch.len() as u64 >= self.max_batch_jobs()
    }

    fn start_claimed(&mut self, claimed: Result<ClaimedJobs, DbErr>, context: &mut Context<Self>) {
        match claimed {
            Ok(claimed) => {
                for job in claimed.crashed {
                    self.give_up(job, context);
                }
                for job in claimed.jobs {
                    self.start(job, context);
                }
                for batch in claimed.batches {
                    self.start_batch(batch, context);
                }
            }
            Err(error) if is_reported(&error) => {}
            Err(error) => warn!(%error, "could not query the due jobs"),
        }
    }

    /// Gives up a job of which every attempt crashed the process.
    fn give_up(&self, job: ClaimedJob, context: &mut Context<Self>) {
        let ctx = self.ctx.clone();
        let record = async move {
            let recorded = attempt::record_crash(&ctx, &job).await;
            (job, recorded)
        };
        context.spawn(record.into_actor(self).map(|(job, recorded), _, _| {
            if let Err(error) = recorded {
                warn!(
                    job.id = %job.row.id, job.kind = %job.kind.name(), job.subject = %job.row.subject, %error,
                    "could not give up a job; this is tried again with the next query of due jobs"
                );
            }
        }));
    }

    fn start(&mut self, job: ClaimedJob, context: &mut Context<Self>) {
        if self.is_stopped() {
            // It was claimed while the worker stopped.
            self.release(job, context);
            return;
        }
        // After a jump of the clock, or the machine's sleep, a lease of this process can expire while its job still runs. The
        // older attempt must not run at the same time.
        self.running.abort_job(job.row.id);
        let (ctx, attempted) = (self.ctx.clone(), job.clone());
        let (track, may_run_in_batch) = (job.kind.track(), job.may_run_in_batch());
        // In a separate task, so that a panic ends the attempt, but neither the actor nor another job.
        let task = actix_rt::spawn(async move { attempt::run(&ctx, &attempted).await });
        self.running.add_job(job.clone(), task.abort_handle());
        let ctx = self.ctx.clone();
        let watch = async move {
            let end = task.await;
            attempt::record_end(&ctx, &job, end).await;
            job.row
        };
        context.spawn(watch.into_actor(self).map(move |row, actor, context| {
            let had_slot = actor.running.free_slots(track, actor.limits).has_slot_for(&row);
            actor.running.remove_job(&row);
            // Jobs that are due may have waited for its slot. Others are claimed as after a signal, and so are those that run in batches: a
            // row of saves would otherwise fill the slots with one job each, whose ends would claim the next ones one by one.
            let is_batched = may_run_in_batch && actor.batch_budget(track).is_some();
            if had_slot || is_batched { actor.ctx.job_signal.notify() } else { actor.claim(context) }
        }));
    }

    /// Starts jobs that share a slot. The batch continues if one of its jobs is claimed again, because that one was put back or its lease
    /// has expired: every transaction of the batch checks the leases.
    fn start_batch(&mut self, claimed: Vec<ClaimedJob>, context: &mut Context<Self>) {
        let Some(first) = claimed.first() else { return };
        if self.is_stopped() {
            // They were claimed while the worker stopped.
            for job in claimed {
                self.release(job, context);
            }
            return;
        }
        let (track, priority) = (first.kind.track(), Priority::of(&first.row));
        let is_full = self.is_full(&claimed);
        let ctx = self.ctx.clone();
        let task = actix_rt::spawn(async move { batch::run(&ctx, &claimed).await });
        let number = self.running.add_batch(track, priority, task.abort_handle());
        context.spawn(task.into_actor(self).map(move |end, actor, context| {
            if end.is_err_and(|error| error.is_panic()) {
                warn!("jobs that ran together are due again when their leases expire, because the worker panicked");
            }
            let had_room = actor.batch_budget(track).is_none_or(BatchBudget::has_room_for_backlog);
            actor.running.remove_batch(number);
            // As after a job. A full batch has left jobs that are due.
            if had_room && !is_full { actor.ctx.job_signal.notify() } else { actor.claim(context) }
        }));
    }

    /// Releases a job that was claimed while the worker stopped.
    fn release(&self, job: ClaimedJob, context: &mut Context<Self>) {
        let ctx = self.ctx.clone();
        context.spawn(async move { leases::release(&ctx, &job).await }.into_actor(self));
    }

    fn clean_up(&mut self, context: &mut Context<Self>) {
        self.begin(MaintenanceTask::CleanUp, context);
        self.begin(MaintenanceTask::MergeTitleIndex, context);
    }

    fn delete_unused_files(&mut self, context: &mut Context<Self>) {
        self.begin(MaintenanceTask::DeleteUnusedFiles, context);
    }

    fn repair(&mut self, context: &mut Context<Self>) {
        // A check of the index begins with the lock of the maintainer. The lock is checked by itself only while that check runs, as during
        // a comparison, which takes minutes.
        if self.tasks.contains(&MaintenanceTask::RepairIndex) {
            self.begin(MaintenanceTask::CheckMaintainer, context);
        }
        self.begin(MaintenanceTask::RepairIndex, context);
    }

    /// Packs the index while nothing runs.
    fn pack(&mut self, context: &mut Context<Self>) {
        // Packing takes the index exclusively, so jobs that change it would wait.
        if self.running.is_empty() {
            self.begin(MaintenanceTask::PackIndex, context);
        }
    }

    fn unload_unused_index(&mut self, context: &mut Context<Self>) {
        self.begin(MaintenanceTask::UnloadIndex, context);
    }
}

impl Actor for WorkerActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        self.find_due_work(context);
        // After the start too: a server that is restarted more often than every hour would never clean up.
        context.run_later(FIRST_CLEAN_UP_DELAY, Self::clean_up);
        self.repair(context);
        self.await_signal(Instant::now(), context);
        context.run_interval(DUE_WORK_INTERVAL, Self::find_due_work);
        context.run_interval(CLEAN_UP_INTERVAL, Self::clean_up);
        context.run_interval(PACK_INTERVAL, Self::pack);
        context.run_interval(UNLOAD_INTERVAL, Self::unload_unused_index);
        context.run_interval(REPAIR_INTERVAL, Self::repair);
        context.run_interval(FILES_INTERVAL, Self::delete_unused_files);
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        // The next actor knows nothing of these tasks, and claims their jobs again.
        self.running.abort_all();
    }
}

/// Releases the running jobs, and those of a claim in progress. The actor claims no more from then on.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Stop;

impl Handler<Stop> for WorkerActor {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, _: Stop, _: &mut Self::Context) -> Self::Result {
        // Before anything is released: a claim in progress sees it, and no job starts after the release.
        self.is_stopped.store(true, Ordering::SeqCst);
        self.running.abort_all();
        let (ctx, claim_lock) = (self.ctx.clone(), self.claim_lock.clone());
        let release = async move {
            // Even if this actor runs no job: an earlier one that crashed may have left jobs under their leases.
            let released = async {
                let is_claiming = claim_lock.try_lock().is_err();
                // At once, because the claim in progress may take longer than the timeout. What it still claims is released
                // after it.
                leases::release_all(&ctx).await;
                if is_claiming {
                    let _claim_end = claim_lock.lock().await;
                    leases::release_all(&ctx).await;
                }
            };
            if timeout(RELEASE_TIMEOUT, released).await.is_err() {
                warn!(
                    "could not release the running jobs in time; they are due again when their leases expire"
                );
            }
        };
        Box::pin(release.into_actor(self))
    }
}
