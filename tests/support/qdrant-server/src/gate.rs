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
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self { key: None, version: "1.19.0".to_owned() }
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
    /// How many requests of each name were received.
    requests: HashMap<&'static str, usize>,
}

impl Gate {
    pub fn new(options: ServerOptions) -> Self {
        Self { options, is_hanging: watch::Sender::new(false), state: Mutex::default() }
    }

    pub fn version(&self) -> String {
        self.options.version.clone()
    }

    pub fn hang(&self, is_hanging: bool) {
        self.is_hanging.send_replace(is_hanging);
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
        *self.state().requests.entry(name).or_default() += 1;
        let mut is_hanging = self.is_hanging.subscribe();
        // The sender lives as long as the gate.
        drop(is_hanging.wait_for(|is_hanging| !is_hanging).await);
        if self.options.key.is_some() && self.options.key != key {
            return Err(Status::unauthenticated("Invalid API key or JWT"));
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
