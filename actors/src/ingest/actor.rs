//! The actor of ingest: claims due jobs, runs each in a task of its own, and watches it to its end.
//!
//! After a crash its running jobs lose their leases within seconds and are claimed again; every step may run twice.

use std::collections::HashMap;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseActFuture, WrapFuture};
use entity::id::JobId;
use entity::job;
use sea_orm::DbErr;
use tokio::task::AbortHandle;
use tracing::warn;

use super::attempt::{mark_failed, settle, work};
use super::queue::{self, Claimed, Track, Work};
use super::{feed, forget, sweep};
use crate::app::App;
use crate::uploads::stored;

/// A lost wake costs so long, and a lost lease is seen within it.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Feeds whose time has come are asked for within it.
const FEEDS_EVERY: Duration = Duration::from_secs(1);
const SWEEP_EVERY: Duration = Duration::from_secs(3600);
/// Files that belong to nothing any more are gone soon after.
const FILES_EVERY: Duration = Duration::from_secs(5);
/// The index is packed when nothing else is due for so long.
const MAINTAIN_EVERY: Duration = Duration::from_secs(30);
/// Imports and exports at the same time: more would only wait for the database.
const TRANSFERS: usize = 2;

/// How many jobs may run at the same time.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// That fetch pages.
    pub web: usize,
    /// That work on what is here.
    pub library: usize,
    /// That read files.
    pub files: usize,
}

impl Room {
    fn of(self, track: Track) -> usize {
        match track {
            Track::Web => self.web,
            Track::Library => self.library,
            Track::Files => self.files,
            Track::Transfers => TRANSFERS,
        }
    }
}

/// See the file's head.
pub struct IngestActor {
    find_app: Box<dyn Fn() -> Option<App>>,
    room: Room,
    running: HashMap<JobId, Running>,
    forgetting: bool,
    claiming: bool,
    removing: bool,
    packing: bool,
    stopped: bool,
}

struct Running {
    job: job::Model,
    track: Option<Track>,
    task: AbortHandle,
}

impl IngestActor {
    pub(super) fn new(app: impl Fn() -> Option<App> + 'static, room: Room) -> Self {
        Self {
            find_app: Box::new(app),
            room,
            running: HashMap::new(),
            forgetting: false,
            claiming: false,
            removing: false,
            packing: false,
            stopped: false,
        }
    }

    /// Looks for due jobs everywhere, with those whose wait is over.
    fn look(&mut self, context: &mut Context<Self>) {
        let Some(app) = (self.find_app)().filter(|_| !self.stopped) else { return };
        let look = async move { queue::promote(&app.db, app.clock.now()).await };
        context.spawn(look.into_actor(self).map(|promoted, actor, context| {
            if let Err(error) = promoted {
                warn!(%error, "could not look for jobs whose wait is over");
            }
            actor.claim(context);
        }));
    }

    /// Claims as many due jobs as there is room for.
    fn claim(&mut self, context: &mut Context<Self>) {
        let Some(app) = (self.find_app)() else { return };
        let free: Vec<(Track, u64)> = Track::ALL.into_iter().map(|track| (track, self.free(track))).collect();
        if self.claiming || self.stopped || free.iter().all(|(_, free)| *free == 0) {
            return;
        }
        self.claiming = true;
        let claim = async move {
            let mut all = Vec::new();
            for (track, free) in free.into_iter().filter(|(_, free)| *free > 0) {
                all.push(queue::claim(&app.db, track, app.clock.now(), free).await);
            }
            (app, all)
        };
        context.spawn(claim.into_actor(self).map(|(app, all), actor, context| {
            actor.claiming = false;
            for claimed in all {
                actor.take(&app, claimed, context);
            }
        }));
    }

    /// How many more jobs a track has room for.
    fn free(&self, track: Track) -> u64 {
        let taken = self.running.values().filter(|running| running.track == Some(track)).count();
        self.room.of(track).saturating_sub(taken) as u64
    }

    fn take(&mut self, app: &App, claimed: Result<Claimed, DbErr>, context: &mut Context<Self>) {
        match claimed {
            Ok(claimed) => {
                for job in claimed.dead {
                    self.bury(app.clone(), job, context);
                }
                for job in claimed.jobs {
                    self.start(app.clone(), job, context);
                }
            }
            Err(error) => warn!(%error, "could not look for due jobs"),
        }
    }

    /// Says of a document that its job was given up without a try of this process.
    fn bury(&self, app: App, job: job::Model, context: &mut Context<Self>) {
        let say = async move { mark_failed(app.db.write(), &job, queue::DIED, app.clock.now()).await };
        context.spawn(say.into_actor(self).map(|said, _, _| {
            if let Err(error) = said {
                warn!(%error, "could not say that a job was given up");
            }
        }));
    }

    fn start(&mut self, app: App, job: job::Model, context: &mut Context<Self>) {
        if self.stopped {
            // Claimed while the stop came in: its lease ends by itself.
            return;
        }
        // After a clock's jump, or the machine's sleep, an own lease can be over: the older try must not go on beside.
        if let Some(older) = self.running.remove(&job.id) {
            older.task.abort();
        }
        let task = actix_rt::spawn(work(app.clone(), job.clone()));
        let track = Work::named(&job.kind).map(Work::track);
        self.running.insert(job.id, Running { job: job.clone(), track, task: task.abort_handle() });
        let watch = async move {
            let ended = task.await;
            settle(&app, &job, ended).await;
            job
        };
        context.spawn(watch.into_actor(self).map(|job, actor, context| {
            if actor.running.get(&job.id).is_some_and(|running| running.job.lease_token == job.lease_token) {
                actor.running.remove(&job.id);
            }
            actor.claim(context);
        }));
    }

    /// Takes what removed accounts left in the index away: one look at a time, for a large library takes long.
    fn forget_removed(&mut self, context: &mut Context<Self>) {
        let Some(app) = (self.find_app)().filter(|_| !self.forgetting && !self.stopped) else { return };
        self.forgetting = true;
        let forget = async move { forget::removed_users(&app).await };
        context.spawn(forget.into_actor(self).map(|done, actor, _| {
            actor.forgetting = false;
            if let Err(error) = done {
                warn!(cause = error.chain(), "could not take removed accounts out of the index");
            }
        }));
    }

    fn sweep(&mut self, context: &mut Context<Self>) {
        let Some(app) = (self.find_app)() else { return };
        let sweep = async move { sweep::run(&app).await };
        context.spawn(sweep.into_actor(self));
    }

    fn remove_files(&mut self, context: &mut Context<Self>) {
        let Some(app) = (self.find_app)().filter(|_| !self.removing && !self.stopped) else { return };
        self.removing = true;
        let remove = async move { stored::sweep(&app).await };
        context.spawn(remove.into_actor(self).map(|done, actor, _| {
            actor.removing = false;
            if let Err(error) = done {
                warn!(cause = error.chain(), "could not remove files that belong to nothing");
            }
        }));
    }

    fn ask_for_feeds(&mut self, context: &mut Context<Self>) {
        let Some(app) = (self.find_app)().filter(|_| !self.stopped) else { return };
        let ask = async move { feed::due::ask(&app).await };
        context.spawn(ask.into_actor(self).map(|asked, _, _| {
            if let Err(error) = asked {
                warn!(cause = error.chain(), "could not ask for the feeds that are due");
            }
        }));
    }

    fn maintain(&mut self, context: &mut Context<Self>) {
        let idle = self.running.is_empty() && !self.packing && !self.stopped;
        let Some(app) = (self.find_app)().filter(|_| idle) else { return };
        self.packing = true;
        let maintain = async move { app.retrieval.maintain().await };
        context.spawn(maintain.into_actor(self).map(|done, actor, _| {
            actor.packing = false;
            if let Err(error) = done {
                warn!(cause = error.chain(), "could not pack the index");
            }
        }));
    }
}

impl Actor for IngestActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        // The program is still being put together when the first life begins.
        context.run_later(Duration::from_millis(50), |actor, context| {
            actor.look(context);
            actor.sweep(context);
        });
        context.run_interval(LOOK_EVERY, Self::look);
        context.run_interval(LOOK_EVERY, Self::forget_removed);
        context.run_interval(FEEDS_EVERY, Self::ask_for_feeds);
        context.run_interval(SWEEP_EVERY, Self::sweep);
        context.run_interval(FILES_EVERY, Self::remove_files);
        context.run_interval(MAINTAIN_EVERY, Self::maintain);
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
        let app = (self.find_app)();
        let release = async move {
            let Some(app) = app else { return };
            for Running { job, task, .. } in running {
                task.abort();
                if let Err(error) = queue::release(app.db.write(), &job, app.clock.now()).await {
                    warn!(job.id = %job.id, %error, "could not put a job back");
                }
            }
        };
        Box::pin(release.into_actor(self))
    }
}
