//! What embeds passages and queries for search by meaning: a local model, or an endpoint.

use std::sync::Arc;
use std::time::Duration;

use actors::ingest::model::{find_measurement, measure_endpoint};
use actors::service::wall_clock;
use inference::embedder::{EmbeddingEndpoint, EmbeddingSettings, MeasuredModel};
use inference::models::Model;
use library::clock::Clock;
use library::context::CoreContext;
use tracing::warn;

use super::start_error::StartError;
use crate::settings::Settings;

/// Maximum time that a start waits for an endpoint whose vectors are not known.
const MAX_MEASUREMENT_TIME: Duration = Duration::from_secs(10);

/// What embeds passages and queries.
pub enum EmbeddingSource {
    /// A local model of the catalogue.
    Local(Box<Model>),
    /// An endpoint, with what was measured of its vectors.
    Endpoint {
        /// The client, which has sent nothing yet if the endpoint is known.
        endpoint: Arc<EmbeddingEndpoint>,
        /// What is known of its vectors; `None` if it has never answered.
        known: Option<MeasuredModel>,
    },
}

impl EmbeddingSource {
    /// Returns what embeds with these settings. If it is an endpoint of which the length of the vectors is neither set nor known, asks the
    /// endpoint, and waits for ten seconds at most: the index is opened with that length.
    ///
    /// # Errors
    /// [`StartError`] when the client of the endpoint cannot be created, or the database fails.
    pub async fn of_settings(settings: &Settings, core: &CoreContext) -> Result<Option<Self>, StartError> {
        let Some(endpoint) = embedding_endpoint(settings, &core.clock)? else {
            return Ok(settings.embedding_model().map(|model| Self::Local(Box::new(model.clone()))));
        };
        let mut known = find_measurement(core, &endpoint).await?;
        if known.is_none() && endpoint.configured_dimensions().is_none() {
            let measured =
                tokio::time::timeout(MAX_MEASUREMENT_TIME, measure_endpoint(core, &endpoint)).await;
            known = measured.ok().and_then(Result::ok);
            if known.is_none() {
                warn!(
                    "the embedding endpoint does not answer and ai.embedding.dimensions is not set; search matches words \
                     only until a start at which it answers"
                );
            }
        }
        Ok(Some(Self::Endpoint { endpoint, known }))
    }

    /// Returns the name and the length of the vectors, which the index needs; `None` if an endpoint has not answered yet and no length is
    /// set.
    pub fn vectors(&self) -> Option<(String, usize)> {
        match self {
            Self::Local(model) => Some((model.name.clone(), model.embedding.as_ref()?.dimensions)),
            Self::Endpoint { endpoint, known } => {
                let known = known.as_ref().map(|known| known.dimensions);
                let dimensions = known.or(endpoint.configured_dimensions())?;
                Some((endpoint.vector_name(dimensions), dimensions))
            }
        }
    }
}

/// Returns the client of the endpoint that embeds; `None` if none is set. The settings require a model with a URL.
///
/// # Errors
/// [`StartError`] when the client cannot be created.
pub fn embedding_endpoint(
    settings: &Settings,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Arc<EmbeddingEndpoint>>, StartError> {
    let embedding = &settings.ai.embedding;
    let (Some(url), Some(model)) = (&embedding.url, &embedding.model) else { return Ok(None) };
    let settings = EmbeddingSettings {
        url: url.as_str().to_owned(),
        model: model.clone(),
        key: embedding.key.as_ref().map(|key| key.expose().to_owned().into()),
        dimensions: Some(embedding.dimensions).filter(|dimensions| *dimensions > 0),
        query_prefix: embedding.query_prefix.clone(),
        passage_prefix: embedding.passage_prefix.clone(),
    };
    Ok(Some(Arc::new(EmbeddingEndpoint::new(settings, wall_clock(clock))?)))
}
