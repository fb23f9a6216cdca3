//! What every request passes before it is served: the key, and the faults that a test asks for.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

/// How a server presents itself.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The key that every request must have as `api-key`; `None` if none is needed.
    pub key: Option<String>,
    /// The version that the server reports.
    pub version: String,
    /// Whether it is reached by https, with the certificate of [`TestQdrant::ca_file`](super::TestQdrant::ca_file).
    pub has_tls: bool,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self { key: None, version: "1.19.0".to_owned(), has_tls: false }
    }
}

/// The faults of a server, and the requests that it received.
pub struct Gate {
    options: ServerOptions,
    /// Requests wait while it is true.
    is_hanging: watch::Sender<bool>,
    state: Mutex<GateState>,
}

#[derive(Default)]
struct GateState {
    /// The code with which the next requests fail, and how many of them.
    failures: Option<(Code, usize)>,
    /// The method from whose next request on the server hangs.
    hangs_at: Option<&'static str>,
    /// The method whose requests are refused.
    refused: Option<&'static str>,
    /// How many requests of each name were received.
    requests: HashMap<&'static str, usize>,
}

impl GateState {
    /// Counts a request. Returns whether the server hangs from it on, and whether it is refused.
    fn receive(&mut self, name: &'static str) -> (bool, bool) {
        *self.requests.entry(name).or_default() += 1;
        let hangs_now = self.hangs_at.take_if(|method| *method == name).is_some();
        (hangs_now, self.refused == Some(name))
    }
}

impl Gate {
    pub fn new(options: ServerOptions) -> Self {
        Self { options, is_hanging: watch::Sender::new(false), state: Mutex::default() }
    }

    pub fn version(&self) -> String {
        self.options.version.clone()
    }

    pub fn has_tls(&self) -> bool {
        self.options.has_tls
    }

    pub fn hang(&self, is_hanging: bool) {
        self.is_hanging.send_replace(is_hanging);
    }

    pub fn hang_at(&self, method: &'static str) {
        self.state().hangs_at = Some(method);
    }

    pub fn refuse(&self, method: Option<&'static str>) {
        self.state().refused = method;
    }

    pub fn fail(&self, code: Code, requests: usize) {
        self.state().failures = Some((code, requests));
    }

    pub fn requests(&self, name: &str) -> usize {
        self.state().requests.get(name).copied().unwrap_or(0)
    }

    /// Returns the key that a request has.
    pub fn key_of(metadata: &MetadataMap) -> Option<String> {
        metadata.get("api-key").and_then(|key| key.to_str().ok()).map(str::to_owned)
    }

    /// Waits while the server hangs. Fails if a test asked for it, or the key is wrong.
    pub async fn pass(&self, name: &'static str, key: Option<String>) -> Result<(), Status> {
        let (hangs_now, is_refused) = self.state().receive(name);
        if hangs_now {
            self.hang(true);
        }
        let mut is_hanging = self.is_hanging.subscribe();
        // The sender lives as long as the gate.
        drop(is_hanging.wait_for(|is_hanging| !is_hanging).await);
        if self.options.key.is_some() && self.options.key != key {
            return Err(Status::unauthenticated("Invalid API key or JWT"));
        }
        if is_refused {
            return Err(Status::invalid_argument("a test asked for this refusal"));
        }
        self.take_failure()
    }

    fn take_failure(&self) -> Result<(), Status> {
        let mut state = self.state();
        match state.failures.take() {
            Some((code, requests)) if requests > 0 => {
                state.failures = Some((code, requests - 1));
                Err(Status::new(code, "a test asked for this failure"))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
