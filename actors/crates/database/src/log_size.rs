//! The size of SQLite's write-ahead log. A read transaction that stays open blocks checkpoints, and then the log grows with every
//! write.

use std::time::Duration;

use tracing::{info, warn};

use super::db::Db;
use super::file_names::{LOG_SUFFIX, with_suffix};
use super::integrity::size_of;

/// Interval between measurements of the log.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// SQLite checkpoints the log from 4 MB on, and `journal_size_limit` truncates it to 64 MiB: above this size something blocks both.
const MAX_USUAL_BYTES: u64 = 256 << 20;

impl Db {
    /// Measures the log (`carrel_database_log_bytes`) and logs a warning when it becomes unusually large. Runs until it is aborted.
    /// Returns immediately on PostgreSQL.
    pub async fn watch_log(&self) {
        let database = match self.file().await {
            Ok(Some(database)) => database,
            Ok(None) => return,
            Err(error) => return warn!(%error, "could not measure the write-ahead log of the database"),
        };
        let log = with_suffix(&database, LOG_SUFFIX);
        let mut was_large = false;
        loop {
            let bytes = size_of(&log);
            metrics::gauge!("carrel_database_log_bytes").set(bytes as f64);
            let is_large = bytes > MAX_USUAL_BYTES;
            match (was_large, is_large) {
                (false, true) => warn!(
                    bytes,
                    "the write-ahead log of the database is growing: a read transaction that stays open blocks checkpoints"
                ),
                (true, false) => info!(bytes, "the write-ahead log of the database was checkpointed"),
                (false, false) | (true, true) => {}
            }
            was_large = is_large;
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    }
}
