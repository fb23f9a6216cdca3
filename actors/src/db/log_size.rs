//! The size of SQLite's write-ahead log. A reader that stays open keeps it from being folded into the database, and then it grows
//! with every write.

use std::path::PathBuf;
use std::time::Duration;

use tracing::{info, warn};

use super::Db;
use super::integrity::size_of;

/// How often the log is measured.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// SQLite folds the log in from 4 MB on, and `journal_size_limit` cuts it to 64 MiB: beyond this something keeps it from both.
const MAX_USUAL_BYTES: u64 = 256 << 20;

impl Db {
    /// Measures the log until it is aborted (`carrel_database_log_bytes`), and says when it becomes unusually large. PostgreSQL has
    /// none of ours.
    pub async fn watch_log(&self) {
        let database = match self.file().await {
            Ok(Some(database)) => database,
            Ok(None) => return,
            Err(error) => return warn!(%error, "could not find the write-ahead log of the database"),
        };
        let log = PathBuf::from(format!("{}-wal", database.display()));
        let mut was_large = false;
        loop {
            let bytes = size_of(&log);
            metrics::gauge!("carrel_database_log_bytes").set(bytes as f64);
            let is_large = bytes > MAX_USUAL_BYTES;
            match (was_large, is_large) {
                (false, true) => warn!(
                    bytes,
                    "the write-ahead log of the database grows: a reader that does not end keeps it from being folded in"
                ),
                (true, false) => info!(bytes, "the write-ahead log of the database was folded in"),
                (false, false) | (true, true) => {}
            }
            was_large = is_large;
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    }
}
