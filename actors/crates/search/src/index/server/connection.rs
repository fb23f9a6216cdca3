//! The connection to a Qdrant server. A request blocks the thread that sends it. The connection runs on a separate thread, because the
//! main thread runs the actors, and a request must not wait for them.

use std::fmt;
use std::future::Future;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use concurrency::{CallOutcome, CircuitBreaker, CircuitRules, OutboundRuntime};
use qdrant_client::config::QdrantConfig;
use qdrant_client::{Qdrant, QdrantError};
use tokio::time::{Instant, timeout};
use tracing::{info, warn};

use super::call_error::CallError;
use crate::index::index_error::IndexError;

/// Time within which a write of a few hundred passages ends.
pub const WRITE_DEADLINE: Duration = Duration::from_secs(30);
/// Time within which a read of the comparison with the database ends: a page of passages, or a count.
pub const READ_DEADLINE: Duration = Duration::from_secs(10);
/// Time within which a request ends that only asks whether the server answers.
pub const PROBE_DEADLINE: Duration = Duration::from_secs(2);
/// Time for the connection and TLS.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Connections that requests share in turn.
const CONNECTIONS: usize = 3;
/// The port of gRPC, for a URL without one.
const DEFAULT_PORT: u16 = 6334;

/// When the server is not asked for a while. Every failure counts: a refused connection fails at once, but so will the next. The trials
/// are those of the repair, which asks every few seconds, so few users wait for one.
const CIRCUIT: CircuitRules = CircuitRules {
    failures_to_open: 3,
    // A server that hangs costs two requests their whole deadline.
    timeouts_to_open: 2,
    min_failure_time: Duration::ZERO,
    open_period: Duration::from_secs(2),
    max_open_period: Duration::from_secs(30),
    trial_time: READ_DEADLINE,
};

/// The connection to a server.
pub struct ServerConnection {
    config: QdrantConfig,
    client: RwLock<Qdrant>,
    circuit: CircuitBreaker,
    runtime: OutboundRuntime,
}

impl ServerConnection {
    /// Prepares the connection to a server. It sends no request yet.
    ///
    /// # Errors
    /// [`IndexError::Open`] when the URL is not valid, or no thread can be started.
    pub fn new(url: &str, key: Option<&str>) -> Result<Self, IndexError> {
        // Without its own check of the version, which blocks and prints to stdout. The deadline of the client bounds what `call` gives up.
        let mut config = QdrantConfig::from_url(&with_port(url)).skip_compatibility_check();
        config.api_key = key.map(str::to_owned);
        config.timeout = WRITE_DEADLINE;
        config.connect_timeout = CONNECT_TIMEOUT;
        config.pool_size = CONNECTIONS;
        let client = connect(&config).map_err(|error| IndexError::Open(Box::new(error)))?;
        let runtime = OutboundRuntime::start("qdrant").map_err(|error| IndexError::Open(Box::new(error)))?;
        Ok(Self { config, client: RwLock::new(client), circuit: CircuitBreaker::new(CIRCUIT), runtime })
    }

    /// Sends a request and waits for its answer, at most `deadline`. Must not be called on a thread that runs futures.
    ///
    /// # Errors
    /// [`CallError::Suspended`] while the server is not asked because earlier requests failed; the failure of the request otherwise.
    pub fn call<T, F>(&self, deadline: Duration, request: impl FnOnce(Qdrant) -> F) -> Result<T, CallError>
    where
        F: Future<Output = Result<T, QdrantError>>,
    {
        let asked = Instant::now();
        if !self.circuit.admits(asked) {
            return Err(CallError::Suspended(self.wait()));
        }
        let client = self.client.read().unwrap_or_else(PoisonError::into_inner).clone();
        // The client sends a request again that its own deadline ended, so the outer deadline is the one that holds.
        let answer = self.runtime.block_on(async { timeout(deadline, request(client)).await });
        let answer = match answer {
            Ok(answer) => answer.map_err(CallError::from),
            Err(_elapsed) => Err(CallError::Timeout(deadline)),
        };
        self.note_answer(asked, answer.as_ref().err());
        self.measure(asked, answer.as_ref().err());
        answer
    }

    /// Returns how long the server is not asked. Zero if it is asked now.
    pub fn wait(&self) -> Duration {
        self.circuit.wait(Instant::now())
    }

    fn note_answer(&self, asked: Instant, error: Option<&CallError>) {
        let error = error.filter(|error| error.is_fault_of_server());
        let was_suspended = !self.wait().is_zero();
        let outcome = error.map_or(CallOutcome::Answered, CallError::outcome);
        let has_opened = self.circuit.record(outcome, asked, Instant::now());
        match error {
            Some(error) if has_opened => {
                warn!(%error, "the Qdrant server fails; requests wait, and it is tried again every few seconds");
                self.reconnect();
            }
            None if was_suspended => info!("the Qdrant server answers again"),
            Some(_) | None => {}
        }
    }

    fn measure(&self, asked: Instant, error: Option<&CallError>) {
        metrics::histogram!("carrel_index_server_request_seconds").record(asked.elapsed().as_secs_f64());
        if let Some(error) = error {
            metrics::counter!("carrel_index_server_failures_total", "fault" => error.label()).increment(1);
        }
        let is_suspended = !self.wait().is_zero();
        metrics::gauge!("carrel_index_server_suspended").set(if is_suspended { 1.0 } else { 0.0 });
    }

    /// Replaces the connections: a connection whose peer disappeared without closing it counts as connected for minutes.
    fn reconnect(&self) {
        if let Ok(client) = connect(&self.config) {
            *self.client.write().unwrap_or_else(PoisonError::into_inner) = client;
        }
    }
}

impl fmt::Debug for ServerConnection {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerConnection").field("uri", &self.config.uri).finish_non_exhaustive()
    }
}

/// Creates a client, which connects at its first request.
fn connect(config: &QdrantConfig) -> Result<Qdrant, CallError> {
    Qdrant::new(config.clone()).map_err(CallError::from)
}

/// Returns the URL with the port of gRPC if it has none.
fn with_port(url: &str) -> String {
    let url = url.trim_end_matches('/');
    let host = url.split_once("://").map_or(url, |(_, host)| host);
    // The colons of an IPv6 address are within brackets.
    let after_address = host.rsplit_once(']').map_or(host, |(_, rest)| rest);
    if after_address.contains(':') { url.to_owned() } else { format!("{url}:{DEFAULT_PORT}") }
}

#[cfg(test)]
mod tests {
    use test_qdrant::TestQdrant;

    use super::*;

    const DEADLINE: Duration = Duration::from_millis(300);

    fn ask(connection: &ServerConnection) -> Result<String, CallError> {
        let listed = connection.call(DEADLINE, |client| async move { client.list_collections().await });
        listed.map(|listed| format!("{} collections", listed.collections.len()))
    }

    #[test]
    fn url_without_a_port_gets_the_one_of_grpc() {
        for (url, with) in [
            ("http://qdrant", "http://qdrant:6334"),
            ("https://qdrant.example/", "https://qdrant.example:6334"),
            ("http://127.0.0.1:7000", "http://127.0.0.1:7000"),
            ("http://[::1]", "http://[::1]:6334"),
            ("http://[::1]:7000", "http://[::1]:7000"),
        ] {
            assert_eq!(with_port(url), with);
        }
    }

    #[test]
    fn server_that_fails_three_times_is_left_alone() {
        let server = TestQdrant::start().unwrap();
        let connection = ServerConnection::new(&server.url(), None).unwrap();
        server.fail(8, 3);

        let errors = [1, 2, 3, 4].map(|_| ask(&connection).unwrap_err());

        assert!(matches!(
            errors,
            [
                CallError::Refused { code: 8, .. },
                CallError::Refused { code: 8, .. },
                CallError::Refused { code: 8, .. },
                CallError::Suspended(_)
            ]
        ));
        assert_eq!(server.requests("list_collections"), 3);
        assert!(connection.wait() > Duration::ZERO);
    }

    #[test]
    fn server_that_hangs_is_left_after_the_deadline() {
        let server = TestQdrant::start().unwrap();
        let connection = ServerConnection::new(&server.url(), None).unwrap();
        server.hang(true);

        assert_eq!(ask(&connection), Err(CallError::Timeout(DEADLINE)));

        server.hang(false);
        assert_eq!(ask(&connection), Ok("0 collections".to_owned()));
    }

    #[test]
    fn server_that_hangs_costs_two_deadlines() {
        let server = TestQdrant::start().unwrap();
        let connection = ServerConnection::new(&server.url(), None).unwrap();
        server.hang(true);

        let errors = [1, 2, 3].map(|_| ask(&connection).unwrap_err());

        let timeout = CallError::Timeout(DEADLINE);
        assert!(errors[0] == timeout && errors[1] == timeout, "{errors:?}");
        assert!(matches!(errors[2], CallError::Suspended(_)), "{errors:?}");
    }

    #[test]
    fn refused_requests_do_not_suspend_the_server() {
        let server = TestQdrant::start().unwrap();
        let connection = ServerConnection::new(&server.url(), None).unwrap();
        server.fail(3, 5);

        assert!([1, 2, 3, 4, 5].map(|_| ask(&connection)).iter().all(Result::is_err));

        assert_eq!(ask(&connection), Ok("0 collections".to_owned()));
    }

    #[test]
    fn key_is_never_formatted() {
        let connection = ServerConnection::new("http://127.0.0.1:1", Some("a-secret")).unwrap();

        assert!(!format!("{connection:?}").contains("a-secret"));
    }
}
