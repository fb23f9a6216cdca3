//! The service without its HTTP servers, in a data folder of its own: nothing but the calling program can reach it.

use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::rt::task::JoinHandle;
use actors::ingest::model::{load_embedding_endpoint, load_embedding_model, measure_endpoint};
use actors::service::Service;
use inference::models::Store;
use jobs::LeaseOwner;
use library::clock::SystemClock;
use library::context::CoreContext;
use sandbox::SandboxCommand;

use super::embedding::{EmbeddingSource, EmbeddingSources};
use super::preconditions::create_data_dir;
use super::setup::{disk_space, start_service};
use super::start_error::StartError;
use crate::data_dir::{folder_id, lock};
use crate::library_database;
use crate::settings::Settings;

/// Longest time that a stop takes.
const STOP_TIMEOUT: Duration = Duration::from_secs(28);

/// A service that has started without HTTP servers. Dropping it without [`OfflineService::stop`] loses what is buffered.
pub struct OfflineService {
    service: Service,
    models: Store,
    embedding: Option<EmbeddingSource>,
    disk_watch: JoinHandle<()>,
    /// Held while the service runs, so that no other process uses the folder.
    _lock: File,
}

impl OfflineService {
    /// Starts the service on the current system. It listens nowhere, and loads no model.
    ///
    /// # Errors
    /// The [`StartError`] of the part that could not start: a setting, the folder of the data, the database or the index.
    pub async fn start(settings: &Settings) -> Result<Self, StartError> {
        create_data_dir(&settings.data_dir)?;
        let mut lock = lock(&settings.data_dir)?;
        let disk = disk_space(settings);
        disk.release_reserves_to_start()?;
        let lease_owner = LeaseOwner(folder_id(&mut lock));
        let db = library_database::open_for_service(settings).await?;
        let base_url = settings.base_url(settings.server.listen).as_str().to_owned();
        let (folder, plans) = (settings.data_dir.clone(), settings.plans.clone());
        let core = CoreContext::new(db, folder, &base_url, plans, Arc::new(SystemClock::new()));
        let sandbox = SandboxCommand::this_program()?;
        let embedding = EmbeddingSources::of_settings(settings, &core).await?;
        let service =
            start_service(settings, core, embedding.models.as_ref(), sandbox, lease_owner, disk.clone())
                .await?;
        let disk_watch = actix_web::rt::spawn(disk.watch());
        let models = Store::new(settings.models_folder());
        Ok(Self { service, models, embedding: embedding.wanted, disk_watch, _lock: lock })
    }

    /// Loads the embedding model, or connects to the endpoint that takes its place. Returns whether it is used: its files are there and can
    /// be read, or the endpoint answers.
    pub async fn load_embedding_model(&self) -> bool {
        let indexing = self.service.indexing.clone();
        match &self.embedding {
            // Without its files, the loading would wait for them.
            Some(EmbeddingSource::Local(model)) if self.models.find(model).is_some() => {
                load_embedding_model(indexing, self.models.clone(), (**model).clone()).await;
            }
            Some(EmbeddingSource::Endpoint { endpoint, settings, known }) => {
                let known = match known {
                    Some(known) => Ok(known.clone()),
                    None => measure_endpoint(&indexing.core, endpoint).await,
                };
                let Ok(known) = known else { return false };
                let dimensions = self.embedding.as_ref().and_then(EmbeddingSource::dimensions);
                let (endpoint, settings) = (endpoint.clone(), (**settings).clone());
                load_embedding_endpoint(indexing, endpoint, settings, Some(known), dimensions).await;
            }
            Some(EmbeddingSource::Local(_)) | None => return false,
        }
        self.service.context.retrieval.engine().has_model()
    }

    /// Returns the actors and contexts of the service.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// Stops the service: jobs in progress are put back, and buffered rows are written.
    pub async fn stop(self) {
        let deadline = Instant::now() + STOP_TIMEOUT;
        self.service.stop_worker().await;
        self.disk_watch.abort();
        self.service.drain(deadline).await;
    }
}
