//! The store of responses and claims.

use std::sync::Arc;
use std::time::Duration;

use database::Db;
use library::clock::Clock;

use super::bounds::StoredResponseBounds;
use super::row_state::CLAIM_TIMEOUT;

/// The stored responses, and the claims of requests in progress. Clones are cheap.
#[derive(Clone)]
pub struct Idempotency {
    pub(super) db: Db,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) heartbeat_interval: Duration,
    pub(super) bounds: StoredResponseBounds,
}

impl Idempotency {
    /// Stores responses in this database.
    pub fn new(db: Db, clock: Arc<dyn Clock>) -> Self {
        Self { db, clock, heartbeat_interval: CLAIM_TIMEOUT / 3, bounds: StoredResponseBounds::default() }
    }

    /// Replaces the bounds of stored responses.
    #[must_use]
    pub fn with_bounds(self, bounds: StoredResponseBounds) -> Self {
        Self { bounds, ..self }
    }

    /// Sets the interval of the heartbeats of running requests.
    #[must_use]
    pub fn with_heartbeat_interval(self, heartbeat_interval: Duration) -> Self {
        Self { heartbeat_interval, ..self }
    }
}
