//! The actor of ingest: claims due jobs, runs each in a task of its own, and watches it to its end.
//!
//! After a crash its running jobs lose their leases within seconds and are claimed again; every step may run twice. Where the
//! whole process died, the next one of its data folder ends their leases at its start.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseActFuture, WrapFuture};
use database::is_reported;
use disk::SpaceLevel;
use entity::id::{JobId, UserId};
use entity::job;
use sea_orm::DbErr;
use tokio::task::AbortHandle;
use tracing::warn;

use super::attempt::{bury, settle, work};
use super::queue::{self, Claimed, ClaimOrder, SlotBudget, Priority, Track, JobKind};
use super::{feed, forget, repair, sweep};
use crate::ingest::context::IngestContext;
use errors::Error;
use library::stored_files;

/// A lost wake costs so long, and a lost lease is seen within it.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Feeds whose time has come are asked for within it.
const FEEDS_EVERY: Duration = Duration::from_secs(1);
const SWEEP_EVERY: Duration = Duration::from_secs(3600);
/// Files that belong to nothing any more are gone soon after.
const FILES_EVERY: Duration = Duration::from_secs(5);
/// The index is packed when nothing else is due for so long.
const MAINTAIN_EVERY: Duration = Duration::from_secs(30);
/// One claim of so many takes from the backlog first.
const BACKLOG_EVERY: u64 = 8;
/// An index that is gone is opened anew within it, and a rebuild is told as far as it was then.
const REPAIR_EVERY: Duration = Duration::from_secs(2);
/// Imports at the same time: more would only wait for the database.
const IMPORTS: usize = 2;
/// Exports at the same time, one a person. One does not give way, so they have no place that an import could have.
const EXPORTS: usize = 2;
/// Recordings at the same time: a transcriber hears one, and others are fetched meanwhile.
const RECORDINGS: usize = 4;

/// How many jobs may run at the same time.
#[derive(Clone, Copy, Debug)]
pub struct ConcurrencyLimits {
    /// That fetch pages.
    pub web: usize,
    /// That work on what is here.
    pub library: usize,
    /// That read files.
    pub files: usize,
}

impl ConcurrencyLimits {
    fn of(self, track: Track) -> usize {
        match track {
            Track::Web => self.web,
            Track::Library => self.library,
            Track::Files => self.files,
            Track::Imports => IMPORTS,
            Track::Exports => EXPORTS,
            Track::Recordings => RECORDINGS,
        }
    }
}

/// What is looked after again and again: one look of a kind at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum MaintenanceTask {
    /// Jobs whose wait is over.
    Promote,
    /// What removed accounts left in the index.
    ForgetRemoved,
    /// Feeds whose time has come.
    Feeds,
    /// What was kept long enough.
    Sweep,
    /// Files that belong to nothing.
    Files,
    /// Packing the index.
    Pack,
    /// Keeping the index whole.
    Repair,
    /// Checking that this service still maintains the index.
    Maintainer,
}

/// See the file's head.
pub struct IngestActor {
    find_app: Box<dyn Fn() -> Option<IngestContext>>,
    room: ConcurrencyLimits,
    running: HashMap<JobId, Running>,
    tasks: HashSet<MaintenanceTask>,
    claiming: bool,
    claims: u64,
    stopped: bool,
}

struct Running {
    job: job::Model,
    track: Option<Track>,
    task: AbortHandle,
}

impl IngestActor {
    pub(super) fn new(app: impl Fn() -> Option<IngestContext> + 'static, room: ConcurrencyLimits) -> Self {
        Self {
            find_app: Box::new(ctx),
            room,
            running: HashMap::new(),
            tasks: HashSet::new(),
            claiming: false,
            claims: 0,
            stopped: false,
        }
    }

    /// Starts a maintenance task that adds data, unless the disk is below its floor.
    fn begin_with_room<F>(&mut self, task: MaintenanceTask, context: &mut Context<Self>, work: impl FnOnce(IngestContext) -> F)
    where
        F: Future<Output = Result<(), Error>> + 'static,
    {
        if (self.find_app)().is_some_and(|ctx| ctx.disk.has_room()) {
            self.begin(task, context, work);
        }
    }

    /// Starts a task, unless the one before it still goes on.
    fn begin<F>(&mut self, task: MaintenanceTask, context: &mut Context<Self>, work: impl FnOnce(IngestContext) -> F)
    where
        F: Future<Output = Result<(), Error>> + 'static,
    {
        let Some(ctx) = (self.find_app)().filter(|_| !self.stopped) else { return };
        if !self.tasks.insert(task) {
            return;
        }
        context.spawn(work(ctx).into_actor(self).map(move |done, actor, context| {
            actor.tasks.remove(&task);
            if let Err(error) = done
                && !error.is_reported()
            {
                warn!(?task, cause = error.chain(), "a task of ingest failed");
            }
            if task == MaintenanceTask::Promote {
                actor.claim(context);
            }
        }));
    }

    /// Looks for due jobs everywhere, with those whose wait is over.
    fn look(&mut self, context: &mut Context<Self>) {
        self.begin(MaintenanceTask::Promote, context, |ctx| async move {
            Ok(jobs::promote(&ctx.core.db, ctx.core.clock.now()).await?)
        });
    }

    /// Claims as many due jobs as there are free slots. Below the floor of the disk, only jobs that delete: the others would use up
    /// the remaining space, and the index writes through mapped files, where a full disk ends the process.
    fn claim(&mut self, context: &mut Context<Self>) {
        let Some(ctx) = (self.find_app)() else { return };
        let level = ctx.disk.level();
        let only_deletions = level != SpaceLevel::AboveFloor;
        let slots = |track| SlotBudget { only_deletions, ..self.slots(&ctx, track) };
        let free: Vec<(Track, SlotBudget)> = Track::ALL.into_iter().map(|track| (track, slots(track))).collect();
        if self.claiming
            || self.stopped
            || level == SpaceLevel::Full
            || free.iter().all(|(_, slots)| slots.free == 0)
        {
            return;
        }
        self.claiming = true;
        self.claims = self.claims.wrapping_add(1);
        let order =
            if self.claims.is_multiple_of(BACKLOG_EVERY) { ClaimOrder::Backlog } else { ClaimOrder::Waiting };
        let claim = async move {
            let mut all = Vec::new();
            for (track, slots) in free.into_iter().filter(|(_, slots)| slots.free > 0) {
                all.push(
                    jobs::claim(&ctx.core.db, ctx.lease_owner, track, order, ctx.core.clock.now(), slots).await,
                );
            }
            (ctx, all)
        };
        context.spawn(claim.into_actor(self).map(|(ctx, all), actor, context| {
            actor.claiming = false;
            for claimed in all {
                actor.take(&ctx, claimed, context);
            }
        }));
    }

    /// How many more jobs a track has room for. Where work lasts, as with hosts that are slow, a backlog leaves a third of the
    /// slots to those who wait, and each person one to the others.
    fn slots(&self, ctx: &IngestContext, track: Track) -> SlotBudget {
        let own = || self.running.values().filter(|running| running.track == Some(track));
        let backlog = own().filter(|running| Priority::of(&running.job) == Priority::Backlog).count();
        let mut taken: HashMap<UserId, u64> = HashMap::new();
        for running in own() {
            *taken.entry(running.job.user_id).or_default() += 1;
        }
        let room = self.room.of(track);
        let (of_backlog, each) = match track {
            Track::Web | Track::Files | Track::Recordings => (room - (room + 1) / 3, (room - 1).max(1)),
            Track::Library | Track::Imports => (room, room),
            Track::Exports => (room, 1),
        };
        SlotBudget {
            free: room.saturating_sub(own().count()) as u64,
            backlog: of_backlog.saturating_sub(backlog) as u64,
            each: each as u64,
            taken,
            leaves_index: !ctx.index_watch.is_maintainer(),
            only_deletions: false,
        }
    }

    fn take(&mut self, ctx: &IngestContext, claimed: Result<Claimed, DbErr>, context: &mut Context<Self>) {
        match claimed {
            Ok(claimed) => {
                for job in claimed.dead {
                    self.bury(ctx.clone(), job, context);
                }
                for job in claimed.jobs {
                    self.start(ctx.clone(), job, context);
                }
            }
            Err(error) if is_reported(&error) => {}
            Err(error) => warn!(%error, "could not look for due jobs"),
        }
    }

    /// Gives a job up whose tries all died with their process.
    fn bury(&self, ctx: IngestContext, job: job::Model, context: &mut Context<Self>) {
        let bury = async move { bury(&ctx, &job).await };
        context.spawn(bury.into_actor(self).map(|buried, _, _| {
            if let Err(error) = buried {
                warn!(%error, "could not give a job up; the next look finds it again");
            }
        }));
    }

    fn start(&mut self, ctx: IngestContext, job: job::Model, context: &mut Context<Self>) {
        if self.stopped {
            // Claimed while the stop came in.
            context.spawn(release(ctx, vec![job]).into_actor(self));
            return;
        }
        // After a clock's jump, or the machine's sleep, an own lease can be over: the older try must not go on beside.
        if let Some(older) = self.running.remove(&job.id) {
            older.task.abort();
        }
        let task = actix_rt::spawn(work(ctx.clone(), job.clone()));
        let track = JobKind::named(&job.kind).map(JobKind::track);
        self.running.insert(job.id, Running { job: job.clone(), track, task: task.abort_handle() });
        let watch = async move {
            let ended = task.await;
            settle(&ctx, &job, ended).await;
            job
        };
        context.spawn(watch.into_actor(self).map(|job, actor, context| {
            if actor.running.get(&job.id).is_some_and(|running| running.job.lease_token == job.lease_token) {
                actor.running.remove(&job.id);
            }
            actor.claim(context);
        }));
    }

    fn sweep(&mut self, context: &mut Context<Self>) {
        self.begin(MaintenanceTask::Sweep, context, |ctx| async move {
            sweep::run(&ctx).await;
            Ok(())
        });
    }

    fn repair(&mut self, context: &mut Context<Self>) {
        self.begin(MaintenanceTask::Maintainer, context, |ctx| async move { repair::check_maintainer(&ctx).await });
        self.begin(MaintenanceTask::Repair, context, |ctx| async move { repair::check_index(&ctx).await });
    }

    /// When nothing is running: it takes the index for itself.
    fn pack(&mut self, context: &mut Context<Self>) {
        if self.running.is_empty() {
            self.begin_with_room(MaintenanceTask::Pack, context, |ctx| async move {
                ctx.retrieval.maintain().await.map(drop)
            });
        }
    }
}

impl Actor for IngestActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        // The program is still being put together when the first life begins.
        context.run_later(Duration::from_millis(50), |actor, context| {
            actor.look(context);
            actor.sweep(context);
            actor.repair(context);
        });
        context.run_interval(LOOK_EVERY, Self::look);
        context.run_interval(SWEEP_EVERY, Self::sweep);
        context.run_interval(MAINTAIN_EVERY, Self::pack);
        context.run_interval(REPAIR_EVERY, Self::repair);
        context.run_interval(LOOK_EVERY, |actor, context| {
            if (actor.find_app)().is_some_and(|ctx| ctx.disk.level() != SpaceLevel::Full) {
                actor.begin(
                    MaintenanceTask::ForgetRemoved,
                    context,
                    |ctx| async move { forget::removed_users(&ctx).await },
                );
            }
        });
        context.run_interval(FEEDS_EVERY, |actor, context| {
            actor.begin_with_room(MaintenanceTask::Feeds, context, |ctx| async move {
                feed::due::enqueue_due(&ctx).await?;
                feed::websub::subscribe::enqueue_due(&ctx).await
            });
        });
        context.run_interval(FILES_EVERY, |actor, context| {
            actor.begin(MaintenanceTask::Files, context, |ctx| async move { stored::sweep(&ctx).await });
        });
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        for running in self.running.values() {
            running.task.abort();
        }
    }
}

/// There may be something due.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Wake;

impl Handler<Wake> for IngestActor {
    type Result = ();

    fn handle(&mut self, _: Wake, context: &mut Self::Context) {
        self.claim(context);
    }
}

/// Puts the running jobs back and takes no more.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Stop;

impl Handler<Stop> for IngestActor {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, _: Stop, _: &mut Self::Context) -> Self::Result {
        self.stopped = true;
        let running: Vec<Running> = self.running.drain().map(|(_, running)| running).collect();
        let ctx = (self.find_app)();
        let ended = running.into_iter().map(|running| {
            running.task.abort();
            running.job
        });
        let ended: Vec<job::Model> = ended.collect();
        let release = async move {
            if let Some(ctx) = app {
                release(ctx, ended).await;
            }
        };
        Box::pin(release.into_actor(self))
    }
}

/// Puts jobs back as if they had not been tried.
async fn release(ctx: IngestContext, jobs: Vec<job::Model>) {
    for job in jobs {
        if let Err(error) = jobs::release(ctx.core.db.write(), &job, ctx.core.clock.now()).await {
            warn!(job.id = %job.id, %error, "could not put a job back");
        }
    }
}
