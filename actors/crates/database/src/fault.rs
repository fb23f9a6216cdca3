//! What an error of the database means, as SQLite, PostgreSQL and this crate report it. This is the only place that reads result codes
//! and SQLSTATEs.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::sync::Arc;

use sea_orm::{DbErr, RuntimeErr, SqlErr};
use sqlx::error::{DatabaseError, ErrorKind};

/// A write to a damaged database.
const DAMAGED: Refusal = Refusal {
    fault: StorageFault::Corrupt,
    message: "damage was met in the database; writes are stopped while it is verified",
};
/// A write while a file of the database is not at its path.
const REMOVED: Refusal = Refusal {
    fault: StorageFault::Removed,
    message: "a file of the database was removed or replaced; writes are stopped",
};
/// A write on a connection that was opened read-only although its files can be written.
const OPENED_READ_ONLY: Refusal = Refusal {
    fault: StorageFault::NoHandles,
    message: "file handles ran out when the database was opened for writing",
};
/// A connection to a server of PostgreSQL that follows another one.
const STANDBY: Refusal =
    Refusal { fault: StorageFault::ReadOnly, message: "the server is a read-only standby" };

/// A statement or a connection that this crate refuses because of a fault of the storage. It travels in a [`DbErr`] as an error of the
/// database, from which it can be downcast: `DbErr::Custom` holds only a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
struct Refusal {
    fault: StorageFault,
    message: &'static str,
}

impl DatabaseError for Refusal {
    fn message(&self) -> &str {
        self.message
    }

    fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        self
    }

    fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
        self
    }

    fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
        self
    }

    fn kind(&self) -> ErrorKind {
        ErrorKind::Other
    }
}

impl From<Refusal> for DbErr {
    fn from(refusal: Refusal) -> Self {
        Self::Exec(RuntimeErr::SqlxError(Arc::new(sqlx::Error::Database(Box::new(refusal)))))
    }
}

/// The consequence of an error of the database for what is done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseFault {
    /// The storage below the database failed.
    Storage(StorageFault),
    /// Another transaction holds a lock that the statement needs, or PostgreSQL ended the statement or is starting or stopping. The
    /// same statement may succeed later.
    Locked,
    /// The database is unreachable, its connection broke during a statement, or no connection became free in time.
    Unreachable,
    /// A row that the statement refers to does not exist.
    MissingReference,
    /// Anything else, such as a violated unique index or a bug in the statement.
    Statement,
}

impl DatabaseFault {
    /// Returns the fault that an error of the database stands for.
    pub fn of(error: &DbErr) -> Self {
        if let Some(fault) = StorageFault::of(error) {
            Self::Storage(fault)
        } else if code(error).is_some_and(|code| is_lock_code(&code)) {
            Self::Locked
        } else if is_unreachable(error) {
            Self::Unreachable
        } else if is_missing_reference(error) {
            Self::MissingReference
        } else {
            Self::Statement
        }
    }
}

/// A fault below the database. It is independent of the statement that met it, and may have ended the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StorageFault {
    /// No space is left, or the file system takes no writes.
    Full,
    /// A read, a write or a sync failed, or a file could not be opened.
    Io,
    /// The server of PostgreSQL takes no writes: after a failover the connection leads to a standby.
    ReadOnly,
    /// The process, or the system, had no file handle left to open a file for writing.
    NoHandles,
    /// The files are damaged: they do not contain what was written.
    Corrupt,
    /// A file of the database was removed, moved or replaced while it is open: what is written to it is lost.
    Removed,
    /// The database could not allocate memory.
    OutOfMemory,
}

impl StorageFault {
    /// Returns the fault behind an error of the database; `None` when the statement itself, or a lock, was the reason.
    pub fn of(error: &DbErr) -> Option<Self> {
        let driver = driver_error(error)?;
        // The driver panics when SQLite has no memory to copy a value; the connection is closed then.
        if matches!(**driver, sqlx::Error::WorkerCrashed) {
            return Some(Self::OutOfMemory);
        }
        let reported = driver.as_database_error()?;
        if let Some(Refusal { fault, .. }) = reported.try_downcast_ref::<Refusal>() {
            return Some(*fault);
        }
        let code = reported.code()?;
        match sqlite_code(&code) {
            Some(code) => Self::of_sqlite(code),
            None => Self::of_sqlstate(&code),
        }
    }

    /// Returns the fault for an extended result code of <https://sqlite.org/rescode.html>.
    pub(super) fn of_sqlite(code: u32) -> Option<Self> {
        const IOERR_NOMEM: u32 = 3082;
        const IOERR_SHMSIZE: u32 = 4874;
        // Primary codes: 7 NOMEM, 8 READONLY, 10 IOERR, 11 CORRUPT, 13 FULL, 14 CANTOPEN, 26 NOTADB.
        match (code, code & 0xff) {
            (IOERR_NOMEM, _) | (_, 7) => Some(Self::OutOfMemory),
            // The shared memory file of the write-ahead log could not grow: for lack of space, or, rarely, because the disk fails.
            (IOERR_SHMSIZE, _) => Some(Self::Full),
            // Statements report a read that the disk failed (EIO) as 11; verification distinguishes it from damage.
            (_, 11 | 26) => Some(Self::Corrupt),
            // A file system that became read-only is treated as a full one: reads continue.
            (_, 8 | 13) => Some(Self::Full),
            // Includes IOERR_CORRUPTFS (8458), by which opening a file reports a read that the disk failed.
            (_, 10 | 14) => Some(Self::Io),
            _ => None,
        }
    }

    /// Returns the fault for an SQLSTATE (appendix A of the PostgreSQL manual).
    fn of_sqlstate(code: &str) -> Option<Self> {
        // disk_full, out_of_memory, io_error, read_only_sql_transaction, data_corrupted and index_corrupted.
        match code {
            "53100" => Some(Self::Full),
            "53200" => Some(Self::OutOfMemory),
            "58030" => Some(Self::Io),
            "25006" => Some(Self::ReadOnly),
            "XX001" | "XX002" => Some(Self::Corrupt),
            _ => None,
        }
    }

    /// Returns its label in metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Io => "io",
            Self::ReadOnly => "read_only",
            Self::NoHandles => "no_handles",
            Self::Corrupt => "corrupt",
            Self::Removed => "removed",
            Self::OutOfMemory => "out_of_memory",
        }
    }
}

/// The error of a statement whose connection ended while it ran, because its thread panicked.
pub(super) fn connection_ended() -> DbErr {
    DbErr::Exec(RuntimeErr::SqlxError(Arc::new(sqlx::Error::WorkerCrashed)))
}

/// Returns whether the cause of an error is logged already: the database logs once that writes are stopped, and once that they continue.
pub fn is_reported(error: &DbErr) -> bool {
    matches!(StorageFault::of(error), Some(StorageFault::Corrupt | StorageFault::Removed))
}

/// The SQLSTATE of a lock that was not free in time.
const LOCK_NOT_AVAILABLE: &str = "55P03";

/// Returns the result code of SQLite, which has at most four digits; SQLSTATEs have five characters.
fn sqlite_code(code: &str) -> Option<u32> {
    if code.len() < 5 { code.parse().ok() } else { None }
}

/// Returns whether SQLite could not open a file.
pub(super) fn is_not_opened(error: &DbErr) -> bool {
    primary_code(error) == Some(14)
}

/// Returns whether SQLite says that the database is read-only.
pub(super) fn is_read_only(error: &DbErr) -> bool {
    primary_code(error) == Some(8)
}

/// Returns the result code of SQLite without its extension.
fn primary_code(error: &DbErr) -> Option<u32> {
    Some(sqlite_code(&code(error)?)? & 0xff)
}

/// Returns the result code of SQLite, or the SQLSTATE.
fn code(error: &DbErr) -> Option<Cow<'_, str>> {
    driver_error(error)?.as_database_error()?.code()
}

/// Returns whether a foreign key refused a statement, or on SQLite a trigger: the only ones that refuse anything stand for a foreign key
/// (migration `m0016_job_owner`), and cannot raise its error there.
fn is_missing_reference(error: &DbErr) -> bool {
    const REFUSED_BY_TRIGGER: u32 = 1811;
    matches!(error.sql_err(), Some(SqlErr::ForeignKeyConstraintViolation(_)))
        || code(error).is_some_and(|code| sqlite_code(&code) == Some(REFUSED_BY_TRIGGER))
}

/// Returns whether a code says that the statement met a lock or was ended: SQLite's busy and locked; PostgreSQL's lock not available,
/// deadlock, serialization failure, timeouts and shutdown.
fn is_lock_code(code: &str) -> bool {
    match sqlite_code(code) {
        Some(code) => matches!(code & 0xff, 5 | 6),
        None => matches!(
            code,
            LOCK_NOT_AVAILABLE | "40P01" | "40001" | "57014" | "25P03" | "57P01" | "57P02" | "57P03"
        ),
    }
}

/// Returns whether no connection became free in time, because other transactions take long or the database is unreachable, or the
/// connection broke during the statement: PostgreSQL crashed, or its host is unreachable. The next statement gets another connection.
fn is_unreachable(error: &DbErr) -> bool {
    matches!(error, DbErr::ConnectionAcquire(_) | DbErr::Conn(_))
        || driver_error(error).is_some_and(|cause| matches!(**cause, sqlx::Error::Io(_)))
}

/// Returns the error of the driver behind an error of the database, if there is one.
pub(super) fn driver_error(error: &DbErr) -> Option<&Arc<sqlx::Error>> {
    if let DbErr::Conn(RuntimeErr::SqlxError(cause))
    | DbErr::Exec(RuntimeErr::SqlxError(cause))
    | DbErr::Query(RuntimeErr::SqlxError(cause)) = error
    {
        Some(cause)
    } else {
        None
    }
}

/// Returns whether the database is unreachable, or a connection or a lock was not free in time: the next statement would wait as long.
pub(super) fn is_unavailable(error: &DbErr) -> bool {
    matches!(error, DbErr::ConnectionAcquire(_) | DbErr::Conn(_))
        || code(error).is_some_and(|code| code == LOCK_NOT_AVAILABLE)
}

/// Returns the error of a write to a database that is known to be damaged.
pub(super) fn damaged() -> DbErr {
    DAMAGED.into()
}

/// Returns the error of a write while a file of the database is not at its path.
pub(super) fn removed() -> DbErr {
    REMOVED.into()
}

/// Returns the error of a write on a connection that was opened read-only, though its files can be written.
pub(super) fn opened_read_only() -> DbErr {
    OPENED_READ_ONLY.into()
}

/// Returns the error of a connection to a server of PostgreSQL that is a standby.
pub(super) fn standby() -> DbErr {
    STANDBY.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Covers the fault table (row 5).
    #[test]
    fn sqlite_codes_map_to_their_faults() {
        let cases = [
            (13, Some(StorageFault::Full)),
            (8, Some(StorageFault::Full)),
            (776, Some(StorageFault::Full)),
            (778, Some(StorageFault::Io)),
            (1034, Some(StorageFault::Io)),
            (4874, Some(StorageFault::Full)),
            (14, Some(StorageFault::Io)),
            (11, Some(StorageFault::Corrupt)),
            (779, Some(StorageFault::Corrupt)),
            (26, Some(StorageFault::Corrupt)),
            (8458, Some(StorageFault::Io)),
            (7, Some(StorageFault::OutOfMemory)),
            (3082, Some(StorageFault::OutOfMemory)),
            (5, None),
            (517, None),
            (2067, None),
        ];
        for (code, fault) in cases {
            assert_eq!(StorageFault::of_sqlite(code), fault, "{code}");
        }
    }

    #[test]
    fn crashed_driver_counts_as_out_of_memory() {
        let crashed = DbErr::Query(RuntimeErr::SqlxError(Arc::new(sqlx::Error::WorkerCrashed)));

        assert_eq!(StorageFault::of(&crashed), Some(StorageFault::OutOfMemory));
    }

    #[test]
    fn sqlstates_map_to_their_faults() {
        assert_eq!(StorageFault::of_sqlstate("53100"), Some(StorageFault::Full));
        assert_eq!(StorageFault::of_sqlstate("XX001"), Some(StorageFault::Corrupt));
        assert_eq!(StorageFault::of_sqlstate("25006"), Some(StorageFault::ReadOnly));
        assert_eq!(StorageFault::of_sqlstate("23505"), None);
    }

    #[test]
    fn codes_of_locks_are_those_of_both_databases() {
        for code in
            ["5", "6", "261", "517", "55P03", "40P01", "40001", "57014", "25P03", "57P01", "57P02", "57P03"]
        {
            assert!(is_lock_code(code), "{code}");
        }
        for code in ["13", "787", "2067", "23503", "23505", "53100", "25006"] {
            assert!(!is_lock_code(code), "{code}");
        }
    }

    #[test]
    fn errors_without_a_code_are_classified_by_their_kind() {
        let io =
            || RuntimeErr::SqlxError(Arc::new(sqlx::Error::Io(std::io::ErrorKind::UnexpectedEof.into())));

        for error in [DbErr::Exec(io()), DbErr::Query(io()), DbErr::Conn(io())] {
            assert_eq!(DatabaseFault::of(&error), DatabaseFault::Unreachable, "{error}");
        }
        let custom = DbErr::Custom("another".to_owned());
        assert_eq!(DatabaseFault::of(&custom), DatabaseFault::Statement);
        assert_eq!(DatabaseFault::of(&removed()), DatabaseFault::Storage(StorageFault::Removed));
    }

    #[test]
    fn message_of_a_refusal_is_part_of_its_error() {
        assert!(damaged().to_string().ends_with("writes are stopped while it is verified"));
        assert!(standby().to_string().ends_with("the server is a read-only standby"));
    }

    #[test]
    fn own_errors_map_to_their_faults() {
        assert_eq!(StorageFault::of(&damaged()), Some(StorageFault::Corrupt));
        assert_eq!(StorageFault::of(&removed()), Some(StorageFault::Removed));
        assert_eq!(StorageFault::of(&opened_read_only()), Some(StorageFault::NoHandles));
        assert_eq!(StorageFault::of(&standby()), Some(StorageFault::ReadOnly));
        assert_eq!(StorageFault::of(&DbErr::Custom("another".to_owned())), None);
        assert!(is_reported(&damaged()) && is_reported(&removed()));
    }
}
