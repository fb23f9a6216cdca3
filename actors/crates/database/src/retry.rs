//! Attempts to open a file that another process holds.

use std::time::{Duration, Instant};

use sea_orm::DbErr;

use super::fault::DatabaseFault;

/// Maximum wait at the start for another process that creates the file or migrates its tables.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Interval between attempts to open a file that another process holds.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Retries until no other process holds the file. When two processes turn the write-ahead log on at the same time, SQLite fails one of
/// them at once, whatever its busy timeout.
pub(super) async fn retry_while_locked<T>(attempt: impl AsyncFn() -> Result<T, DbErr>) -> Result<T, DbErr> {
    let started_at = Instant::now();
    loop {
        match attempt().await {
            Err(error)
                if DatabaseFault::of(&error) == DatabaseFault::Locked
                    && started_at.elapsed() < START_TIMEOUT =>
            {
                tokio::time::sleep(RETRY_INTERVAL).await
            }
            done => return done,
        }
    }
}
