//! The endpoint that embeds for search by meaning: whether it answers one request.

use std::sync::Arc;

use inference::embedder::EmbedError;
use library::clock::{Clock, SystemClock};

use super::check::Check;
use crate::server::embedding_endpoint;
use crate::settings::Settings;

const NAME: &str = "embedding endpoint";

/// Sends one request to the endpoint; `None` if none is set.
pub async fn check(settings: &Settings) -> Option<Check> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let endpoint = match embedding_endpoint(settings, &clock) {
        Ok(endpoint) => endpoint?,
        Err(cause) => {
            return Some(Check::wrong(NAME, cause.to_string(), "correct the settings ai.embedding.*"));
        }
    };
    // The client blocks.
    let asked = tokio::task::spawn_blocking(move || endpoint.ask_dimensions()).await;
    Some(match asked {
        Ok(Ok(dimensions)) => Check::good(NAME, format!("it answers with vectors of {dimensions} numbers")),
        Ok(Err(EmbedError::Unavailable { fault, .. })) => Check::warning(
            NAME,
            format!("{fault}; search matches words only"),
            "correct the settings ai.embedding.*, or start the endpoint",
        ),
        Ok(Err(error)) => Check::warning(NAME, error.to_string(), "see the log of the endpoint"),
        Err(cause) => Check::warning(NAME, cause.to_string(), "try again"),
    })
}
