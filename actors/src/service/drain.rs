//! The end of the server: buffered data is written, the index and the database are closed, all by a deadline.

use std::time::{Duration, Instant};

use database::Db;
use errors::Error;
use futures_util::future::{join3, join4};
use tracing::{info, warn};

use super::Service;
use crate::ingest::repair;
use crate::service_state::{self, ServiceStateKey};

/// Time that each part has to finish, if the deadline leaves as much.
const PART_TIMEOUT: Duration = Duration::from_secs(8);
/// Time before the deadline that is reserved for closing the database.
const CLOSE_TIME: Duration = Duration::from_secs(3);

impl Service {
    /// Puts the running jobs back and claims no more. Takes 8 seconds at most.
    pub async fn stop_worker(&self) {
        self.worker.stop().await;
    }

    /// Ends the server by the deadline: writes buffered data and closes the index and the database. The worker and the HTTP servers
    /// must have stopped before. A part that does not finish in time is given up, such as a write while another process holds the
    /// lock of the database.
    pub async fn drain(&self, deadline: Instant) {
        let (auth, requests) = (&self.context.auth, &self.context.requests);
        let parts_end = deadline.checked_sub(CLOSE_TIME).unwrap_or(deadline);
        // At the same time: each of them may wait as long as the others for the same lock.
        let test_row = await_part("test row", parts_end, self.remove_test_row());
        join3(self.close_index(parts_end), self.flush_buffers(parts_end), test_row).await;
        // Ports are closed after the flush, which needs them.
        await_part("limits", parts_end, auth.limits.port().drain()).await;
        await_part("keys", parts_end, auth.keys.port().drain()).await;
        await_part("grants", parts_end, auth.grants.port().drain()).await;
        await_part("activity", parts_end, requests.activity.port().drain()).await;
        await_part("notices", parts_end, self.notices.port().drain()).await;
        // Before the arbiters stop: a connection that is given back to a pool needs the runtime that it was taken in.
        await_part("database", deadline, close_database(self.context.core.db.clone())).await;
        for arbiter in &self.arbiters {
            arbiter.stop();
        }
        info!("stopped");
    }

    async fn close_index(&self, until: Instant) {
        // From the top: the worker's tasks use retrieval, whose changes must end before the index is closed.
        await_part("ingest", until, self.worker.port().drain()).await;
        await_part("retrieval", until, self.context.retrieval.port().drain()).await;
        await_part("index", until, repair::close_index(&self.repair)).await;
    }

    /// Removes the row of this process's test writes.
    async fn remove_test_row(&self) {
        // Otherwise a container that gets a new data folder at each start would leave a row per start.
        let key = ServiceStateKey::RoundTrip(self.process);
        if let Err(error) = service_state::forget(self.context.core.db.write(), key).await {
            warn!(%error, "could not remove the row of the test writes");
        }
    }

    async fn flush_buffers(&self, until: Instant) {
        let (auth, requests) = (&self.context.auth, &self.context.requests);
        let keys_and_notices = async {
            flush_buffer("keys", until, auth.keys.flush()).await;
            // After the keys, whose first uses are notices.
            await_part("notices", until, self.notices.flush()).await;
        };
        join4(
            flush_buffer("limits", until, auth.limits.flush()),
            flush_buffer("grants", until, auth.grants.flush()),
            flush_buffer("activity", until, requests.activity.flush()),
            keys_and_notices,
        )
        .await;
    }
}

async fn flush_buffer(part: &'static str, until: Instant, flushed: impl Future<Output = Result<(), Error>>) {
    let flushed = async {
        if let Err(error) = flushed.await {
            warn!(actor = part, cause = error.chain(), "could not write buffered data");
        }
    };
    await_part(part, until, flushed).await;
}

/// Waits for a part to finish, at most [`PART_TIMEOUT`] and not beyond `until`.
async fn await_part(part: &'static str, until: Instant, finished: impl Future<Output = ()>) {
    let time = until.saturating_duration_since(Instant::now()).min(PART_TIMEOUT);
    if tokio::time::timeout(time, finished).await.is_err() {
        warn!(part, "a part of the server did not finish in time");
    }
}

/// Closes every connection. A statement that outlasts its time ends with the process; the next start reads the write-ahead log.
async fn close_database(db: Db) {
    if let Err(error) = db.close().await {
        warn!(%error, "could not close the database");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix::test]
    async fn part_without_time_left_is_given_up_at_once() {
        let began = Instant::now();

        await_part("index", began, std::future::pending()).await;

        assert!(began.elapsed() < PART_TIMEOUT);
    }
}
