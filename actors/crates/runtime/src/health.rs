//! The health of an actor, as /readyz and /metrics show it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Counters that an actor's supervisor and its port keep. Clones share them.
#[derive(Clone, Debug)]
pub struct Health {
    /// The name of the actor ([`SupervisorConfig::name`](crate::SupervisorConfig::name)).
    pub name: &'static str,
    pub(super) up: Arc<AtomicBool>,
    pub(super) starts: Arc<AtomicU64>,
    pub(super) refused: Arc<AtomicU64>,
    pub(super) given_up: Arc<AtomicBool>,
}

/// The health of one actor at one moment.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct HealthReport {
    /// The name of the actor ([`SupervisorConfig::name`](crate::SupervisorConfig::name)).
    pub name: &'static str,
    /// Whether it runs now. It does not between a crash and the restart, nor after it was left down.
    pub up: bool,
    /// Number of restarts since the start of the server.
    pub restarts: u64,
    /// Number of messages refused because it was busy or not running.
    pub refused: u64,
}

impl Health {
    pub(super) fn new(name: &'static str) -> Self {
        Self {
            name,
            up: Arc::default(),
            starts: Arc::default(),
            refused: Arc::default(),
            given_up: Arc::default(),
        }
    }

    /// Returns the counters as they are now. They are read one after the other, so a restart may come between them.
    pub fn report(&self) -> HealthReport {
        HealthReport {
            name: self.name,
            up: self.up.load(Ordering::Relaxed) && !self.given_up.load(Ordering::Relaxed),
            restarts: self.starts.load(Ordering::Relaxed).saturating_sub(1),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }
}
