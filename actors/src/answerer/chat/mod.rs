//! The OpenAI-compatible endpoint (`ai.chat.*`): asked by a stream, within one deadline, and again where it is busy.
//!
//! It is a configured service, so it may be on this machine; redirects are not followed, because the key goes along. What
//! it answers is bounded in bytes, and none of it is logged.

mod circuit;
mod prompt;
mod retry;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, InvalidHeaderValue};
use reqwest::{Client, Response};
use serde_json::Number;
use text::chunk;
use tokio::time::{Instant, sleep_until, timeout_at};
use zeroize::Zeroizing;

use super::{Answerer, Draft, Failure, Question};
use library::clock::Clock;
use circuit::CircuitBreaker;
use stream::{Completion, Reading};

/// From the question to the last byte, retries included. With the search before it, it is shorter than the minute after
/// which an Idempotency-Key counts as died.
const DEADLINE: Duration = Duration::from_secs(45);
/// A name, a connection and TLS together.
const CONNECT: Duration = Duration::from_secs(5);
/// Times that it is asked at most.
const TRIES: u32 = 3;
/// Most bytes of an answer: a stream says each token with some 200 bytes around it.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// The largest `usage.total_tokens` that is believed: several times the context of any model.
const MAX_TOTAL_TOKENS: u64 = 10_000_000;

/// Which endpoint.
#[derive(Clone)]
pub struct ChatSettings {
    /// `ai.chat.url`: `/chat/completions` is added.
    pub url: String,
    /// `ai.chat.model`.
    pub model: String,
    /// `ai.chat.key`: sent as a bearer.
    pub key: Option<Zeroizing<String>>,
}

/// Why it cannot be asked at all.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The client cannot be made.
    #[error("could not create the HTTP client of the model")]
    Client(#[from] reqwest::Error),
    /// The key cannot stand in a header.
    #[error("the setting ai.chat.key has characters that an HTTP header must not have")]
    Key(#[from] InvalidHeaderValue),
}

/// See the file's head.
pub struct Chat {
    client: Client,
    address: String,
    model: String,
    headers: HeaderMap,
    clock: Arc<dyn Clock>,
    circuit: CircuitBreaker,
}

impl Chat {
    /// Asks nothing yet.
    ///
    /// # Errors
    /// As [`SetupError`] says.
    pub fn new(settings: ChatSettings, clock: Arc<dyn Clock>) -> Result<Self, SetupError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        if let Some(key) = &settings.key {
            let mut bearer = HeaderValue::from_str(&format!("Bearer {}", key.as_str()))?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        Ok(Self {
            client: web::service_client().connect_timeout(CONNECT).build()?,
            address: format!("{}/chat/completions", settings.url.trim_end_matches('/')),
            model: settings.model,
            headers,
            clock,
            circuit: CircuitBreaker::new(),
        })
    }

    async fn ask(&self, question: &Question, until: Instant) -> Result<Draft, Failure> {
        let body = prompt::body(&self.model, question);
        let mut tries = 0;
        loop {
            tries += 1;
            let failed = match timeout_at(until, self.once(&body)).await {
                Ok(Ok(completion)) => return self.draft(completion, &body),
                Ok(Err(failed)) => failed,
                Err(_) => return Err(Failure::Late),
            };
            let again = Instant::now() + failed.wait(tries);
            if tries == TRIES || !failed.may_pass || again >= until {
                return Err(failed.why);
            }
            sleep_until(again).await;
        }
    }

    async fn once(&self, body: &str) -> Result<Completion, Failed> {
        let request = self.client.post(&self.address).headers(self.headers.clone()).body(body.to_owned());
        let response = request.send().await.map_err(Failed::of_exchange)?;
        let status = response.status().as_u16();
        if status != 200 {
            let named = retry::after(response.headers(), self.clock.now());
            return Err(Failed {
                may_pass: matches!(status, 408 | 409 | 425 | 429 | 500..=599),
                named,
                why: Failure::Refused(status),
            });
        }
        read(response).await
    }

    fn draft(&self, completion: Completion, body: &str) -> Result<Draft, Failure> {
        let Completion { text, model, tokens } = completion;
        let tokens = match tokens {
            Some(told) => checked_tokens(&told)?,
            // An endpoint that tells no usage is not free for that.
            None => u64::try_from(chunk::estimate(body) + chunk::estimate(&text)).unwrap_or(0),
        };
        Ok(Draft { model: model.unwrap_or_else(|| self.model.clone()), text: Some(text), tokens })
    }
}

/// The tokens of an answer as its endpoint reports them. An impossible number would use up a user's monthly allowance, or the
/// daily allowance of all users; a retry would only cost more.
fn checked_tokens(reported: &Number) -> Result<u64, Failure> {
    let tokens = reported.as_u64().filter(|tokens| *tokens <= MAX_TOTAL_TOKENS);
    tokens.ok_or(Failure::Unreadable("its usage.total_tokens is not between 0 and 10 million"))
}

impl Answerer for Chat {
    fn model(&self) -> &str {
        &self.model
    }

    fn answer(&self, question: Question) -> BoxFuture<'_, Result<Draft, Failure>> {
        async move {
            let asked = Instant::now();
            if !self.circuit.admits(asked) {
                return Err(Failure::Suspended);
            }
            let answer = self.ask(&question, asked + DEADLINE).await;
            self.circuit.record(answer.is_ok(), asked, Instant::now());
            answer
        }
        .boxed()
    }
}

async fn read(mut response: Response) -> Result<Completion, Failed> {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let mut reading = Reading::of(kind.is_some_and(|kind| kind.starts_with("application/json")));
    let mut bytes = 0;
    while let Some(piece) = response.chunk().await.map_err(Failed::of_exchange)? {
        bytes += piece.len();
        if bytes > MOST_BYTES {
            return Err(Failed::for_good(Failure::Unreadable("it is too long")));
        }
        if reading.take(&piece).map_err(Failed::in_passing)? {
            break;
        }
    }
    reading.end().map_err(Failed::in_passing)
}

/// A try that failed.
struct Failed {
    why: Failure,
    /// Another try may do better.
    may_pass: bool,
    /// How long the endpoint asks to wait.
    named: Option<Duration>,
}

impl Failed {
    fn of_exchange(error: reqwest::Error) -> Self {
        // The address may hold a secret of the operator's.
        let why = Failure::Unreachable(Box::new(error.without_url()));
        Self { why, may_pass: true, named: None }
    }

    fn in_passing(why: &'static str) -> Self {
        Self { why: Failure::Unreadable(why), may_pass: true, named: None }
    }

    fn for_good(why: Failure) -> Self {
        Self { why, may_pass: false, named: None }
    }

    /// What the endpoint says, else longer each time.
    fn wait(&self, tries: u32) -> Duration {
        self.named.unwrap_or(retry::FIRST * 2u32.pow(tries.saturating_sub(1).min(8)))
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
