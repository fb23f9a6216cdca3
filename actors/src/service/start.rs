//! The start of the server.

use std::sync::Arc;
use std::time::Duration;

use actix::{Arbiter, ArbiterHandle};
use concurrency::Workers;
use disk::DiskSpace;
use errors::Error;
use jobs::{JobSignal, LeaseOwner};
use library::clock::Clock;
use library::context::CoreContext;
use storage::mail::Mailer;
use tracing::{info, warn};

use super::Service;
use super::adapters::{Adapters, wall_clock};
use super::config::{OperationSettings, ServiceConfig};
use crate::activity::Activity;
use crate::ai::Pause;
use crate::answerer::{AnswerContext, Answerer, Chat, ChatSettings, Extractive};
use crate::auth::context::AuthContext;
use crate::auth::grants::{GrantSettings, Grants};
use crate::auth::keys::Keys;
use crate::auth::limits::{AuthFailures, IpRateLimiter, RateLimits};
use crate::auth::password_resets::PasswordResets;
use crate::auth::secret::{Secret, SecretHash};
use crate::auth::sessions::SignIns;
use crate::context::{OperationContext, RequestContext, UserSlots};
use crate::cursor::Cursors;
use crate::document_page_cache::DocumentPageCache;
use crate::idempotency::Idempotency;
use crate::ingest::indexing_context::IndexingContext;
use crate::ingest::repair::{IndexWatch, RepairContext};
use crate::ledger::Ledger;
use crate::notices::Notices;
use crate::operations::ask::AskContext;
use crate::originals::Originals;
use crate::pdf_pages::PdfPages;
use crate::picture_cache::PictureCache;
use crate::recordings::Recordings;
use crate::retrieval::{Retrieval, VocabularyFiles};
use crate::service_state::{self, ServiceStateKey};
use crate::worker::{Worker, WorkerContext};

/// Accounts that may be created from one IP address within an hour: enough for an office, too few for a script.
const MAX_SIGN_UPS_PER_HOUR: u32 = 30;

impl Service {
    /// Starts every actor: those with short messages on one thread, jobs and retrieval on another.
    ///
    /// # Errors
    /// [`Error::Internal`] when a setting does not fit.
    pub async fn start(core: CoreContext, config: ServiceConfig) -> Result<Self, Error> {
        let signing_key = load_signing_key(&core).await?;
        end_stale_leases(&core, config.lease_owner).await;
        let (short, long) = (Arbiter::new().handle(), Arbiter::new().handle());
        // Background work has separate connections on PostgreSQL: jobs that wait for locks leave requests theirs, and vice versa.
        let jobs_core = core.for_jobs();
        let pause = Pause::default();
        pause.refresh(&core.db).await?;

        let activity = ActivitySettings { retention: config.activity_retention, disk: config.disk.clone() };
        let actors = ShortActors::start(&short, &core, &jobs_core, config.grants, activity, pause.clone());
        let index = config.index.opened.as_ref().map(|opened| opened.index.clone());
        let (db, clock) = (core.db.clone(), core.clock.clone());
        let words = VocabularyFiles::new(&core.data_dir, config.disk.clone());
        let retrieval = Retrieval::start(&long, db, clock, core.workers.clone(), index, pause, words);
        let index_watch = IndexWatch::begin(&core.db, &retrieval, config.index, &*core.clock).await?;

        let adapters = Adapters::new(config.adapters, &core.base_url, &core.clock, signing_key)?;
        let answers = AnswerContext {
            answerer: answerer(
                config.operations.chat.clone(),
                &retrieval,
                core.workers.clone(),
                &core.clock,
            )?,
            daily_tokens: config.operations.daily_tokens,
        };
        let shared = SharedParts {
            retrieval,
            answers,
            index_watch: Arc::new(index_watch),
            disk: config.disk,
            job_signal: JobSignal::default(),
        };
        let background = BackgroundContexts::new(jobs_core, &shared);
        let BackgroundContexts { indexing, repair } = background.clone();
        let mail = config.mail.map(Arc::new);
        let worker_context = worker_context(config.lease_owner, &adapters, background, shared.clone(), mail);
        let notices = actors.notices.clone();
        let context = operation_context(core, actors, &adapters, shared, signing_key, config.operations);
        // Last: it claims jobs at once.
        let worker = Worker::start(&long, worker_context, config.concurrency);
        Ok(Self {
            context,
            worker,
            indexing,
            repair,
            notices,
            speech: adapters.speech,
            process: config.lease_owner,
            arbiters: [short, long],
        })
    }
}

struct ActivitySettings {
    retention: Duration,
    disk: DiskSpace,
}

/// The actors with short messages.
struct ShortActors {
    notices: Notices,
    keys: Keys,
    grants: Grants,
    limits: RateLimits,
    ledger: Arc<Ledger>,
    activity: Activity,
}

impl ShortActors {
    fn start(
        on: &ArbiterHandle,
        core: &CoreContext,
        jobs_core: &CoreContext,
        grants: GrantSettings,
        activity: ActivitySettings,
        pause: Pause,
    ) -> Self {
        let (accounts_db, jobs_db) = (&core.accounts_db, &jobs_core.db);
        let clock = || core.clock.clone();
        let notices = Notices::start(on, jobs_db.clone(), clock());
        let keys = Keys::start(on, accounts_db.clone(), clock(), notices.clone(), pause);
        // One epoch for keys and access tokens: a change of an account or its plan invalidates both.
        let cache_epoch = keys.cache_epoch();
        let grants = Grants::start(on, accounts_db.clone(), clock(), cache_epoch, &core.base_url, grants);
        let limits = RateLimits::start(on, accounts_db.clone(), clock());
        let (ledger, ActivitySettings { retention, disk }) = (Arc::<Ledger>::default(), activity);
        let (of_calls, of_limits) = (ledger.clone(), limits.clone());
        let activity = Activity::start(on, jobs_db.clone(), clock(), retention, disk, of_calls, of_limits);
        Self { notices, keys, grants, limits, ledger, activity }
    }
}

/// The parts that requests and background work share, whatever their database connections. Clones share them too.
#[derive(Clone)]
struct SharedParts {
    retrieval: Retrieval,
    answers: AnswerContext,
    index_watch: Arc<IndexWatch>,
    disk: DiskSpace,
    job_signal: JobSignal,
}

/// The contexts of background work that is done outside of the worker too. They have the database connections of jobs.
#[derive(Clone)]
struct BackgroundContexts {
    indexing: IndexingContext,
    repair: RepairContext,
}

impl BackgroundContexts {
    fn new(core: CoreContext, shared: &SharedParts) -> Self {
        let SharedParts { retrieval, index_watch, disk, job_signal, .. } = shared.clone();
        let indexing = IndexingContext {
            core: core.clone(),
            retrieval: retrieval.clone(),
            job_signal: job_signal.clone(),
        };
        Self { indexing, repair: RepairContext { core, retrieval, index_watch, disk, job_signal } }
    }
}

/// Returns the context of background work, which has the database connections of jobs.
fn worker_context(
    lease_owner: LeaseOwner,
    adapters: &Adapters,
    contexts: BackgroundContexts,
    shared: SharedParts,
    mail: Option<Arc<Mailer>>,
) -> WorkerContext {
    let SharedParts { retrieval, answers, index_watch, disk, job_signal } = shared;
    let BackgroundContexts { indexing, repair } = contexts;
    let core = repair.core.clone();
    WorkerContext {
        extraction: adapters.extraction_context(&core, &job_signal),
        indexing,
        feeds: adapters.feed_context(&core, &job_signal),
        repair,
        index_watch,
        imports: adapters.import_context(&core, &job_signal),
        exports: adapters.export_context(&core, &disk),
        asking: AskContext { core: core.clone(), retrieval: retrieval.clone(), answers },
        mail,
        idempotency: Idempotency::new(core.db.clone(), core.clock.clone()),
        lease_owner,
        uploads: adapters.uploads.clone(),
        retrieval,
        disk,
        job_signal,
        core,
    }
}

/// Returns the context of operations, whose database connections are not those of jobs.
fn operation_context(
    core: CoreContext,
    actors: ShortActors,
    adapters: &Adapters,
    shared: SharedParts,
    signing_key: [u8; 32],
    settings: OperationSettings,
) -> OperationContext {
    let SharedParts { retrieval, answers, disk, job_signal, .. } = shared;
    let ShortActors { keys, grants, limits, ledger, activity, .. } = actors;
    let clock = core.clock.clone();
    let auth = AuthContext {
        core: core.clone(),
        keys,
        grants,
        limits,
        failures: Arc::new(AuthFailures::new(settings.auth_failures_per_minute, clock.clone())),
        ledger,
        sign_ins: Arc::new(SignIns::default()),
        sign_ups: Arc::new(IpRateLimiter::per_hour(MAX_SIGN_UPS_PER_HOUR, clock.clone())),
        password_resets: Arc::new(PasswordResets::new(settings.has_mailer, clock.clone())),
        signup: settings.signup,
    };
    let requests = RequestContext {
        activity,
        idempotency: Idempotency::new(core.db.clone(), clock),
        cursors: Cursors::new(signing_key),
    };
    let ingest = adapters.ingest_context(&core, &job_signal);
    let originals = Originals::new(core.clone(), ingest.fetcher.clone(), adapters.uploads.clone());
    OperationContext {
        pdf_pages: PdfPages::new(originals.clone(), ingest.sandbox.clone(), core.db.clone()),
        recordings: Recordings::new(core.db.clone()),
        originals,
        auth,
        requests,
        document_page_cache: DocumentPageCache::default(),
        picture_cache: PictureCache::default(),
        user_slots: UserSlots::default(),
        retrieval,
        answers,
        ingest,
        uploads: adapters.uploads.clone(),
        disk,
        started_at: core.clock.now(),
        job_signal,
        core,
    }
}

/// Returns the configured endpoint, or else the embedded answerer.
fn answerer(
    chat: Option<ChatSettings>,
    retrieval: &Retrieval,
    workers: Workers,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<dyn Answerer>, Error> {
    if let Some(chat) = chat {
        return Ok(Arc::new(Chat::new(chat, wall_clock(clock)).map_err(Error::internal)?));
    }
    Ok(Arc::new(Extractive::new(workers, retrieval.clone())))
}

/// Ends the leases of an earlier process. The data folder belongs to this process alone, so an earlier one that claimed jobs for it
/// is dead. While the database takes no writes, the leases expire instead.
async fn end_stale_leases(core: &CoreContext, owner: LeaseOwner) {
    match jobs::end_leases(core.db.write(), owner, core.clock.now()).await {
        Ok(0) => {}
        Ok(jobs) => info!(jobs, "jobs that an earlier process of this data folder had claimed are due again"),
        Err(error) => warn!(%error, "could not end the leases of an earlier process"),
    }
}

/// Returns the key that signs cursors and URLs. The first start of the server creates it, and all processes share it.
async fn load_signing_key(core: &CoreContext) -> Result<[u8; 32], Error> {
    let new = Secret::new_token("").map_err(Error::internal)?.hash();
    let stored =
        service_state::get_or_insert(core.db.write(), ServiceStateKey::SigningKey, new.hex()).await?;
    let key = SecretHash::from_hex(&stored);
    Ok(*key.ok_or_else(|| Error::internal("the signing key in the database is invalid"))?.bytes())
}
