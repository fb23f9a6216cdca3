//! The connections of direct reads, outside of the pools.
//!
//! Like the readers they are opened once and never replaced, so none of them opens another file that is put at the path later. Each read
//! is one statement and ends with it, so none of them holds a read transaction that would block a checkpoint.

use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::available_parallelism;
use std::time::Duration;

use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, OpenFlags, params_from_iter};
#[cfg(any(test, feature = "test-support"))]
use sea_orm::Statement;
use sea_orm::{DatabaseBackend, DbErr, Value};

use super::query::DirectQuery;
use super::row::{DirectRow, parameter_of};
use crate::fault::StorageFault;

/// Records a statement.
#[cfg(any(test, feature = "test-support"))]
type StatementCallback = Arc<dyn Fn(&Statement) + Send + Sync>;

/// Connections beyond one for each thread that answers requests: for actors and jobs, which read directly too.
const SPARE_CONNECTIONS: usize = 1;
/// Prepared statements that each connection keeps: more than there are direct queries.
const MAX_STATEMENTS: usize = 64;
/// Memory of a connection for pages, in KiB. The rows of a read are on a few pages, and the system caches the file. The file is not mapped
/// into memory (`mmap_size` stays 0): reading a page of a file that was cut meanwhile would kill the process with SIGBUS.
const CACHE_KIB: u32 = 512;
/// Instructions of SQLite's virtual machine between two calls of the progress handler.
const STEPS_BETWEEN_CHECKS: i32 = 1_000;
/// Calls of it after which a read gives up: 20,000 instructions are a millisecond or two and some hundred rows.
const MAX_CHECKS: u32 = 20;
/// <https://sqlite.org/rescode.html>
const SQLITE_BUSY: i32 = 5;
const SQLITE_INTERRUPT: i32 = 9;

/// Why a direct read has no rows.
pub(crate) enum DirectReadFailure {
    /// Every connection was in use.
    NoConnection,
    /// SQLite failed, with its extended result code; 0 if the driver failed.
    Sqlite(i32),
    /// The row was read and could not be decoded.
    Decode(DbErr),
}

impl DirectReadFailure {
    /// Returns its label in metrics.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::NoConnection => "no_connection",
            Self::Sqlite(code) if code & 0xff == SQLITE_BUSY => "busy",
            Self::Sqlite(code) if code & 0xff == SQLITE_INTERRUPT => "too_many_steps",
            Self::Sqlite(_) | Self::Decode(_) => "error",
        }
    }

    /// Returns whether SQLite met a damaged page.
    pub(crate) fn is_damage(&self) -> bool {
        let Self::Sqlite(code) = self else { return false };
        u32::try_from(*code).ok().and_then(StorageFault::of_sqlite) == Some(StorageFault::Corrupt)
    }
}

impl From<rusqlite::Error> for DirectReadFailure {
    fn from(error: rusqlite::Error) -> Self {
        if let rusqlite::Error::SqliteFailure(failure, _) = &error {
            Self::Sqlite(failure.extended_code)
        } else {
            Self::Sqlite(0)
        }
    }
}

/// The direct connections of a database. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct DirectConnections {
    slots: Arc<[Mutex<Option<DirectConnection>>]>,
    /// Where the next read begins to look for a free connection.
    next: Arc<AtomicUsize>,
    /// Called with each statement that this clone has run.
    #[cfg(any(test, feature = "test-support"))]
    on_read: Option<StatementCallback>,
}

impl DirectConnections {
    /// Opens a connection for each thread that answers requests, and one more.
    pub(crate) fn open(database: &Path) -> rusqlite::Result<Self> {
        let threads = available_parallelism().map_or(2, usize::from);
        let slots = (0..threads + SPARE_CONNECTIONS)
            .map(|_| DirectConnection::open(database).map(|connection| Mutex::new(Some(connection))))
            .collect::<rusqlite::Result<Vec<_>>>()?;
        Ok(Self { slots: slots.into(), ..Self::default() })
    }

    /// Returns whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Runs a query on a free connection and returns its first `max_rows` rows, as `decode` reads them.
    pub(crate) fn read<T>(
        &self,
        query: &DirectQuery,
        values: &[Value],
        max_rows: usize,
        decode: impl Fn(&DirectRow<'_>) -> Result<T, DbErr>,
    ) -> Result<Vec<T>, DirectReadFailure> {
        let slot = self.acquire().ok_or(DirectReadFailure::NoConnection)?;
        // Closed: the pool is closed too, and says so.
        let connection = slot.as_ref().ok_or(DirectReadFailure::NoConnection)?;
        let found = connection.read(query.sql(DatabaseBackend::Sqlite), values, max_rows, decode)?;
        #[cfg(any(test, feature = "test-support"))]
        if let Some(on_read) = &self.on_read {
            on_read(&query.statement(DatabaseBackend::Sqlite, values.to_vec()));
        }
        Ok(found)
    }

    /// Returns a connection that no other read uses. Does not wait.
    fn acquire(&self) -> Option<MutexGuard<'_, Option<DirectConnection>>> {
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        let count = self.slots.len();
        (0..count).find_map(|step| {
            let slot = self.slots.get(start.wrapping_add(step) % count)?;
            match slot.try_lock() {
                Ok(connection) => Some(connection),
                // A statement is reset when its read unwinds, so the connection is sound.
                Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            }
        })
    }

    /// Calls a function with each statement that this clone, and clones that are made of it later, have run. Statements that went through
    /// the pool instead are not among them.
    #[cfg(any(test, feature = "test-support"))]
    pub(crate) fn set_statement_callback(&mut self, callback: impl Fn(&Statement) + Send + Sync + 'static) {
        self.on_read = Some(Arc::new(callback));
    }

    /// Closes every connection, after the read that uses it. Their reads go through the pool from then on.
    pub(crate) fn close(&self) {
        for slot in self.slots.iter() {
            drop(slot.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
    }

    /// Holds every connection for as long as the result lives, as many reads at once do.
    #[cfg(test)]
    pub(crate) fn hold_all(&self) -> Vec<impl Sized> {
        self.slots.iter().map(|slot| slot.lock().unwrap_or_else(PoisonError::into_inner)).collect()
    }
}

/// A connection to the file of the database that only reads.
struct DirectConnection {
    connection: Connection,
    /// Calls of the progress handler in the current read.
    checks: Arc<AtomicU32>,
}

impl DirectConnection {
    fn open(database: &Path) -> rusqlite::Result<Self> {
        // Opened for reading alone: as the last connection to close it can neither checkpoint the write-ahead log nor remove it, which the
        // connections of the pools do when it is safe. The lock of its slot replaces SQLite's own.
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(database, flags)?;
        // It reads the schema, so the write-ahead log is open from now on.
        connection.execute_batch(&format!("PRAGMA cache_size = -{CACHE_KIB}"))?;
        // The thread of a caller never sleeps: what is busy is read through the pool.
        connection.busy_timeout(Duration::ZERO)?;
        connection.set_prepared_statement_cache_capacity(MAX_STATEMENTS);
        let checks = Arc::new(AtomicU32::new(0));
        let counted = checks.clone();
        // SQLite counts the instructions of a prepared statement over all its runs, so a handler that is called after 20,000 and gives up at
        // once would end every hundredth run of a statement of 200. This one counts its calls in each read.
        connection.progress_handler(
            STEPS_BETWEEN_CHECKS,
            Some(move || counted.fetch_add(1, Ordering::Relaxed) >= MAX_CHECKS),
        )?;
        Ok(Self { connection, checks })
    }

    fn read<T>(
        &self,
        sql: &str,
        values: &[Value],
        max_rows: usize,
        decode: impl Fn(&DirectRow<'_>) -> Result<T, DbErr>,
    ) -> Result<Vec<T>, DirectReadFailure> {
        let parameters = values.iter().map(|value| parameter_of(value).map(ToSqlOutput::Borrowed));
        let parameters = parameters.collect::<Option<Vec<_>>>().ok_or(DirectReadFailure::Sqlite(0))?;
        self.checks.store(0, Ordering::Relaxed);
        let mut prepared = self.connection.prepare_cached(sql)?;
        // Dropped, the rows reset the statement, which ends its read transaction.
        let mut rows = prepared.query(params_from_iter(parameters))?;
        let mut found = Vec::new();
        while found.len() < max_rows {
            let Some(row) = rows.next()? else { break };
            found.push(decode(&DirectRow::of_sqlite(row)).map_err(DirectReadFailure::Decode)?);
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_apart_by_their_codes() {
        let cases = [
            (DirectReadFailure::NoConnection, "no_connection", false),
            (DirectReadFailure::Sqlite(5), "busy", false),
            (DirectReadFailure::Sqlite(261), "busy", false),
            (DirectReadFailure::Sqlite(9), "too_many_steps", false),
            (DirectReadFailure::Sqlite(0), "error", false),
            (DirectReadFailure::Sqlite(10), "error", false),
            (DirectReadFailure::Sqlite(11), "error", true),
            (DirectReadFailure::Sqlite(779), "error", true),
        ];
        for (failure, label, is_damage) in cases {
            assert_eq!((failure.label(), failure.is_damage()), (label, is_damage));
        }
    }
}
