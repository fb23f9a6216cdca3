//! The health of an actor, as /readyz and /metrics show it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Counters that an actor's supervisor and its port keep. Clones share them.
#[derive(Clone, Debug)]
pub struct Health {
    /// The actor's name.
    pub name: &'static str,
    pub(super) up: Arc<AtomicBool>,
    pub(super) starts: Arc<AtomicU64>,
    pub(super) refused: Arc<AtomicU64>,
    pub(super) given_up: Arc<AtomicBool>,
}

/// The health of one actor at one moment.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct HealthReport {
    /// The actor's name.
    pub name: &'static str,
    /// Whether it runs.
    pub up: bool,
    /// Number of restarts.
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

    /// Returns the health now.
    pub fn report(&self) -> HealthReport {
        HealthReport {
            name: self.name,
            up: self.up.load(Ordering::Relaxed) && !self.given_up.load(Ordering::Relaxed),
            restarts: self.starts.load(Ordering::Relaxed).saturating_sub(1),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }
}
