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
use super::queue::{self, Claimed, Favour, Places, Priority, Track, Work};
use super::{feed, forget, repair, sweep};
use crate::app::App;
use crate::error::Error;
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
            Track::Imports => IMPORTS,
            Track::Exports => EXPORTS,
            Track::Recordings => RECORDINGS,
        }
    }
}

/// What is looked after again and again: one look of a kind at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Chore {
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
    find_app: Box<dyn Fn() -> Option<App>>,
    room: Room,
    running: HashMap<JobId, Running>,
    chores: HashSet<Chore>,
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
    pub(super) fn new(app: impl Fn() -> Option<App> + 'static, room: Room) -> Self {
        Self {
            find_app: Box::new(app),
            room,
            running: HashMap::new(),
            chores: HashSet::new(),
            claiming: false,
            claims: 0,
            stopped: false,
        }
    }

    /// Starts a maintenance task that adds data, unless the disk is below its floor.
    fn begin_with_room<F>(&mut self, chore: Chore, context: &mut Context<Self>, work: impl FnOnce(App) -> F)
    where
        F: Future<Output = Result<(), Error>> + 'static,
    {
        if (self.find_app)().is_some_and(|app| app.disk.has_room()) {
            self.begin(chore, context, work);
        }
    }

    /// Starts a chore, unless the one before it still goes on.
    fn begin<F>(&mut self, chore: Chore, context: &mut Context<Self>, work: impl FnOnce(App) -> F)
    where
        F: Future<Output = Result<(), Error>> + 'static,
    {
        let Some(app) = (self.find_app)().filter(|_| !self.stopped) else { return };
        if !self.chores.insert(chore) {
            return;
        }
        context.spawn(work(app).into_actor(self).map(move |done, actor, context| {
            actor.chores.remove(&chore);
            if let Err(error) = done
                && !error.is_reported()
            {
                warn!(?chore, cause = error.chain(), "a chore of ingest failed");
            }
            if chore == Chore::Promote {
                actor.claim(context);
            }
        }));
    }

    /// Looks for due jobs everywhere, with those whose wait is over.
    fn look(&mut self, context: &mut Context<Self>) {
        self.begin(Chore::Promote, context, |app| async move {
            Ok(queue::promote(&app.db, app.clock.now()).await?)
        });
    }

    /// Claims as many due jobs as there are free slots. Below the floor of the disk, only jobs that delete: the others would use up
    /// the remaining space, and the index writes through mapped files, where a full disk ends the process.
    fn claim(&mut self, context: &mut Context<Self>) {
        let Some(app) = (self.find_app)() else { return };
        let level = app.disk.level();
        let only_deletions = level != SpaceLevel::AboveFloor;
        let places = |track| Places { only_deletions, ..self.places(&app, track) };
        let free: Vec<(Track, Places)> = Track::ALL.into_iter().map(|track| (track, places(track))).collect();
        if self.claiming
            || self.stopped
            || level == SpaceLevel::Full
            || free.iter().all(|(_, places)| places.free == 0)
        {
            return;
        }
        self.claiming = true;
        self.claims = self.claims.wrapping_add(1);
        let favour =
            if self.claims.is_multiple_of(BACKLOG_EVERY) { Favour::Backlog } else { Favour::Waiting };
        let claim = async move {
            let mut all = Vec::new();
            for (track, places) in free.into_iter().filter(|(_, places)| places.free > 0) {
                all.push(
                    queue::claim(&app.db, app.lease_owner, track, favour, app.clock.now(), places).await,
                );
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

    /// How many more jobs a track has room for. Where work lasts, as with hosts that are slow, a backlog leaves a third of the
    /// places to those who wait, and each person one to the others.
    fn places(&self, app: &App, track: Track) -> Places {
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
        Places {
            free: room.saturating_sub(own().count()) as u64,
            backlog: of_backlog.saturating_sub(backlog) as u64,
            each: each as u64,
            taken,
            leaves_index: !app.index_watch.is_maintainer(),
            only_deletions: false,
        }
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
            Err(error) if is_reported(&error) => {}
            Err(error) => warn!(%error, "could not look for due jobs"),
        }
    }

    /// Gives a job up whose tries all died with their process.
    fn bury(&self, app: App, job: job::Model, context: &mut Context<Self>) {
        let bury = async move { bury(&app, &job).await };
        context.spawn(bury.into_actor(self).map(|buried, _, _| {
            if let Err(error) = buried {
                warn!(%error, "could not give a job up; the next look finds it again");
            }
        }));
    }

    fn start(&mut self, app: App, job: job::Model, context: &mut Context<Self>) {
        if self.stopped {
            // Claimed while the stop came in.
            context.spawn(release(app, vec![job]).into_actor(self));
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

    fn sweep(&mut self, context: &mut Context<Self>) {
        self.begin(Chore::Sweep, context, |app| async move {
            sweep::run(&app).await;
            Ok(())
        });
    }

    fn repair(&mut self, context: &mut Context<Self>) {
        self.begin(Chore::Maintainer, context, |app| async move { repair::check_maintainer(&app).await });
        self.begin(Chore::Repair, context, |app| async move { repair::check_index(&app).await });
    }

    /// When nothing is running: it takes the index for itself.
    fn pack(&mut self, context: &mut Context<Self>) {
        if self.running.is_empty() {
            self.begin_with_room(Chore::Pack, context, |app| async move {
                app.retrieval.maintain().await.map(drop)
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
            if (actor.find_app)().is_some_and(|app| app.disk.level() != SpaceLevel::Full) {
                actor.begin(
                    Chore::ForgetRemoved,
                    context,
                    |app| async move { forget::removed_users(&app).await },
                );
            }
        });
        context.run_interval(FEEDS_EVERY, |actor, context| {
            actor.begin_with_room(Chore::Feeds, context, |app| async move {
                feed::due::ask(&app).await?;
                feed::push::subscribe::ask(&app).await
            });
        });
        context.run_interval(FILES_EVERY, |actor, context| {
            actor.begin(Chore::Files, context, |app| async move { stored::sweep(&app).await });
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
        let app = (self.find_app)();
        let ended = running.into_iter().map(|running| {
            running.task.abort();
            running.job
        });
        let ended: Vec<job::Model> = ended.collect();
        let release = async move {
            if let Some(app) = app {
                release(app, ended).await;
            }
        };
        Box::pin(release.into_actor(self))
    }
}

/// Puts jobs back as if they had not been tried.
async fn release(app: App, jobs: Vec<job::Model>) {
    for job in jobs {
        if let Err(error) = queue::release(app.db.write(), &job, app.clock.now()).await {
            warn!(job.id = %job.id, %error, "could not put a job back");
        }
    }
}
