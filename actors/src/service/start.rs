//! The start of the service.

use std::sync::Arc;
use std::time::Duration;

use actix::Arbiter;
use concurrency::{KeyedMutex, Workers};
use errors::Error;
use inference::transcriber::{Endpoint, EndpointSettings, SpeechService, Transcriber};
use jobs::{JobSignal, LeaseOwner};
use library::clock::Clock;
use library::context::CoreContext;
use library::exports::ExportContext;
use library::imports::ImportContext;
use library::uploads::{ReceiveLocks, ReceiveSlots, Uploads, UrlSigner};
use sandbox::Sandbox;
use tracing::{info, warn};
use web::{Fetcher, HostThrottle, WallClock};

use super::{Service, ServiceConfig};
use crate::activity::Activity;
use crate::ai::Pause;
use crate::answerer::{Answerer, Chat, ChatSettings, Extractive};
use crate::auth::grants::Grants;
use crate::auth::keys::Keys;
use crate::auth::limits::{AuthFailures, IpRateLimiter, Limits};
use crate::auth::secret::{Secret, SecretHash};
use crate::auth::sessions::SignIns;
use crate::batch_slots::BatchSlots;
use crate::context::OperationContext;
use crate::cursor::Cursors;
use crate::idempotency::Idempotency;
use crate::ingest::extraction::ExtractionContext;
use crate::ingest::feed::context::FeedContext;
use crate::ingest::feed::push::Push;
use crate::ingest::feed::search::FeedSearches;
use crate::ingest::indexing::IndexingContext;
use crate::ingest::repair::{IndexWatch, RepairContext};
use crate::notices::Notices;
use crate::retrieval::Retrieval;
use crate::service_state::{self, ServiceStateKey};
use crate::worker::{Worker, WorkerContext};

/// Accounts that may be created from one IP address within an hour: enough for an office, too few for a script.
const MAX_SIGN_UPS_PER_HOUR: u32 = 30;

impl Service {
    /// Starts every actor: those with short messages on one thread, jobs and retrieval on another.
    ///
    /// # Errors
    /// The database cannot be read, or a setting does not fit.
    pub async fn start(core: CoreContext, config: ServiceConfig) -> Result<Self, Error> {
        let signing_key = load_signing_key(&core).await?;
        end_stale_leases(&core, config.lease_owner).await;
        let (short, long) = (Arbiter::new().handle(), Arbiter::new().handle());
        let (db, clock) = (core.db.clone(), core.clock.clone());
        let accounts_db = core.accounts_db.clone();
        // Background work has separate connections on PostgreSQL: jobs that wait for locks leave requests theirs, and vice versa.
        let jobs_core = core.for_jobs();
        let jobs_db = jobs_core.db.clone();
        let pause = Pause::default();
        pause.refresh(&db).await?;

        let notices = Notices::start(&short, jobs_db.clone(), clock.clone());
        let keys = Keys::start(&short, accounts_db.clone(), clock.clone(), notices.clone());
        let grants = Grants::start(
            &short,
            accounts_db.clone(),
            clock.clone(),
            keys.cache_epoch(),
            &core.base_url,
            config.grants,
        );
        let limits = Limits::start(&short, accounts_db, clock.clone());
        let activity = Activity::start(
            &short,
            jobs_db.clone(),
            clock.clone(),
            config.activity_retention,
            config.disk.clone(),
        );
        let index = config.index.opened.as_ref().map(|opened| opened.index.clone());
        let retrieval =
            Retrieval::start(&long, db.clone(), clock.clone(), core.workers.clone(), index, pause);
        let index_watch = Arc::new(IndexWatch::begin(&db, &retrieval, config.index, &*clock).await?);

        let job_signal = JobSignal::default();
        let fetcher = Fetcher::new(config.fetch, wall_clock(clock.clone())).map_err(Error::internal)?;
        let host_throttle = HostThrottle::default();
        let sandbox = Sandbox::new(config.sandbox, config.sandbox_settings);
        let push = config.feed_push.then(|| Push::new(&core.base_url, signing_key));
        let speech = SpeechService::new(transcriber(config.transcription, clock.clone())?);
        let uploads = Uploads {
            store: config.blobs,
            scratch: config.scratch,
            url_signer: UrlSigner::new(signing_key),
            url_lifetime: config.upload_url_lifetime,
            import_bytes: config.max_import_bytes,
            receive_locks: ReceiveLocks::default(),
            receive_slots: ReceiveSlots::default(),
        };
        let feeds = FeedContext {
            core: core.clone(),
            fetcher: fetcher.clone(),
            host_throttle: host_throttle.clone(),
            sandbox: sandbox.clone(),
            push,
            job_signal: job_signal.clone(),
        };
        let indexing = IndexingContext {
            core: jobs_core.clone(),
            retrieval: retrieval.clone(),
            job_signal: job_signal.clone(),
        };
        let repair = RepairContext {
            core: jobs_core.clone(),
            retrieval: retrieval.clone(),
            index_watch: index_watch.clone(),
            disk: config.disk.clone(),
            job_signal: job_signal.clone(),
        };
        let worker_context = WorkerContext {
            extraction: ExtractionContext {
                core: jobs_core.clone(),
                fetcher: fetcher.clone(),
                host_throttle,
                sandbox: sandbox.clone(),
                uploads: uploads.clone(),
                speech: speech.clone(),
                job_signal: job_signal.clone(),
            },
            indexing: indexing.clone(),
            feeds: FeedContext { core: jobs_core.clone(), ..feeds.clone() },
            repair: repair.clone(),
            index_watch: index_watch.clone(),
            imports: ImportContext {
                core: jobs_core.clone(),
                guard: fetcher.guard().clone(),
                store: uploads.store.clone(),
                sandbox,
                job_signal: job_signal.clone(),
            },
            exports: ExportContext {
                core: jobs_core.clone(),
                store: uploads.store.clone(),
                scratch: uploads.scratch.clone(),
                disk: config.disk.clone(),
            },
            mail: config.mail.map(Arc::new),
            idempotency: Idempotency::new(jobs_db, clock.clone()),
            lease_owner: config.lease_owner,
            uploads: uploads.clone(),
            retrieval: retrieval.clone(),
            disk: config.disk.clone(),
            job_signal: job_signal.clone(),
            core: jobs_core,
        };

        let context = OperationContext {
            answerer: answerer(config.chat, &retrieval, core.workers.clone(), clock.clone())?,
            keys,
            grants,
            limits,
            failures: Arc::new(AuthFailures::new(config.auth_failures_per_minute, clock.clone())),
            sign_ins: Arc::new(SignIns::default()),
            sign_ups: Arc::new(IpRateLimiter::per_hour(MAX_SIGN_UPS_PER_HOUR, clock.clone())),
            activity,
            notices,
            idempotency: Idempotency::new(db, clock),
            retrieval,
            index_watch,
            uploads,
            upload_locks: KeyedMutex::default(),
            batch_slots: BatchSlots::default(),
            cursors: Cursors::new(signing_key),
            feed_searches: FeedSearches::default(),
            feeds,
            speech,
            daily_tokens: config.daily_tokens,
            signup: config.signup,
            disk: config.disk,
            job_signal,
            core,
        };
        // Last: it claims jobs at once.
        let worker = Worker::start(&long, worker_context, config.concurrency);
        Ok(Self { context, worker, indexing, repair, process: config.lease_owner, arbiters: [short, long] })
    }
}

fn transcriber(
    settings: Option<EndpointSettings>,
    clock: Arc<dyn Clock>,
) -> Result<Option<Arc<dyn Transcriber>>, Error> {
    let endpoint = settings
        .map(|settings| Endpoint::new(settings, wall_clock(clock)))
        .transpose()
        .map_err(Error::internal)?;
    Ok(endpoint.map(|endpoint| Arc::new(endpoint) as Arc<dyn Transcriber>))
}

/// Returns the clock as the time since the Unix epoch, for crates that do not know [`Clock`].
fn wall_clock(clock: Arc<dyn Clock>) -> WallClock {
    Arc::new(move || Duration::from_millis(u64::try_from(clock.now().millis()).unwrap_or_default()))
}

/// Returns the configured endpoint, or else the embedded answerer.
fn answerer(
    chat: Option<ChatSettings>,
    retrieval: &Retrieval,
    workers: Workers,
    clock: Arc<dyn Clock>,
) -> Result<Arc<dyn Answerer>, Error> {
    if let Some(chat) = chat {
        return Ok(Arc::new(Chat::new(chat, clock).map_err(Error::internal)?));
    }
    Ok(Arc::new(Extractive::new(workers, retrieval.clone())))
}

/// Ends the leases of an earlier process. The data folder belongs to this process alone, so an earlier one that claimed jobs for it
/// is dead. While the database takes no writes, the leases expire instead.
async fn end_stale_leases(core: &CoreContext, owner: LeaseOwner) {
    match jobs::end_leases(core.db.write(), owner, core.clock.now()).await {
        Ok(0) => {}
        Ok(jobs) => info!(jobs, "jobs that a dead process of this data folder had claimed are due again"),
        Err(error) => warn!(%error, "could not end the leases of a dead process"),
    }
}

/// Returns the key that signs cursors and URLs. The first start of the service creates it, and all processes share it.
async fn load_signing_key(core: &CoreContext) -> Result<[u8; 32], Error> {
    let new = Secret::new_token("").map_err(Error::internal)?.hash();
    let stored =
        service_state::get_or_insert(core.db.write(), ServiceStateKey::SigningKey, new.hex()).await?;
    let key = SecretHash::from_hex(&stored);
    Ok(*key.ok_or_else(|| Error::internal("the signing key in the database is invalid"))?.bytes())
}
