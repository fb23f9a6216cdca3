//! What embeds passages and queries for search by meaning: a local model, or an endpoint.

use std::sync::Arc;
use std::time::Duration;

use actors::ingest::model::{
    IndexedEndpoint, IndexedModel, IndexedModels, find_measurement, measure_endpoint, record_configured_model,
};
use actors::service::wall_clock;
use inference::embedder::{EmbeddingEndpoint, EmbeddingSettings, MeasuredModel};
use inference::models::{Catalogue, Model, Purpose};
use library::clock::Clock;
use library::context::CoreContext;
use tracing::warn;

use super::start_error::StartError;
use crate::settings::Settings;

/// Maximum time that a start waits for an endpoint whose vectors are not known.
const MAX_MEASUREMENT_TIME: Duration = Duration::from_secs(10);

/// What embeds, and the models whose vectors are in the index.
pub struct EmbeddingSources {
    /// What the settings name; `None` if they name nothing.
    pub wanted: Option<EmbeddingSource>,
    /// What embeds queries until all passages have vectors of `wanted`; `None` if nothing was changed, or it cannot be used any more.
    pub former: Option<EmbeddingSource>,
    /// The models with whose vectors the index is opened; `None` while nothing is known of any vectors.
    pub models: Option<IndexedModels>,
}

impl EmbeddingSources {
    /// Returns what embeds with these settings, and records it. If something else embedded before, its vectors are searched until all passages
    /// have new ones.
    ///
    /// # Errors
    /// [`StartError`] as [`EmbeddingSource::of_settings`].
    pub async fn of_settings(settings: &Settings, core: &CoreContext) -> Result<Self, StartError> {
        let wanted = EmbeddingSource::of_settings(settings, core).await?;
        let indexed = wanted.as_ref().and_then(EmbeddingSource::indexed_model);
        let name = indexed.as_ref().map(|indexed| indexed.name.clone());
        let models = record_configured_model(&core.db, indexed).await?;
        let former =
            models.as_ref().map(|models| &models.searched).filter(|model| name.as_ref() != Some(&model.name));
        let former = match former {
            Some(former) => EmbeddingSource::of_former(settings, core, former)?,
            None => None,
        };
        Ok(Self { wanted, former, models })
    }
}

/// What embeds passages and queries.
pub enum EmbeddingSource {
    /// A local model of the catalogue.
    Local(Box<Model>),
    /// An endpoint, with what was measured of its vectors.
    Endpoint {
        /// The client, which has sent nothing yet if the endpoint is known.
        endpoint: Arc<EmbeddingEndpoint>,
        /// Its settings, for the record of the models of the index.
        settings: Box<IndexedEndpoint>,
        /// What is known of its vectors; `None` if it has never answered.
        known: Option<MeasuredModel>,
    },
}

impl EmbeddingSource {
    /// Returns what embeds with these settings. If it is an endpoint of which the length of the vectors is neither set nor known, asks the
    /// endpoint, and waits for ten seconds at most: the index is opened with that length. Without an answer the length is added to the index
    /// once it is known.
    ///
    /// # Errors
    /// [`StartError`] when the client of the endpoint cannot be created, or the database fails.
    async fn of_settings(settings: &Settings, core: &CoreContext) -> Result<Option<Self>, StartError> {
        let Some(configured) = configured_endpoint(settings) else {
            return Ok(settings.embedding_model().map(|model| Self::Local(Box::new(model.clone()))));
        };
        let mut known = find_measurement(core, &configured).await?;
        let endpoint = endpoint_client(configured.clone(), settings, &core.clock)?;
        if known.is_none() && endpoint.configured_dimensions().is_none() {
            let measured =
                tokio::time::timeout(MAX_MEASUREMENT_TIME, measure_endpoint(core, &endpoint)).await;
            known = measured.ok().and_then(Result::ok);
            if known.is_none() {
                warn!(
                    "the embedding endpoint does not answer and ai.embedding.dimensions is not set; search matches words \
                     only until it answers"
                );
            }
        }
        Ok(Some(Self::Endpoint { endpoint, settings: Box::new(configured), known }))
    }

    /// Returns what embedded before the settings were changed; `None` if it cannot be used any more: an endpoint only while the settings name
    /// the same service, by its URL or its identity, because nothing is sent to another one. It is asked at the URL of the settings.
    fn of_former(
        settings: &Settings,
        core: &CoreContext,
        model: &IndexedModel,
    ) -> Result<Option<Self>, StartError> {
        let Some(former) = &model.endpoint else {
            let local =
                Catalogue::built_in().get(&model.name).filter(|model| model.purpose == Purpose::Embedding);
            return Ok(local.map(|model| Self::Local(Box::new(model.clone()))));
        };
        let same_service = configured_endpoint(settings).filter(|now| now.service() == former.service());
        let (Some(now), Some(measured)) = (same_service, former.measured.clone()) else { return Ok(None) };
        let identity = Some(former.service().to_owned());
        let former = IndexedEndpoint { url: now.url, identity, ..former.clone() };
        let endpoint = endpoint_client(former.clone(), settings, &core.clock)?;
        Ok(Some(Self::Endpoint { endpoint, settings: Box::new(former), known: Some(measured) }))
    }

    /// Returns the model for the record of the models of the index; `None` if nothing is known of its vectors yet.
    fn indexed_model(&self) -> Option<IndexedModel> {
        let (name, dimensions) = self.vectors()?;
        let endpoint = match self {
            Self::Local(_) => None,
            Self::Endpoint { settings, known, .. } => {
                Some(IndexedEndpoint { measured: known.clone(), ..(**settings).clone() })
            }
        };
        Some(IndexedModel { name, dimensions, endpoint })
    }

    /// Returns the length of the vectors, which the index was opened with; `None` as in [`Self::vectors`].
    pub fn dimensions(&self) -> Option<usize> {
        self.vectors().map(|(_, dimensions)| dimensions)
    }

    /// Returns the name and the length of the vectors, which the index needs; `None` if an endpoint has not answered yet and no length is
    /// set.
    fn vectors(&self) -> Option<(String, usize)> {
        match self {
            Self::Local(model) => Some((model.name.clone(), model.embedding.as_ref()?.dimensions)),
            Self::Endpoint { endpoint, known, .. } => {
                let known = known.as_ref().map(|known| known.dimensions);
                let dimensions = known.or(endpoint.configured_dimensions())?;
                Some((endpoint.vector_name(dimensions), dimensions))
            }
        }
    }
}

/// Returns the client of the endpoint that embeds; `None` if none is set.
///
/// # Errors
/// [`StartError`] when the client cannot be created.
pub fn embedding_endpoint(
    settings: &Settings,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Arc<EmbeddingEndpoint>>, StartError> {
    configured_endpoint(settings).map(|endpoint| endpoint_client(endpoint, settings, clock)).transpose()
}

/// Returns the endpoint of the settings; `None` if none is set. The settings require a model with a URL.
fn configured_endpoint(settings: &Settings) -> Option<IndexedEndpoint> {
    let embedding = &settings.ai.embedding;
    Some(IndexedEndpoint {
        url: embedding.url.as_ref()?.as_str().to_owned(),
        identity: embedding.identity.clone(),
        model: embedding.model.clone()?,
        dimensions: Some(embedding.dimensions).filter(|dimensions| *dimensions > 0),
        query_prefix: embedding.query_prefix.clone(),
        passage_prefix: embedding.passage_prefix.clone(),
        measured: None,
    })
}

/// Returns the client of an endpoint, which sends the key of the settings.
///
/// # Errors
/// [`StartError`] when the client cannot be created.
fn endpoint_client(
    endpoint: IndexedEndpoint,
    settings: &Settings,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<EmbeddingEndpoint>, StartError> {
    let IndexedEndpoint { url, identity, model, dimensions, query_prefix, passage_prefix, measured: _ } =
        endpoint;
    let key = settings.ai.embedding.key.as_ref().map(|key| key.expose().to_owned().into());
    let settings = EmbeddingSettings { url, identity, model, key, dimensions, query_prefix, passage_prefix };
    Ok(Arc::new(EmbeddingEndpoint::new(settings, wall_clock(clock))?))
}
