//! The adapters to the outside, and the contexts of background work and operations that consist of them.

use std::sync::Arc;
use std::time::Duration;

use disk::DiskSpace;
use errors::Error;
use inference::transcriber::{Endpoint, EndpointSettings, SpeechService, Transcriber};
use jobs::JobSignal;
use library::clock::Clock;
use library::context::CoreContext;
use library::exports::ExportContext;
use library::imports::ImportContext;
use library::uploads::{ReceiveLocks, ReceiveSlots, Uploads, UrlSigner};
use sandbox::Sandbox;
use values::id::UserId;
use web::{Fetcher, HostThrottle, WallClock};

use super::config::AdapterConfig;
use crate::ingest::context::IngestContext;
use crate::ingest::extraction_context::ExtractionContext;
use crate::ingest::feed::context::FeedContext;
use crate::ingest::feed::search::FeedSearches;
use crate::ingest::feed::stored_copy::PreparedCopies;
use crate::ingest::feed::websub_secrets::WebSubSecrets;

/// The adapters to the outside. Every context gets clones of them, which share their state.
pub(super) struct Adapters {
    fetcher: Fetcher,
    host_throttle: HostThrottle<UserId>,
    sandbox: Sandbox,
    websub_secrets: Option<WebSubSecrets>,
    pub(super) speech: SpeechService<UserId>,
    pub(super) uploads: Uploads,
}

impl Adapters {
    /// Creates the adapters. `signing_key` signs upload URLs, and the secrets of WebSub subscriptions are derived from it.
    ///
    /// # Errors
    /// [`Error::Internal`] when an HTTP client cannot be created.
    pub(super) fn new(
        config: AdapterConfig,
        base_url: &str,
        clock: &Arc<dyn Clock>,
        signing_key: [u8; 32],
    ) -> Result<Self, Error> {
        Ok(Self {
            fetcher: Fetcher::new(config.fetch, wall_clock(clock)).map_err(Error::internal)?,
            host_throttle: HostThrottle::default(),
            sandbox: Sandbox::new(config.sandbox, config.sandbox_settings),
            websub_secrets: config.feed_push.then(|| WebSubSecrets::new(base_url, signing_key)),
            speech: SpeechService::new(transcriber(config.transcription, clock)?),
            uploads: Uploads {
                store: config.blobs,
                scratch: config.scratch,
                url_signer: UrlSigner::new(signing_key),
                put_url_lifetime: config.put_url_lifetime,
                import_bytes: config.import_bytes,
                receive_locks: ReceiveLocks::default(),
                receive_slots: ReceiveSlots::default(),
            },
        })
    }

    pub(super) fn feed_context(&self, core: &CoreContext, job_signal: &JobSignal) -> FeedContext {
        FeedContext {
            core: core.clone(),
            fetcher: self.fetcher.clone(),
            host_throttle: self.host_throttle.clone(),
            sandbox: self.sandbox.clone(),
            websub_secrets: self.websub_secrets.clone(),
            prepared_copies: PreparedCopies::default(),
            job_signal: job_signal.clone(),
        }
    }

    pub(super) fn ingest_context(&self, core: &CoreContext, job_signal: &JobSignal) -> IngestContext {
        IngestContext {
            fetcher: self.fetcher.clone(),
            sandbox: self.sandbox.clone(),
            feeds: self.feed_context(core, job_signal),
            feed_searches: FeedSearches::default(),
        }
    }

    pub(super) fn extraction_context(&self, core: &CoreContext, job_signal: &JobSignal) -> ExtractionContext {
        ExtractionContext {
            core: core.clone(),
            fetcher: self.fetcher.clone(),
            host_throttle: self.host_throttle.clone(),
            sandbox: self.sandbox.clone(),
            uploads: self.uploads.clone(),
            speech: self.speech.clone(),
            job_signal: job_signal.clone(),
        }
    }

    pub(super) fn import_context(&self, core: &CoreContext, job_signal: &JobSignal) -> ImportContext {
        ImportContext {
            core: core.clone(),
            guard: self.fetcher.guard().clone(),
            store: self.uploads.store.clone(),
            sandbox: self.sandbox.clone(),
            job_signal: job_signal.clone(),
        }
    }

    pub(super) fn export_context(&self, core: &CoreContext, disk: &DiskSpace) -> ExportContext {
        ExportContext {
            core: core.clone(),
            store: self.uploads.store.clone(),
            scratch: self.uploads.scratch.clone(),
            disk: disk.clone(),
        }
    }
}

/// Returns the configured endpoint. Without one, the local model is set once it is loaded.
fn transcriber(
    settings: Option<EndpointSettings>,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Arc<dyn Transcriber>>, Error> {
    let endpoint = settings
        .map(|settings| Endpoint::new(settings, wall_clock(clock)))
        .transpose()
        .map_err(Error::internal)?;
    Ok(endpoint.map(|endpoint| Arc::new(endpoint) as Arc<dyn Transcriber>))
}

/// Returns the clock as the time since the Unix epoch, for crates that do not know [`Clock`].
pub fn wall_clock(clock: &Arc<dyn Clock>) -> WallClock {
    let clock = clock.clone();
    Arc::new(move || Duration::from_millis(u64::try_from(clock.now().millis()).unwrap_or_default()))
}
