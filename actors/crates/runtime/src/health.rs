//! How an actor is doing: what /readyz and /metrics say of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shared between an actor's keeper and its port.
#[derive(Clone, Debug)]
pub struct Health {
    /// The actor's name.
    pub name: &'static str,
    pub(super) up: Arc<AtomicBool>,
    pub(super) starts: Arc<AtomicU64>,
    pub(super) refused: Arc<AtomicU64>,
    pub(super) given_up: Arc<AtomicBool>,
}

/// One actor's state at one moment.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    /// The actor's name.
    pub name: &'static str,
    /// It is there and answers.
    pub up: bool,
    /// How often it was started anew.
    pub restarts: u64,
    /// How often somebody was told that it is busy.
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

    /// The state now.
    pub fn report(&self) -> Report {
        Report {
            name: self.name,
            up: self.up.load(Ordering::Relaxed) && !self.given_up.load(Ordering::Relaxed),
            restarts: self.starts.load(Ordering::Relaxed).saturating_sub(1),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }
}
