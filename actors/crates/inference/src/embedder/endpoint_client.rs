//! Sends texts to an OpenAI-compatible HTTP endpoint (`ai.embedding.*`), which returns their vectors.
//!
//! The endpoint is a configured service, so it may be on this machine. Redirects are not followed, because requests carry the key and texts
//! of users. Responses are bounded in bytes, and none of their text is logged. While the endpoint fails, it is called less often.

use std::fmt;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use concurrency::{CallOutcome, CircuitBreaker, CircuitRules, OutboundRuntime};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, InvalidHeaderValue};
use reqwest::{Client, Response};
use serde_json::json;
use tokio::time::{Instant, timeout};
use tracing::{info, warn};
use web::{WallClock, retry_after, service_client};

use super::endpoint_fault::EndpointFault;
use super::endpoint_response::EmbeddingsResponse;
use super::endpoint_settings::EmbeddingSettings;
use super::{EmbedError, Embeddings};

/// Deadline of a request for passages, from the call to the last byte.
pub(super) const BATCH_DEADLINE: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum length of a response: 32 vectors of the maximum length, with many digits for each number.
const MAX_RESPONSE_BYTES: usize = 8 << 20;
/// Maximum number of texts in a request.
const MAX_TEXTS: usize = 32;
/// Maximum number of characters of the texts of a request.
const MAX_REQUEST_CHARS: usize = 64_000;
/// Maximum number of characters of a text; the rest is not sent. Several passages.
const MAX_TEXT_CHARS: usize = 8_000;
/// Characters of a token, for an estimate.
const CHARS_PER_TOKEN: usize = 4;

/// Delay until the next attempt after a fault that may pass.
const RETRY_DELAY: Duration = Duration::from_secs(10);
/// Delay until the next attempt after a fault that lasts until a setting is changed.
const SETTINGS_RETRY_DELAY: Duration = Duration::from_secs(60);
/// Delay until the next attempt after [`PROBE_TEXT`] was refused as texts are.
const REFUSAL_RETRY_DELAY: Duration = Duration::from_secs(600);
/// A text that an endpoint accepts if it accepts any. It shows whether a refusal is about the texts of a request.
const PROBE_TEXT: &str = "library";

/// When the endpoint is not called for a while.
const CIRCUIT: CircuitRules = CircuitRules {
    failures_to_open: 3,
    timeouts_to_open: 3,
    min_failure_time: Duration::ZERO,
    open_period: Duration::from_secs(2),
    max_open_period: Duration::from_secs(60),
    trial_time: BATCH_DEADLINE,
};

/// Why the client of an endpoint could not be created.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddingSetupError {
    /// The HTTP client cannot be created.
    #[error("could not create the HTTP client of the embedding service")]
    Client(#[from] reqwest::Error),
    /// The key is not valid in a header.
    #[error("the setting ai.embedding.key has characters that an HTTP header must not have")]
    Key(#[from] InvalidHeaderValue),
    /// The thread of the client cannot be started.
    #[error("could not start the thread of the embedding service")]
    Thread(#[from] io::Error),
}

/// The client of an endpoint. Its calls block.
pub struct EmbeddingEndpoint {
    client: Client,
    url: String,
    settings: EmbeddingSettings,
    headers: HeaderMap,
    clock: WallClock,
    runtime: OutboundRuntime,
    circuit: CircuitBreaker,
    state: Mutex<EndpointState>,
}

/// What the last requests showed.
#[derive(Debug, Default)]
struct EndpointState {
    /// Why the last request failed; `None` if it succeeded.
    fault: Option<EndpointFault>,
    /// The endpoint asked not to be called before this time.
    resumes_at: Option<Instant>,
}

/// A request that failed.
struct FailedRequest {
    fault: EndpointFault,
    /// `Retry-After`, at most a day.
    retry_after: Option<Duration>,
}

impl From<EndpointFault> for FailedRequest {
    fn from(fault: EndpointFault) -> Self {
        Self { fault, retry_after: None }
    }
}

impl EmbeddingEndpoint {
    /// Creates the client; nothing is sent yet. The clock is read when a response asks to be retried at a date.
    ///
    /// # Errors
    /// [`EmbeddingSetupError`] when the client cannot be created, or the key is not valid in a header.
    pub fn new(settings: EmbeddingSettings, clock: WallClock) -> Result<Self, EmbeddingSetupError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &settings.key {
            let mut bearer = HeaderValue::from_str(&format!("Bearer {}", key.as_str()))?;
            // Debug output of the headers does not show a sensitive value.
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        Ok(Self {
            // The deadline is set on each request.
            client: service_client().connect_timeout(CONNECT_TIMEOUT).build()?,
            url: format!("{}/embeddings", settings.url.trim_end_matches('/')),
            settings,
            headers,
            clock,
            runtime: OutboundRuntime::start("embed-endpoint")?,
            circuit: CircuitBreaker::new(CIRCUIT),
            state: Mutex::default(),
        })
    }

    /// Returns the name of its vectors with this length ([`EmbeddingSettings::vector_name`]).
    #[must_use]
    pub fn vector_name(&self, dimensions: usize) -> String {
        self.settings.vector_name(dimensions)
    }

    /// Returns the length of vectors that is set.
    #[must_use]
    pub fn configured_dimensions(&self) -> Option<usize> {
        self.settings.dimensions
    }

    /// Returns why the last request failed; `None` if it succeeded, or if there was none.
    #[must_use]
    pub fn fault(&self) -> Option<EndpointFault> {
        self.state().fault
    }

    /// Returns the length of its vectors, from one request. Blocks for a minute at most.
    ///
    /// # Errors
    /// [`EmbedError::Unavailable`] when the endpoint does not answer, or with vectors of another length than is set.
    pub fn ask_dimensions(&self) -> Result<usize, EmbedError> {
        // A response without a vector is refused before.
        Ok(self.probe(None, BATCH_DEADLINE)?.vectors.first().map_or(0, Vec::len))
    }

    /// Returns the vectors of queries, whose prefix is prepended. Blocks for the deadline at most, for each 32 queries.
    pub(super) fn embed_queries(
        &self,
        queries: &[&str],
        expected: Option<usize>,
        deadline: Duration,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(self.embed(&self.settings.query_prefix, queries, expected, deadline)?.vectors)
    }

    /// Returns the vectors of passages, whose prefix is prepended. Blocks for a minute at most, for each 32 passages.
    pub(super) fn embed_passages(
        &self,
        passages: &[&str],
        expected: Option<usize>,
    ) -> Result<Embeddings, EmbedError> {
        self.embed(&self.settings.passage_prefix, passages, expected, BATCH_DEADLINE)
    }

    /// Returns the vectors of a query and of passages, each with its prefix. Blocks for the deadline at most, for each 32 texts, and as long
    /// again if one is refused.
    pub(super) fn embed_query_with_passages(
        &self,
        query: &str,
        passages: &[&str],
        expected: Option<usize>,
        deadline: Duration,
    ) -> Result<(Vec<f32>, Vec<Vec<f32>>), EmbedError> {
        let mut vectors = self
            .embed_inputs(self.comparison_inputs(query, passages), expected, deadline)?
            .vectors
            .into_iter();
        Ok((vectors.next().unwrap_or_default(), vectors.collect()))
    }

    /// Returns what is sent of a query, and then of passages.
    fn comparison_inputs(&self, query: &str, passages: &[&str]) -> Vec<String> {
        let EmbeddingSettings { query_prefix, passage_prefix, .. } = &self.settings;
        let passages = passages.iter().map(|passage| input_of(passage_prefix, passage));
        std::iter::once(input_of(query_prefix, query)).chain(passages).collect()
    }

    /// `expected` is the length that vectors must have if none is set; `None` accepts any.
    fn embed(
        &self,
        prefix: &str,
        texts: &[&str],
        expected: Option<usize>,
        deadline: Duration,
    ) -> Result<Embeddings, EmbedError> {
        let inputs = texts.iter().map(|text| input_of(prefix, text)).collect();
        self.embed_inputs(inputs, expected, deadline)
    }

    fn embed_inputs(
        &self,
        inputs: Vec<String>,
        expected: Option<usize>,
        deadline: Duration,
    ) -> Result<Embeddings, EmbedError> {
        let expected = self.settings.dimensions.or(expected);
        let mut all = Embeddings::default();
        for group in groups(inputs) {
            let embedded = self.request(&group, expected, deadline)?;
            all.vectors.extend(embedded.vectors);
            all.tokens = all.tokens.saturating_add(embedded.tokens);
        }
        Ok(all)
    }

    /// Returns the vectors of the texts of one request. If it is refused, another request shows whether the endpoint accepts other texts,
    /// unless most of the time is up: then a later refusal shows it.
    fn request(
        &self,
        texts: &[String],
        expected: Option<usize>,
        deadline: Duration,
    ) -> Result<Embeddings, EmbedError> {
        let called = Instant::now();
        let sent = self.send(texts, expected, deadline);
        let left = deadline.saturating_sub(called.elapsed());
        if matches!(sent, Err(EmbedError::TextRefused { .. })) && left >= deadline / 2 {
            self.probe(expected, left)?;
        }
        sent
    }

    /// Returns the vector of [`PROBE_TEXT`]. An endpoint that refuses it cannot be used.
    fn probe(&self, expected: Option<usize>, deadline: Duration) -> Result<Embeddings, EmbedError> {
        let text = format!("{}{PROBE_TEXT}", self.settings.passage_prefix);
        match self.send(&[text], expected, deadline) {
            Err(EmbedError::TextRefused { fault }) => Err(self.note_fault(fault, None)),
            sent => sent,
        }
    }

    fn send(
        &self,
        texts: &[String],
        expected: Option<usize>,
        deadline: Duration,
    ) -> Result<Embeddings, EmbedError> {
        let called = Instant::now();
        self.check_admitted(called)?;
        let exchange = self.exchange(texts, expected);
        let outcome = self.runtime.block_on(async {
            let in_time = timeout(deadline, exchange).await;
            in_time.unwrap_or_else(|_| Err(EndpointFault::Timeout.into()))
        });
        self.record(called, outcome)
    }

    /// Returns an error if the endpoint is not to be called now.
    fn check_admitted(&self, now: Instant) -> Result<(), EmbedError> {
        let EndpointState { fault, resumes_at } = *self.state();
        let fault = fault.unwrap_or(EndpointFault::Unreachable);
        if let Some(resumes_at) = resumes_at.filter(|resumes_at| now < *resumes_at) {
            return Err(EmbedError::Unavailable { fault, retry_after: resumes_at - now });
        }
        if self.circuit.admits(now) {
            return Ok(());
        }
        Err(EmbedError::Unavailable { fault, retry_after: RETRY_DELAY })
    }

    async fn exchange(&self, texts: &[String], expected: Option<usize>) -> Result<Embeddings, FailedRequest> {
        let mut body = json!({ "model": self.settings.model, "input": texts, "encoding_format": "float" });
        if let (Some(dimensions), Some(fields)) = (self.settings.dimensions, body.as_object_mut()) {
            fields.insert("dimensions".to_owned(), dimensions.into());
        }
        let request = self.client.post(&self.url).headers(self.headers.clone()).body(body.to_string());
        let response = request.send().await.map_err(|_| EndpointFault::Unreachable)?;
        let status = response.status().as_u16();
        if status != 200 {
            return Err(FailedRequest {
                fault: EndpointFault::of_status(status),
                retry_after: retry_after(response.headers(), (self.clock)()),
            });
        }
        let body = read_body(response).await?;
        let chars: usize = texts.iter().map(|text| text.chars().count()).sum();
        let response = EmbeddingsResponse::parse(&body)?;
        Ok(response.into_embeddings(texts.len(), expected, chars.div_ceil(CHARS_PER_TOKEN))?)
    }

    /// Records the end of a request. The first request of a row that fails for the same reason is logged, and the end of the row. A refusal
    /// of texts is no fault of the endpoint.
    fn record(
        &self,
        called: Instant,
        outcome: Result<Embeddings, FailedRequest>,
    ) -> Result<Embeddings, EmbedError> {
        let now = Instant::now();
        let failed = match outcome {
            Ok(embeddings) => {
                self.circuit.record(CallOutcome::Answered, called, now);
                if std::mem::take(&mut *self.state()).fault.is_some() {
                    info!("the embedding endpoint answers again");
                }
                return Ok(embeddings);
            }
            Err(failed) => failed,
        };
        let FailedRequest { fault, retry_after } = failed;
        // An endpoint that refuses a text answers, so other texts need no protection.
        self.circuit.record(CallOutcome::of_answer(fault.is_about_texts()), called, now);
        if fault.is_about_texts() {
            return Err(EmbedError::TextRefused { fault });
        }
        Err(self.note_fault(fault, retry_after))
    }

    /// Remembers why the endpoint cannot be used, and returns the error that says so.
    fn note_fault(&self, fault: EndpointFault, retry_after: Option<Duration>) -> EmbedError {
        let mut state = self.state();
        if state.fault.replace(fault) != Some(fault) {
            warn!(%fault, "the embedding endpoint cannot be used; search matches words only until it answers");
        }
        // RFC 9110 defines the header for 503, and RFC 6585 for 429.
        let asked = retry_after.filter(|_| matches!(fault, EndpointFault::Refused(429 | 503)));
        state.resumes_at = asked.map(|delay| Instant::now() + delay);
        let usual_delay = if fault.is_about_texts() {
            REFUSAL_RETRY_DELAY
        } else if fault.is_about_settings() {
            SETTINGS_RETRY_DELAY
        } else {
            RETRY_DELAY
        };
        EmbedError::Unavailable { fault, retry_after: asked.unwrap_or(usual_delay) }
    }

    fn state(&self) -> MutexGuard<'_, EndpointState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for EmbeddingEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the settings, which hold the key.
        f.debug_struct("EmbeddingEndpoint").field("model", &self.settings.model).finish_non_exhaustive()
    }
}

/// Returns what is sent of a text.
fn input_of(prefix: &str, text: &str) -> String {
    prefix.chars().chain(text.chars()).take(MAX_TEXT_CHARS).collect()
}

/// Divides texts into those of a request each, in order.
fn groups(texts: Vec<String>) -> Vec<Vec<String>> {
    let (mut groups, mut group, mut chars) = (Vec::new(), Vec::new(), 0);
    for text in texts {
        let length = text.chars().count();
        if group.len() >= MAX_TEXTS || !group.is_empty() && chars + length > MAX_REQUEST_CHARS {
            groups.push(std::mem::take(&mut group));
            chars = 0;
        }
        chars += length;
        group.push(text);
    }
    if !group.is_empty() {
        groups.push(group);
    }
    groups
}

/// Reads the whole body.
async fn read_body(mut response: Response) -> Result<Vec<u8>, EndpointFault> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| EndpointFault::Unreachable)? {
        bytes.extend_from_slice(&chunk);
        // The length is counted while the body is read: a Content-Length may be missing or wrong.
        if bytes.len() > MAX_RESPONSE_BYTES {
            return Err(EndpointFault::InvalidResponse("it is too long"));
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
