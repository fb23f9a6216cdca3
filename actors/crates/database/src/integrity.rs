//! Checks the file of an SQLite database for damage. PostgreSQL checks its own files.

mod check_connection;
mod log_pages;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sea_orm::{ConnectionTrait, DatabaseBackend, DbErr, QueryResult, Statement};
use sqlx::sqlite::SqliteConnectOptions;
use tracing::{error, info, warn};

use super::db::Db;
use super::file_names::{LOG_SUFFIX, with_suffix};
use super::open_error::OpenError;
pub(super) use check_connection::{CheckConnection, FULL_CHECK, QUICK_CHECK};

/// Up to which size a database is checked before the server starts on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct StartCheckBounds {
    /// Bytes of a file. A larger one is checked while the server runs.
    pub whole_bytes: u64,
    /// Bytes of a file that is shorter than its pages, as after a crash. A larger one is checked before the start only if the
    /// write-ahead log lacks some of the pages.
    pub short_bytes: u64,
}

/// The bounds of the server. A check takes about a second for every 200 MiB, so ten seconds for the largest short file.
const START_CHECK_BOUNDS: StartCheckBounds = StartCheckBounds { whole_bytes: 16 << 20, short_bytes: 2 << 30 };

/// Pause between the checks of two tables while the server runs: the write-ahead log is checkpointed meanwhile.
const PAUSE_BETWEEN_TABLES: Duration = Duration::from_millis(20);

impl Db {
    /// Checks for damage before the server starts, unless the file is too large. SQLite refuses to
    /// open a file that is shorter than its header states, unless there is a write-ahead log that may hold the rest.
    ///
    /// # Errors
    /// [`OpenError::Damaged`] when damage was found; [`OpenError::Database`] when the file cannot be read.
    pub async fn check_before_start(&self) -> Result<(), OpenError> {
        self.check_within(START_CHECK_BOUNDS).await
    }

    /// Checks the file before the start unless it is too large.
    pub(super) async fn check_within(&self, bounds: StartCheckBounds) -> Result<(), OpenError> {
        let Some(file) = self.file().await? else { return Ok(()) };
        if !self.needs_check_before_start(&file, bounds).await? {
            return Ok(());
        }
        let mut connection = CheckConnection::connect(self).await?;
        let checked = connection.check(QUICK_CHECK.to_owned()).await;
        if checked.is_err() {
            connection.keep_log();
        }
        checked
    }

    /// Checks the pages of a database that was too large to be checked before the start. Damage stops all writes. Dropping the
    /// future interrupts the check.
    pub async fn check_while_serving(&self) {
        let file = match self.file().await {
            Ok(Some(file)) if size_of(&file) > START_CHECK_BOUNDS.whole_bytes => file,
            // A smaller file was checked before the start.
            Ok(_) => return,
            Err(error) => return warn!(%error, "could not check the database for damage"),
        };
        let started = Instant::now();
        let checked = self.quick_check_by_table().await;
        if self.health.require_files().is_err() {
            // The file was replaced meanwhile, so the check read another one.
            return;
        }
        match checked {
            Ok(()) => info!(
                bytes = size_of(&file),
                duration_ms = started.elapsed().as_millis(),
                "checked the database: no damage was found"
            ),
            Err(OpenError::Damaged(damage)) => {
                error!(%damage, "the check of the database found damage");
                self.health.set_damaged();
            }
            Err(error @ (OpenError::Database(_) | OpenError::NotWritable(_))) => {
                warn!(%error, "could not check the database for damage");
            }
        }
    }

    /// Reads every page and every index entry; takes about a second for every 50 MiB.
    ///
    /// # Errors
    /// [`OpenError::Damaged`] with the first damage that was found; [`OpenError::Database`] when the file cannot be read.
    pub async fn full_check(&self) -> Result<(), OpenError> {
        if self.file().await?.is_none() {
            return Ok(());
        }
        let mut connection = CheckConnection::connect(self).await?;
        let checked = connection.check_completely().await;
        if checked.is_err() {
            connection.keep_log();
        }
        checked
    }

    /// Checks the pages of one table after another. Each check is one read transaction, and SQLite cannot truncate the write-ahead
    /// log before it ends: a single check of all tables would let the log grow for as long as the check takes.
    async fn quick_check_by_table(&self) -> Result<(), OpenError> {
        let mut connection = CheckConnection::connect(self).await?;
        // The check of `sqlite_schema` includes the list of unused pages.
        let tables = "SELECT 'sqlite_schema' UNION ALL SELECT name FROM sqlite_schema WHERE type = 'table'";
        for row in self.all(tables).await? {
            let table: String = row.try_get_by_index(0)?;
            connection.check_table(&table).await?;
            tokio::time::sleep(PAUSE_BETWEEN_TABLES).await;
        }
        Ok(())
    }

    /// Returns whether the file must be checked before the server starts. After a crash a sound file may be shorter than its pages, because
    /// the log holds the others. A file that was cut is short too, and a checkpoint would fill its missing pages with zeros.
    async fn needs_check_before_start(&self, file: &Path, bounds: StartCheckBounds) -> Result<bool, DbErr> {
        let bytes = size_of(file);
        if bytes <= bounds.whole_bytes {
            return Ok(true);
        }
        let (pages, page_size) = (self.page_count().await?, self.page_size().await?.max(1));
        if bytes >= pages * page_size {
            return Ok(false);
        }
        if bytes <= bounds.short_bytes {
            return Ok(true);
        }
        let (log, missing) = (with_suffix(file, LOG_SUFFIX), bytes / page_size + 1..=pages);
        let are_in_log = tokio::task::spawn_blocking(move || log_pages::has_pages(&log, missing)).await;
        // If the log could not be read, only the check can tell whether pages are missing.
        Ok(!matches!(are_in_log, Ok(Ok(true))))
    }

    /// Returns the bytes of all pages, including those that are only in the write-ahead log.
    pub(super) async fn page_bytes(&self) -> Result<u64, DbErr> {
        Ok(self.page_count().await? * self.page_size().await?)
    }

    async fn page_count(&self) -> Result<u64, DbErr> {
        self.number("PRAGMA page_count").await
    }

    async fn page_size(&self) -> Result<u64, DbErr> {
        self.number("PRAGMA page_size").await
    }

    /// Returns the file of an SQLite database; `None` for PostgreSQL and for a database in memory.
    pub(super) async fn file(&self) -> Result<Option<PathBuf>, DbErr> {
        if self.is_postgres() {
            return Ok(None);
        }
        let rows = self.all("PRAGMA database_list").await?;
        let file = rows.first().map(|row| row.try_get_by_index::<String>(2)).transpose()?;
        Ok(file.filter(|file| !file.is_empty()).map(PathBuf::from))
    }

    /// Returns the file that the URL of an SQLite database names, as the driver reads it; `None` for PostgreSQL.
    pub fn file_of(url: &str) -> Option<PathBuf> {
        if !url.starts_with("sqlite:") {
            return None;
        }
        let options = url.parse::<SqliteConnectOptions>().ok()?;
        Some(options.get_filename().to_owned())
    }

    async fn number(&self, pragma: &str) -> Result<u64, DbErr> {
        let rows = self.all(pragma).await?;
        let number = rows.first().map(|row| row.try_get_by_index::<i64>(0)).transpose()?;
        Ok(number.and_then(|number| u64::try_from(number).ok()).unwrap_or(0))
    }

    async fn all(&self, pragma: &str) -> Result<Vec<QueryResult>, DbErr> {
        self.read.query_all_raw(Statement::from_string(DatabaseBackend::Sqlite, pragma)).await
    }
}

/// Returns the size of a file in bytes, or 0 if it does not exist.
pub(super) fn size_of(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |found| found.len())
}
