//! The running service as operations see it: every port, every adapter, and the desk.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actix::{Arbiter, ArbiterHandle};
use database::Db;
use disk::{DiskSpace, Scratch, SpaceLevel};
use entity::id::UserId;
use entity::plan::Plan;
use inference::transcriber::{Endpoint, EndpointSettings, SpeechService, Transcriber};
use runtime::{Health, HealthReport, KeyedWeakMap, Workers};
use sandbox::{Sandbox, SandboxCommand, SandboxSettings};
use search::index::{IndexFolder, OpenedIndex};
use storage::blobs::BlobStore;
use storage::mail::Mailer;
use tracing::{error, info, warn};
use web::{FetchSettings, Fetcher, HostThrottle};

use crate::activity::Activity;
use crate::ai::Pause;
use crate::answerer::{Answerer, Chat, ChatSettings, Extractive};
use library::clock::Clock;
use library::context::CoreContext;
use errors::{Error, StorageFailure};
use crate::auth::grants::{GrantSettings, Grants};
use crate::idempotency::Idempotency;
use library::imports::Arriving;
use crate::ingest::feed::push::Push;
use jobs::LeaseOwner;
use crate::ingest::repair::{self, IndexWatch};
use crate::worker::{Worker, Room};
use crate::auth::keys::Keys;
use crate::auth::secret::{Secret, SecretHash};
use crate::auth::limits::{Addresses, Failures, Limits};
use crate::notices::Notices;
use crate::batch_slots::BatchSlots;
use crate::cursor::Cursors;
use crate::ingest::feed::search::FeedSearches;
use crate::retrieval::Retrieval;
use crate::auth::sessions::SignIns;
use crate::service_state::{self, ServiceStateKey};
use library::uploads::{Signatures, Turns, Uploads};

/// Accounts that strangers make from one address: an office may, a script may not.
const SIGN_UPS_PER_HOUR: u32 = 30;
/// How long each actor, and then the database, has to finish at the end.
const DRAIN: Duration = Duration::from_secs(8);
/// A test write may wait this long for its turn at the writer.
const STORAGE_CHECK_TIMEOUT: Duration = Duration::from_secs(6);
/// A database that answers no sooner is not there.
const REACHES: Duration = Duration::from_secs(2);

/// What the service is started with, beside its desk.
pub struct Setup {
    /// Fetching of pages.
    pub fetch: FetchSettings,
    /// How children that parse foreign bytes are started.
    pub sandbox: SandboxCommand,
    /// What they may use up.
    pub sandbox_settings: SandboxSettings,
    /// Where files are.
    pub blobs: Arc<dyn BlobStore>,
    /// Where they are worked on.
    pub scratch: Scratch,
    /// How long the address that an upload is sent to is good.
    pub put_for: Duration,
    /// The longest file of an import.
    pub import_bytes: u64,
    /// The endpoint that transcribes recordings; none: the local model, when it is there.
    pub transcription: Option<EndpointSettings>,
    /// The index, opened.
    pub index: OpenedIndex,
    /// Failed authentications of an address within a minute.
    pub failures_per_minute: u32,
    /// How long activity is kept.
    pub activity_kept: Duration,
    /// Connections by OAuth.
    pub grants: GrantSettings,
    /// Jobs at once.
    pub room: Room,
    /// As which this process claims jobs.
    pub lease_owner: LeaseOwner,
    /// Whether anyone may sign up, and to which plan.
    pub signup: Option<Plan>,
    /// The endpoint that answers questions; none: the embedded answerer.
    pub chat: Option<ChatSettings>,
    /// Tokens of all users in a UTC day before the AI pauses; 0 is no limit.
    pub daily_tokens: u64,
    /// Whether hubs of feeds reach this service.
    pub push: bool,
    /// How letters leave; none sends none.
    pub mail: Option<Mailer>,
    /// The free-space floor.
    pub disk: DiskSpace,
}

/// What became of a test write to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StorageState {
    /// It was written and read back.
    Ok,
    /// The writer was busy with other work for all of the time.
    Busy,
    /// A disk is full or below its floor: writes are refused, reads go on.
    Full,
    /// Damage was met in the database, which is being verified: writes are stopped, reads go on as far as they can.
    Damaged,
    /// A file of the database was removed, moved or replaced: writes are stopped, reads go on from the file that is open.
    Removed,
    /// It was refused, or acknowledged and not kept.
    Failed,
}

/// Everything an operation may need. Clones share it.
#[derive(Clone)]
pub struct App(Arc<Parts>);

/// What an [`App`] is made of.
#[derive(Clone)]
pub struct Parts {
    /// What needs no actor.
    pub core: CoreContext,
    /// Keys and who has them.
    pub keys: Keys,
    /// Connected applications.
    pub grants: Grants,
    /// Hours and days.
    pub limits: Limits,
    /// Addresses that fail to authenticate.
    pub failures: Arc<Failures>,
    /// Failed sign-ins.
    pub sign_ins: Arc<SignIns>,
    /// Slows the making of accounts by strangers.
    pub sign_ups: Arc<Addresses>,
    /// The activity view.
    pub activity: Activity,
    /// In-app notices.
    pub notices: Notices,
    /// Stored answers.
    pub idempotency: Idempotency,
    /// Search.
    pub retrieval: Retrieval,
    /// Keeps the index whole.
    pub index_watch: Arc<IndexWatch>,
    /// Background work.
    pub ingest: Ingest,
    /// As which this process claims jobs.
    pub lease_owner: LeaseOwner,
    /// Fetches from the web.
    pub fetcher: Fetcher,
    /// Limits background fetches of each host.
    pub host_throttle: HostThrottle<UserId>,
    /// Searches for feeds, each of which a user waits for.
    pub feed_searches: FeedSearches,
    /// Where foreign bytes are parsed.
    pub sandbox: Sandbox,
    /// What subscriptions of feeds are made with; none where no hub reaches this service.
    pub push: Option<Push>,
    /// Uploads and their files.
    pub uploads: Uploads,
    /// Whose file of an import comes in.
    pub arriving: Arriving,
    /// The slots of each account for batches of changes.
    pub batch_slots: KeyedWeakMap<UserId, BatchSlots>,
    /// Transcribes recordings.
    pub speech: SpeechService<UserId>,
    /// Signed cursors.
    pub cursors: Cursors,
    signup: Option<Plan>,
    /// What answers questions.
    pub answerer: Arc<dyn Answerer>,
    /// Tokens of all users in a UTC day before the AI pauses; 0 is no limit.
    pub daily_tokens: u64,
    /// How letters leave.
    pub mail: Option<Arc<Mailer>>,
    /// The free-space floor.
    pub disk: DiskSpace,
    arbiters: [ArbiterHandle; 2],
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl Deref for Parts {
    type Target = CoreContext;

    fn deref(&self) -> &CoreContext {
        &self.core
    }
}

impl App {
    /// Starts every actor: short messages on one thread, ingest and retrieval on another.
    pub async fn start(core: CoreContext, setup: Setup) -> Result<Self, Error> {
        let key = signing_key(&core).await?;
        end_leases_of_the_dead(&core, setup.lease_owner).await;
        let (short, long) = (Arbiter::new().handle(), Arbiter::new().handle());
        let (db, clock) = (core.db.clone(), core.clock.clone());
        let (accounts, jobs) = (core.accounts_db.clone(), core.db.for_jobs());
        let pause = Pause::default();
        pause.look(&db).await?;
        let notices = Notices::start(&short, jobs.clone(), clock.clone());
        let this: Arc<OnceLock<App>> = Arc::default();
        let later = this.clone();
        let workers = core.workers.clone();
        let keys = Keys::start(&short, accounts.clone(), clock.clone(), notices.clone());
        let fresh = keys.freshness();
        let index = setup.index.index.clone();
        let retrieval = Retrieval::start(&long, db.clone(), clock.clone(), workers.clone(), index, pause);
        let index_watch = IndexWatch::begin(&db, &retrieval, setup.index, &*clock).await?;
        let answerer = answerer(setup.chat, &retrieval, workers, clock.clone())?;
        let parts = Parts {
            grants: Grants::start(
                &short,
                accounts.clone(),
                clock.clone(),
                fresh,
                &core.base_url,
                setup.grants,
            ),
            keys,
            limits: Limits::start(&short, accounts, clock.clone()),
            failures: Arc::new(Failures::new(setup.failures_per_minute, clock.clone())),
            sign_ins: Arc::default(),
            sign_ups: Arc::new(Addresses::an_hour(SIGN_UPS_PER_HOUR, clock.clone())),
            activity: Activity::start(&short, jobs, clock.clone(), setup.activity_kept, setup.disk.clone()),
            notices,
            idempotency: Idempotency::new(db, clock.clone()),
            retrieval,
            index_watch: Arc::new(index_watch),
            ingest: Ingest::start(&long, move || later.get().cloned(), setup.room),
            lease_owner: setup.lease_owner,
            fetcher: Fetcher::new(setup.fetch).map_err(Error::internal)?,
            host_throttle: HostThrottle::default(),
            feed_searches: FeedSearches::default(),
            sandbox: Sandbox::new(setup.sandbox, setup.sandbox_settings),
            push: setup.push.then(|| Push::new(&core.base_url, key)),
            uploads: Uploads {
                store: setup.blobs,
                scratch: setup.scratch,
                signatures: Signatures::new(key),
                put_for: setup.put_for,
                import_bytes: setup.import_bytes,
                turns: Turns::default(),
            },
            arriving: Arriving::default(),
            batch_slots: KeyedWeakMap::default(),
            speech: SpeechService::new(transcriber(setup.transcription)?),
            cursors: Cursors::new(key),
            signup: setup.signup,
            answerer,
            daily_tokens: setup.daily_tokens,
            mail: setup.mail.map(Arc::new),
            disk: setup.disk,
            arbiters: [short, long],
            core,
        };
        let app = Self(Arc::new(parts));
        // Every actor may be given the whole by now; the first claim of jobs waits for it.
        let _ = this.set(app.for_jobs());
        Ok(app)
    }

    /// The same service for background work. On PostgreSQL it has connections of its own: jobs that wait for locks leave requests
    /// theirs, and the other way round.
    fn for_jobs(&self) -> Self {
        let core = self.core.for_jobs();
        let idempotency = Idempotency::new(core.db.clone(), core.clock.clone());
        Self(Arc::new(Parts { core, idempotency, ..Parts::clone(self) }))
    }

    /// The plan of whoever signs up.
    ///
    /// # Errors
    /// [`Error::Closed`] where nobody may.
    pub fn plan_of_who_signs_up(&self) -> Result<Plan, Error> {
        self.signup.ok_or(Error::Closed("sign-up is closed; ask the operator for an account"))
    }

    /// How each actor is doing.
    pub fn health(&self) -> Vec<HealthReport> {
        let all: [&Health; 7] = [
            self.keys.port().health(),
            self.grants.port().health(),
            self.limits.port().health(),
            self.activity.port().health(),
            self.notices.port().health(),
            self.retrieval.port().health(),
            self.ingest.port().health(),
        ];
        all.into_iter().map(Health::report).collect()
    }

    /// Ends the service's work: what was gathered is written. Ingest and the server have stopped before.
    pub async fn drain(&self) {
        within("ingest", self.ingest.port().drain()).await;
        within("retrieval", self.retrieval.port().drain()).await;
        within("index", repair::close_index(self)).await;
        for (name, flushed) in [
            ("limits", self.limits.flush().await),
            ("keys", self.keys.flush().await),
            ("grants", self.grants.flush().await),
            ("activity", self.activity.flush().await),
        ] {
            if let Err(error) = flushed {
                warn!(actor = name, cause = error.chain(), "could not write what was gathered");
            }
        }
        self.notices.flush().await;
        within("limits", self.limits.port().drain()).await;
        within("keys", self.keys.port().drain()).await;
        within("grants", self.grants.port().drain()).await;
        within("activity", self.activity.port().drain()).await;
        within("notices", self.notices.port().drain()).await;
        // Before the arbiters stop: a connection that is given back to a pool needs the runtime that it was taken in.
        within("database", close_database(self.db.clone())).await;
        for arbiter in &self.arbiters {
            arbiter.stop();
        }
        info!("stopped");
    }

    /// Whether writes are kept, found by a test write. It is made on a full disk too, so that a writer that fails for another reason is
    /// reported as failed.
    pub async fn check_storage(&self) -> StorageState {
        if !self.db.health().are_files_in_place() {
            return StorageState::Removed;
        }
        if self.db.health().is_damaged() {
            return StorageState::Damaged;
        }
        let has_space = self.disk.level() == SpaceLevel::AboveFloor;
        match tokio::time::timeout(STORAGE_CHECK_TIMEOUT, service_state::check_round_trip(&self.db)).await {
            Ok(Ok(())) if has_space => StorageState::Ok,
            Ok(Ok(()) | Err(Error::StorageFull)) => StorageState::Full,
            Ok(Err(Error::StorageFailed(StorageFailure::Damaged))) => StorageState::Damaged,
            Ok(Err(Error::StorageFailed(StorageFailure::Removed))) => StorageState::Removed,
            Ok(Err(Error::Busy(_))) | Err(_) => StorageState::Busy,
            Ok(Err(error)) => {
                error!(cause = error.chain(), "a test write to the database failed");
                StorageState::Failed
            }
        }
    }

    /// Whether the database answers.
    pub async fn reaches_database(&self) -> bool {
        tokio::time::timeout(REACHES, service_state::read(self.db.read(), ServiceStateKey::Generation))
            .await
            .is_ok_and(|read| read.is_ok())
    }
}

async fn within(part: &'static str, drained: impl Future<Output = ()>) {
    if tokio::time::timeout(DRAIN, drained).await.is_err() {
        warn!(part, "a part of the service did not finish in time");
    }
}

/// Closes every connection. A statement that outlasts [`DRAIN`] ends with the process; the next start reads the write-ahead log.
async fn close_database(db: Db) {
    if let Err(error) = db.close().await {
        warn!(%error, "could not close the database");
    }
}

fn transcriber(settings: Option<EndpointSettings>) -> Result<Option<Arc<dyn Transcriber>>, Error> {
    let endpoint = settings.map(Endpoint::new).transpose().map_err(Error::internal)?;
    Ok(endpoint.map(|endpoint| Arc::new(endpoint) as Arc<dyn Transcriber>))
}

/// The endpoint that is set, or the one that needs none.
fn answerer(
    chat: Option<ChatSettings>,
    retrieval: &Retrieval,
    workers: Workers,
    clock: Arc<dyn Clock>,
) -> Result<Arc<dyn Answerer>, Error> {
    if let Some(chat) = chat {
        return Ok(Arc::new(Chat::new(chat, clock).map_err(Error::internal)?));
    }
    let retrieval = retrieval.clone();
    Ok(Arc::new(Extractive::new(workers, Arc::new(move || retrieval.embedder()))))
}

/// The data folder is this process's alone, so whoever claimed jobs for it before is dead. Where the database takes no writes,
/// those leases end by their time.
async fn end_leases_of_the_dead(core: &CoreContext, owner: LeaseOwner) {
    match jobs::end_leases(core.db.write(), owner, core.clock.now()).await {
        Ok(0) => {}
        Ok(jobs) => info!(jobs, "jobs that a dead process of this data folder had claimed are due again"),
        Err(error) => warn!(%error, "could not end the leases of a dead process"),
    }
}

/// What cursors and addresses are signed with: made once, kept in the database.
async fn signing_key(core: &CoreContext) -> Result<[u8; 32], Error> {
    let made = Secret::new_token("").map_err(Error::internal)?.hash();
    let settled = service_state::get_or_insert(core.db.write(), ServiceStateKey::SigningKey, made.hex()).await?;
    let key = SecretHash::from_hex(&settled);
    Ok(*key.ok_or_else(|| Error::internal("the signing key in the database is not one"))?.bytes())
}

/// The folder of files that are worked on.
pub fn scratch_folder(data_dir: &std::path::Path) -> PathBuf {
    data_dir.join("scratch")
}

/// The folder of the embedded index.
pub fn index_folder(data_dir: &std::path::Path) -> PathBuf {
    IndexFolder::path_in(data_dir)
}
