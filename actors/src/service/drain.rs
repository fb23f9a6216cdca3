//! The end of the service: buffered data is written, the index and the database are closed.

use std::time::Duration;

use database::Db;
use tracing::{info, warn};

use super::Service;
use crate::ingest::repair;

/// How long each part has to finish.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(8);

impl Service {
    /// Puts the running jobs back and claims no more.
    pub async fn stop_worker(&self) {
        self.worker.stop().await;
    }

    /// Ends the service: writes buffered data and closes the index and the database. The worker and the HTTP servers have stopped
    /// before.
    pub async fn drain(&self) {
        let ctx = &self.context;
        await_part("ingest", self.worker.port().drain()).await;
        await_part("retrieval", ctx.retrieval.port().drain()).await;
        await_part("index", repair::close_index(&self.repair)).await;
        for (name, flushed) in [
            ("limits", ctx.limits.flush().await),
            ("keys", ctx.keys.flush().await),
            ("grants", ctx.grants.flush().await),
            ("activity", ctx.activity.flush().await),
        ] {
            if let Err(error) = flushed {
                warn!(actor = name, cause = error.chain(), "could not write buffered data");
            }
        }
        ctx.notices.flush().await;
        await_part("limits", ctx.limits.port().drain()).await;
        await_part("keys", ctx.keys.port().drain()).await;
        await_part("grants", ctx.grants.port().drain()).await;
        await_part("activity", ctx.activity.port().drain()).await;
        await_part("notices", ctx.notices.port().drain()).await;
        // Before the arbiters stop: a connection that is given back to a pool needs the runtime that it was taken in.
        await_part("database", close_database(ctx.core.db.clone())).await;
        for arbiter in &self.arbiters {
            arbiter.stop();
        }
        info!("stopped");
    }
}

async fn await_part(part: &'static str, drained: impl Future<Output = ()>) {
    if tokio::time::timeout(DRAIN_TIMEOUT, drained).await.is_err() {
        warn!(part, "a part of the service did not finish in time");
    }
}

/// Closes every connection. A statement that outlasts [`DRAIN_TIMEOUT`] ends with the process; the next start reads the write-ahead
/// log.
async fn close_database(db: Db) {
    if let Err(error) = db.close().await {
        warn!(%error, "could not close the database");
    }
}
