//! The state of the storage below the database: whether the writer's connection can be trusted, whether the database is
//! damaged, and whether its files are in their place.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use sea_orm::DbErr;
use tracing::{error, info};

use super::driver_panics::DriverPanics;
use super::fault::{StorageFault, damaged, is_not_opened, is_read_only, opened_read_only, removed};
use super::handles::HandleReport;
use super::open_files::{DatabasePath, OpenFiles};
use super::statement_counts::StatementCounts;

/// Shared by every connection of one open database.
#[derive(Debug, Default)]
pub struct StorageHealth {
    is_writer_distrusted: AtomicBool,
    /// Number of times that damage was met since a check found none; 0 for a database that counts as undamaged.
    damage_met: AtomicU64,
    /// The files of an SQLite database; not set for PostgreSQL and for a database in memory.
    files: OnceLock<OpenFiles>,
    /// Whether a file was not in place at the last comparison.
    is_displaced: AtomicBool,
    /// Whether the content of a displaced database was copied.
    is_rescued: AtomicBool,
    has_rescue_failed: AtomicBool,
    /// Whether the connections are being closed; the last one removes the write-ahead log.
    is_closing: AtomicBool,
    handles: HandleReport,
    /// When the server of PostgreSQL last refused a write because it is read-only.
    read_only_at: Mutex<Option<Instant>>,
    /// The panics of the driver's threads, by which a statement ends without its rows.
    pub(super) driver_panics: DriverPanics,
    /// The statements that were sent. They are here because every connection has this.
    pub(super) statements: StatementCounts,
}

impl StorageHealth {
    /// Counts a failed read that was caused by the storage. Returns whether it was.
    pub fn record_read(&self, error: &DbErr) -> bool {
        let Some(fault) = StorageFault::of(error) else { return false };
        count(fault);
        if fault == StorageFault::Corrupt {
            self.set_damaged();
        }
        if fault == StorageFault::ReadOnly {
            *self.read_only_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
        if fault == StorageFault::NoHandles {
            self.handles.report();
        // SQLite reports only that it could not open a file (code 14), not why.
        } else if is_not_opened(error) {
            self.handles.report_if_exhausted();
        }
        true
    }

    /// Records an error of a statement of the writer and returns the error to report. After a storage fault its connection is not used again:
    /// SQLite may have ended the transaction, and the connection's caches may differ from the file.
    pub fn record_write(&self, error: DbErr) -> DbErr {
        let error = self.explain(error);
        if self.record_read(&error) {
            self.distrust_writer();
        }
        error
    }

    /// If SQLite has no file handle to open the database for writing, it opens it read-only. If that succeeds,
    /// writes fail as if the file system were read-only, until the connection is replaced.
    fn explain(&self, error: DbErr) -> DbErr {
        let is_opened_read_only =
            is_read_only(&error) && self.files.get().is_some_and(OpenFiles::are_writable);
        if is_opened_read_only { opened_read_only() } else { error }
    }

    /// Causes the connection of the writer to be replaced before the next write.
    pub fn distrust_writer(&self) {
        self.is_writer_distrusted.store(true, Ordering::SeqCst);
    }

    /// Returns whether the writer's connection has to be replaced. Resets the flag.
    pub fn take_writer_distrust(&self) -> bool {
        self.is_writer_distrusted.swap(false, Ordering::SeqCst)
    }

    /// Returns whether a connection of this age was opened before the server last refused a write because it is read-only. A new
    /// connection may lead to the server that has taken over.
    pub(super) fn is_before_failover(&self, age: Duration) -> bool {
        let at = *self.read_only_at.lock().unwrap_or_else(PoisonError::into_inner);
        at.is_some_and(|at| age > at.elapsed())
    }

    /// Counts and records damage that a read outside of the pools met.
    pub(super) fn record_damage(&self) {
        count(StorageFault::Corrupt);
        self.set_damaged();
    }

    /// Records damage. Writes are stopped until a check finds none or the server is started on an undamaged database.
    pub fn set_damaged(&self) {
        // Every statement that reads a damaged page reports it; only the first is logged.
        if self.damage_met.fetch_add(1, Ordering::SeqCst) == 0 {
            if self.has_files() {
                error!(
                    "the database is damaged: writes are stopped until a check finds no damage; run `carrel doctor`"
                );
            } else {
                error!(
                    "the database is damaged: writes are stopped until the server is restarted; run `carrel doctor`"
                );
            }
        }
    }

    /// Returns whether damage was met.
    pub fn is_damaged(&self) -> bool {
        self.damage_met() != 0
    }

    /// Returns the number of times that damage was met since a check found none.
    pub(super) fn damage_met(&self) -> u64 {
        self.damage_met.load(Ordering::SeqCst)
    }

    /// Clears the damage after a check, unless damage was met since this number was read. Returns whether it was cleared.
    pub(super) fn clear_damage(&self, met: u64) -> bool {
        // The writer's caches may hold pages that a failing disk returned.
        self.distrust_writer();
        // Fails if damage was met while the check ran: it may be in pages that the check had read before.
        self.damage_met.compare_exchange(met, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// Sets the open files. From then on they are compared with those at their paths.
    pub(super) fn note_files(&self, files: OpenFiles) {
        let _ = self.files.set(files);
    }

    /// Returns whether the database has files here that can be compared.
    pub(super) fn has_files(&self) -> bool {
        self.files.get().is_some()
    }

    /// Records that the files are being closed and are no longer compared.
    pub(super) fn set_closing(&self) {
        self.is_closing.store(true, Ordering::SeqCst);
    }

    /// Returns whether the files that are open are those at the paths of the database. Logs when that changes. It costs a few microseconds.
    pub fn are_files_in_place(&self) -> bool {
        let Some(files) = self.files.get() else { return true };
        // The last connection that is closed removes the log, which must not count as displaced.
        if self.is_closing.load(Ordering::SeqCst) {
            return !self.is_displaced.load(Ordering::SeqCst);
        }
        let is_displaced = !files.are_in_place();
        let was_displaced = self.is_displaced.swap(is_displaced, Ordering::SeqCst);
        if is_displaced && !was_displaced {
            count(StorageFault::Removed);
            files.report_displaced();
        } else if was_displaced && !is_displaced {
            info!("the files of the database are back where they were: writes continue");
            // The next time that the files are removed, they are rescued again.
            self.is_rescued.store(false, Ordering::SeqCst);
            self.has_rescue_failed.store(false, Ordering::SeqCst);
        }
        !is_displaced
    }

    /// Returns the database file; `None` if there is none on this machine.
    pub(super) fn database_file(&self) -> Option<&Path> {
        self.files.get().and_then(OpenFiles::database)
    }

    /// Returns the state of the path of the database file.
    pub(super) fn database_path(&self) -> DatabasePath {
        self.files.get().map_or(DatabasePath::Own, OpenFiles::database_path)
    }

    /// Records that the content of the displaced database was copied.
    pub(super) fn set_rescued(&self) {
        self.is_rescued.store(true, Ordering::SeqCst);
    }

    /// Returns whether the content of the displaced database was copied.
    pub(super) fn is_rescued(&self) -> bool {
        self.is_rescued.load(Ordering::SeqCst)
    }

    /// Records that the copy failed. Returns whether it is the first failure since the files were in place.
    pub(super) fn report_rescue_failure(&self) -> bool {
        !self.has_rescue_failed.swap(true, Ordering::SeqCst)
    }

    /// Fails while a file of the database is not in place. Called after a write, it decides whether the write may be acknowledged.
    ///
    /// # Errors
    /// An error that [`StorageFault::of`] maps to [`StorageFault::Removed`].
    pub fn require_files(&self) -> Result<(), DbErr> {
        if self.are_files_in_place() { Ok(()) } else { Err(removed()) }
    }

    /// Refuses a write to a database that is damaged or whose files are not in their place.
    ///
    /// # Errors
    /// An error that [`StorageFault::of`] maps to [`StorageFault::Corrupt`] or [`StorageFault::Removed`].
    pub fn allow_write(&self) -> Result<(), DbErr> {
        if self.is_damaged() { Err(damaged()) } else { self.require_files() }
    }
}

fn count(fault: StorageFault) {
    metrics::counter!("carrel_storage_faults_total", "fault" => fault.label()).increment(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_from_before_a_failover_is_outdated() {
        let health = StorageHealth::default();
        assert!(!health.is_before_failover(Duration::MAX));

        *health.read_only_at.lock().unwrap() = Some(Instant::now());

        assert!(health.is_before_failover(Duration::from_secs(3600)));
        assert!(!health.is_before_failover(Duration::ZERO));
    }
}
