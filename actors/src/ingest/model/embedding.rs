//! Loads the embedding model, or connects to the endpoint that takes its place. Until then search works by words alone; afterwards the
//! documents that have no vectors of the model are embedded with the priority of a backlog.

use std::sync::Arc;
use std::time::Duration;

use concurrency::Lane;
use errors::Error;
use inference::embedder::{
    BertEmbedder, EmbedError, Embedder, EmbeddingEndpoint, EndpointEmbedder, MeasuredModel,
};
use inference::models::{Model, Store};
use library::context::CoreContext;
use search::index::VectorModel;
use tracing::{info, warn};

use super::await_model;
use super::configured_model::record_configured_model;
use super::indexed_models::{IndexedEndpoint, IndexedModel, IndexedModels};
use crate::ingest::indexing_context::IndexingContext;
use crate::ingest::reindex;
use crate::service_state::{self, ServiceStateKey};

/// Minimum time between two attempts to measure an endpoint.
const MIN_MEASUREMENT_INTERVAL: Duration = Duration::from_secs(2);
/// Time until the next attempt to add vectors to an index that could not be changed.
const INDEX_RETRY_INTERVAL: Duration = Duration::from_secs(2);
/// Time until the next attempt to measure an endpoint that refuses the texts of the measurement, which are always the same.
const REFUSED_MEASUREMENT_INTERVAL: Duration = Duration::from_secs(600);

/// Waits for the files of the model, loads it, and enqueues the documents that lack its vectors. Returns when that is done,
/// or when the model could not be loaded.
pub async fn load_embedding_model(ctx: IndexingContext, store: Store, model: Model) {
    let (model, folder) = await_model(&store, &[model], "search is lexical").await;
    let Some(profile) = model.embedding.clone() else {
        return warn!(model.name, "the model is not an embedding model; search is lexical");
    };
    match ctx.core.workers.run(Lane::Long, move || BertEmbedder::open(&folder, &profile)).await {
        Ok(Ok(embedder)) => use_embedder(&ctx, Arc::new(embedder)).await,
        Ok(Err(error)) => warn!(%error, model.name, "could not open the embedding model; search is lexical"),
        Err(error) => {
            warn!(cause = Error::from(error).chain(), model.name, "could not open the embedding model")
        }
    }
}

/// Measures an endpoint with these settings unless it is `known`, as soon as it answers, and enqueues the documents that lack its vectors.
/// `indexed` is the length of the vectors that the index has for it, or `None` if it was not known when the index was opened: then they are
/// added to it.
pub async fn load_embedding_endpoint(
    ctx: IndexingContext,
    endpoint: Arc<EmbeddingEndpoint>,
    settings: IndexedEndpoint,
    known: Option<MeasuredModel>,
    indexed: Option<usize>,
) {
    let measured = match known {
        Some(known) => known,
        None => await_measurement(&ctx.core, &endpoint).await,
    };
    if indexed != Some(measured.dimensions) && !await_vectors_in_index(&ctx, &settings, &measured).await {
        return;
    }
    use_embedder(&ctx, Arc::new(EndpointEmbedder::new(endpoint, measured))).await;
}

/// Adds the vectors of an endpoint with these settings to the index, as soon as that can be changed. Returns whether they are those of one of
/// its models: not while former ones of the same name are deleted.
async fn await_vectors_in_index(
    ctx: &IndexingContext,
    settings: &IndexedEndpoint,
    measured: &MeasuredModel,
) -> bool {
    let mut is_logged = false;
    loop {
        match add_vectors_to_index(ctx, settings, measured).await {
            Ok(is_added) => return is_added,
            Err(error) if !is_logged => {
                is_logged = true;
                warn!(
                    cause = error.chain(),
                    "could not add the vectors of the embedding endpoint to the index; tried again every few seconds"
                );
            }
            Err(_) => {}
        }
        tokio::time::sleep(INDEX_RETRY_INTERVAL).await;
    }
}

/// Records an endpoint as the model of the settings, as a start does that knows the length of its vectors, and adds these to the index. The
/// record is first: a process that ends in between opens the index with them at its next start.
async fn add_vectors_to_index(
    ctx: &IndexingContext,
    settings: &IndexedEndpoint,
    measured: &MeasuredModel,
) -> Result<bool, Error> {
    let MeasuredModel { name, dimensions, .. } = measured.clone();
    let endpoint = IndexedEndpoint { measured: Some(measured.clone()), ..settings.clone() };
    let wanted = IndexedModel { name: name.clone(), dimensions, endpoint: Some(endpoint) };
    let models = record_configured_model(&ctx.core.db, Some(wanted)).await?;
    let Some(models) = models.map(|models| models.names()).filter(|names| names.contains(&name)) else {
        return Ok(false);
    };
    ctx.retrieval.add_model(VectorModel { name, dimensions }).await?;
    ctx.retrieval.engine().use_models(models);
    Ok(true)
}

/// Returns what was measured of the vectors of an endpoint with these settings at an earlier time; `None` if nothing was, or if they changed
/// since.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn find_measurement(
    core: &CoreContext,
    endpoint: &IndexedEndpoint,
) -> Result<Option<MeasuredModel>, Error> {
    let row = service_state::read_state(core.db.read(), ServiceStateKey::IndexedModels).await?;
    // What cannot be read is measured again.
    let models = row.as_deref().and_then(IndexedModels::from_row);
    Ok(models.as_ref().and_then(|models| models.measurement_of(endpoint)).cloned())
}

/// Adds what was measured of an endpoint to the record of the models of the index, if it is one of them.
async fn record_measurement(core: &CoreContext, measured: &MeasuredModel) -> Result<(), Error> {
    let (db, key) = (core.db.write(), ServiceStateKey::IndexedModels);
    loop {
        let Some(row) = service_state::read_state(db, key).await? else { return Ok(()) };
        let Some(mut models) = IndexedModels::from_row(&row) else { return Ok(()) };
        // Unless another server has changed the record at the same moment.
        if !models.set_measurement(measured)
            || service_state::replace(db, key, &row, models.to_row()?).await?
        {
            return Ok(());
        }
    }
}

/// Measures the vectors of an endpoint, and stores the result if the index has its vectors, or is to have them. Takes seconds, and costs a few
/// requests.
///
/// # Errors
/// [`EmbedError`] when the endpoint does not answer.
pub async fn measure_endpoint(
    core: &CoreContext,
    endpoint: &Arc<EmbeddingEndpoint>,
) -> Result<MeasuredModel, EmbedError> {
    let measuring = endpoint.clone();
    let measured = tokio::task::spawn_blocking(move || MeasuredModel::measure(&measuring)).await;
    let measured = measured.map_err(|cause| EmbedError::Model(Box::new(cause)))??;
    if let Err(error) = record_measurement(core, &measured).await {
        warn!(
            cause = error.chain(),
            "could not store the scale of the embedding endpoint; it is measured again"
        );
    }
    Ok(measured)
}

async fn await_measurement(core: &CoreContext, endpoint: &Arc<EmbeddingEndpoint>) -> MeasuredModel {
    loop {
        let delay = match measure_endpoint(core, endpoint).await {
            Ok(measured) => return measured,
            // The endpoint has logged why.
            Err(EmbedError::Unavailable { retry_after, .. }) => retry_after,
            Err(error @ EmbedError::TextRefused { .. }) => {
                warn!(%error, "could not measure the embedding endpoint; search is lexical");
                REFUSED_MEASUREMENT_INTERVAL
            }
            Err(error) => {
                warn!(%error, "could not measure the embedding endpoint; search is lexical");
                Duration::ZERO
            }
        };
        tokio::time::sleep(delay.max(MIN_MEASUREMENT_INTERVAL)).await;
    }
}

/// Searches by meaning from now on, or adds the vectors of the model during a change of models, and enqueues the documents that lack them. The
/// former model gets no documents that lack its vectors.
async fn use_embedder(ctx: &IndexingContext, embedder: Arc<dyn Embedder>) {
    let name = embedder.model().to_owned();
    ctx.retrieval.engine().set_model(embedder);
    info!(model.name = name, "embedding model loaded");
    let latest = ctx.retrieval.engine().latest_embedder();
    if latest.is_none_or(|latest| latest.model() != name) {
        return;
    }
    match reindex::enqueue_missing_vectors(&ctx.core.db, &name, ctx.core.clock.now()).await {
        Ok(0) => {}
        Ok(documents) => {
            info!(documents, "queued documents for embedding");
            ctx.job_signal.notify();
        }
        Err(error) => {
            warn!(cause = error.chain(), "could not queue missing embeddings; retried at the next start")
        }
    }
}
