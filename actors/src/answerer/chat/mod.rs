//! The OpenAI-compatible endpoint (`ai.chat.*`). Each question requests a stream, within one deadline for all its attempts; a busy
//! endpoint gets another attempt.
//!
//! It is a configured service, so it may be on this machine. Redirects are not followed, because the request contains the
//! key. Responses are bounded in bytes and never logged.

mod prompt;
mod stream;

use std::time::Duration;

use concurrency::{CallOutcome, CircuitBreaker, CircuitRules};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, InvalidHeaderValue};
use reqwest::{Client, Response};
use serde_json::Number;
use text::chunk;
use tokio::time::{Instant, sleep_until, timeout_at};
use web::WallClock;
use zeroize::Zeroizing;

use super::{AnswerError, Answerer, Draft, DraftAnswer, Question};
use stream::{Completion, CompletionReader};

/// Time from the question to the last byte, including retries. Together with the search before it, it is less than the minute
/// after which a claim of an Idempotency-Key without a heartbeat counts as crashed.
const DEADLINE: Duration = Duration::from_secs(45);
/// Time for name resolution, connection and TLS together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Attempts of one question, the first included.
const MAX_ATTEMPTS: u32 = 3;
/// Delay before the second attempt if the endpoint sends no `Retry-After`. It doubles with each further attempt.
const FIRST_DELAY: Duration = Duration::from_millis(400);
/// Bytes of a response. A stream has some 200 bytes around each token.
const MAX_RESPONSE_BYTES: usize = 4 * 1024 * 1024;
/// The largest plausible `usage.total_tokens`: several times the context of any model.
const MAX_TOTAL_TOKENS: u64 = 10_000_000;
/// When the endpoint is not asked for a while: three questions in a row failed, each after several seconds.
const CIRCUIT: CircuitRules = CircuitRules {
    failures_to_open: 3,
    timeouts_to_open: 3,
    min_failure_time: Duration::from_secs(5),
    open_period: Duration::from_secs(30),
    max_open_period: Duration::from_secs(30),
    trial_time: DEADLINE,
};

/// The settings of the endpoint.
#[derive(Clone)]
pub struct ChatSettings {
    /// `ai.chat.url`: the base URL, to which `/chat/completions` is appended.
    pub url: String,
    /// `ai.chat.model`: the name that each request sends.
    pub model: String,
    /// `ai.chat.key`, sent as a bearer token.
    pub key: Option<Zeroizing<String>>,
}

/// Why the client of the endpoint cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum ChatSetupError {
    /// The HTTP client cannot be created.
    #[error("could not create the HTTP client of the model")]
    Client(#[from] reqwest::Error),
    /// The key has characters that a header must not have.
    #[error("the setting ai.chat.key has characters that an HTTP header must not have")]
    Key(#[from] InvalidHeaderValue),
}

/// Answers with an OpenAI-compatible endpoint.
pub struct Chat {
    client: Client,
    url: String,
    model: String,
    headers: HeaderMap,
    clock: WallClock,
    circuit: CircuitBreaker,
}

impl Chat {
    /// Creates the client of an endpoint. It sends no request yet.
    ///
    /// # Errors
    /// [`ChatSetupError`] when the key or the TLS configuration is invalid.
    pub fn new(settings: ChatSettings, clock: WallClock) -> Result<Self, ChatSetupError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        if let Some(key) = &settings.key {
            let mut bearer = HeaderValue::from_str(&format!("Bearer {}", key.as_str()))?;
            // Keeps the key out of `Debug` output of the headers.
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        Ok(Self {
            // Not the guarded fetcher: the operator may run the model on this machine or in a private network.
            // No timeout for the whole response here: the deadline of the question covers all attempts together.
            client: web::service_client().connect_timeout(CONNECT_TIMEOUT).build()?,
            url: format!("{}/chat/completions", settings.url.trim_end_matches('/')),
            model: settings.model,
            headers,
            clock,
            circuit: CircuitBreaker::new(CIRCUIT),
        })
    }

    async fn ask(&self, question: &Question, deadline: Instant) -> Result<Draft, AnswerError> {
        let body = prompt::body(&self.model, question);
        let mut attempts = 0;
        loop {
            attempts += 1;
            let failed = match timeout_at(deadline, self.request(&body)).await {
                Ok(Ok(completion)) => return self.draft(completion, &body),
                Ok(Err(failed)) => failed,
                Err(_) => return Err(AnswerError::Timeout),
            };
            let next_attempt = Instant::now() + failed.delay(attempts);
            // A delay beyond the deadline is not waited for: the answer would come too late in any case.
            if attempts == MAX_ATTEMPTS || !failed.is_transient || next_attempt >= deadline {
                return Err(failed.error);
            }
            sleep_until(next_attempt).await;
        }
    }

    async fn request(&self, body: &str) -> Result<Completion, AttemptError> {
        let request = self.client.post(&self.url).headers(self.headers.clone()).body(body.to_owned());
        let response = request.send().await.map_err(AttemptError::from_transport)?;
        let status = response.status().as_u16();
        if status != 200 {
            return Err(AttemptError {
                error: AnswerError::Refused(status),
                // Others, such as 401 and 404, are faults of the settings, which a retry does not change.
                is_transient: matches!(status, 408 | 409 | 425 | 429 | 500..=599),
                retry_after: web::retry_after(response.headers(), (self.clock)()),
            });
        }
        read_completion(response).await
    }

    fn draft(&self, completion: Completion, body: &str) -> Result<Draft, AnswerError> {
        let Completion { text, model, tokens } = completion;
        let tokens = match tokens {
            Some(reported) => checked_tokens(&reported)?,
            // An endpoint that reports no usage is charged an estimate, so that it is not free.
            None => u64::try_from(chunk::estimate(body) + chunk::estimate(&text)).unwrap_or(0),
        };
        let model = model.unwrap_or_else(|| self.model.clone());
        Ok(Draft { answer: DraftAnswer::Written(text), model, tokens })
    }
}

/// Returns the tokens of an answer, as its endpoint reports them.
///
/// # Errors
/// [`AnswerError::InvalidResponse`] for a number that no model can use.
fn checked_tokens(reported: &Number) -> Result<u64, AnswerError> {
    // An impossible number would use up a user's monthly allowance, or the daily allowance of all users. The answer is not
    // requested again, because the retry would be charged too.
    let tokens = reported.as_u64().filter(|tokens| *tokens <= MAX_TOTAL_TOKENS);
    tokens.ok_or(AnswerError::InvalidResponse("its usage.total_tokens is not between 0 and 10 million"))
}

impl Answerer for Chat {
    fn model(&self) -> &str {
        &self.model
    }

    fn answer(&self, question: Question) -> BoxFuture<'_, Result<Draft, AnswerError>> {
        async move {
            let asked = Instant::now();
            if !self.circuit.admits(asked) {
                return Err(AnswerError::Suspended);
            }
            let answer = self.ask(&question, asked + DEADLINE).await;
            // The whole question counts, with its retries: what the circuit breaker saves is the wait of a caller.
            self.circuit.record(CallOutcome::of_answer(answer.is_ok()), asked, Instant::now());
            answer
        }
        .boxed()
    }
}

async fn read_completion(mut response: Response) -> Result<Completion, AttemptError> {
    // Some endpoints ignore `stream` and send one object.
    let media_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_one_object = media_type.is_some_and(|media_type| media_type.starts_with("application/json"));
    let mut reader = CompletionReader::new(is_one_object);
    let mut bytes = 0;
    while let Some(piece) = response.chunk().await.map_err(AttemptError::from_transport)? {
        bytes += piece.len();
        if bytes > MAX_RESPONSE_BYTES {
            let error = AnswerError::InvalidResponse("it is too long");
            return Err(AttemptError { error, is_transient: false, retry_after: None });
        }
        if reader.push(&piece).map_err(AttemptError::from_response)? {
            break;
        }
    }
    reader.finish().map_err(AttemptError::from_response)
}

struct AttemptError {
    error: AnswerError,
    /// Whether another attempt may succeed.
    is_transient: bool,
    /// The delay that the endpoint asked for.
    retry_after: Option<Duration>,
}

impl AttemptError {
    fn from_transport(error: reqwest::Error) -> Self {
        // The URL may contain a secret of the operator.
        let error = AnswerError::Unreachable(Box::new(error.without_url()));
        Self { error, is_transient: true, retry_after: None }
    }

    fn from_response(reason: &'static str) -> Self {
        Self { error: AnswerError::InvalidResponse(reason), is_transient: true, retry_after: None }
    }

    /// The delay before the next attempt: what the endpoint asked for, else one that doubles.
    fn delay(&self, attempts: u32) -> Duration {
        self.retry_after.unwrap_or(FIRST_DELAY * 2u32.pow(attempts.saturating_sub(1).min(8)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn total_tokens_beyond_any_model_are_refused() {
        let checked = |json: &str| checked_tokens(&serde_json::from_str(json).unwrap()).ok();

        assert_eq!(checked("0"), Some(0));
        assert_eq!(checked("10000000"), Some(MAX_TOTAL_TOKENS));
        for absurd in ["-1", "10000001", "9223372036854775808", "18446744073709551616", "1e300", "0.5"] {
            assert_eq!(checked(absurd), None, "{absurd}");
        }
    }
}
