//! Watching the files of an SQLite database while it is open.

use std::time::Duration;

use sea_orm::{ConnectionTrait, DatabaseBackend, DbErr, Statement};

use super::db::Db;
use super::open_files::OpenFiles;

/// Interval between comparisons while nothing is written.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

impl Db {
    /// Records the open files. Does nothing for PostgreSQL and for a database in memory.
    ///
    /// # Errors
    /// [`DbErr`] when the database cannot be read, or its file was removed meanwhile.
    pub(super) async fn note_open_files(&self) -> Result<(), DbErr> {
        let Some(database) = self.file().await? else { return Ok(()) };
        // A connection that has read holds the write-ahead log open, so that its file stays the same.
        let read = Statement::from_string(DatabaseBackend::Sqlite, "SELECT count(*) FROM sqlite_schema");
        self.read.query_one_raw(read).await?;
        let files = OpenFiles::of(&database).map_err(|cause| {
            DbErr::Custom(format!("could not inspect the file {}: {cause}", database.display()))
        })?;
        // From here on a new connection must find the file that is open now.
        self.create_no_more();
        self.health.note_files(files);
        Ok(())
    }

    /// Makes later connections fail if the file is missing, rather than create an empty one.
    fn create_no_more(&self) {
        for connection in [&self.read, &self.write] {
            let pool = connection.pool.get_sqlite_connection_pool();
            let options = (*pool.connect_options()).clone();
            pool.set_connect_options(options.create_if_missing(false));
        }
    }

    /// Compares the files with those at their paths, also while nothing is written, and keeps what they hold when they are not there.
    /// Runs until it is aborted; returns immediately on PostgreSQL.
    pub async fn watch_files(&self) {
        if !self.health.has_files() {
            return;
        }
        let mut is_settled = false;
        loop {
            if self.health.are_files_in_place() {
                is_settled = false;
            } else if !is_settled {
                is_settled = self.rescue().await;
            }
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    }
}
