//! Faults of the storage below the database, as SQLite and PostgreSQL report them.

use std::sync::Arc;

use sea_orm::{DbErr, RuntimeErr};

/// The message of an error on a damaged database.
const DAMAGED: &str = "damage was met in the database; writes are stopped while it is verified";
/// The message of an error of a write while a file of the database is not at its path.
const REMOVED: &str = "a file of the database was removed or replaced; writes are stopped";

/// The message of an error of a write on a connection that was opened read-only although its files can be written.
const OPENED_READ_ONLY: &str = "file handles ran out when the database was opened for writing";
/// The message of an error of a connection to a server of PostgreSQL that follows another one.
const STANDBY: &str = "the server is a read-only standby";

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
        // `DbErr::Custom` carries only a text, so the errors of this module are recognised by it.
        if let DbErr::Custom(text) = error {
            return Self::of_own(text);
        }
        let driver = driver_error(error)?;
        // The driver panics when SQLite has no memory to copy a value; the connection is closed then.
        if matches!(**driver, sqlx::Error::WorkerCrashed) {
            return Some(Self::OutOfMemory);
        }
        let code = driver.as_database_error()?.code()?;
        match sqlite_code(&code) {
            Some(code) => Self::of_sqlite(code),
            None => Self::of_sqlstate(&code),
        }
    }

    /// Returns the fault for an error of this module.
    fn of_own(text: &str) -> Option<Self> {
        match text {
            DAMAGED => Some(Self::Corrupt),
            REMOVED => Some(Self::Removed),
            OPENED_READ_ONLY => Some(Self::NoHandles),
            STANDBY => Some(Self::ReadOnly),
            _ => None,
        }
    }

    /// Returns the fault for an extended result code of <https://sqlite.org/rescode.html>.
    fn of_sqlite(code: u32) -> Option<Self> {
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

/// Returns whether the cause of an error is logged already: the database logs once that writes are stopped, and once that they continue.
pub fn is_reported(error: &DbErr) -> bool {
    matches!(StorageFault::of(error), Some(StorageFault::Corrupt | StorageFault::Removed))
}

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
    let code = driver_error(error)?.as_database_error()?.code()?;
    Some(sqlite_code(&code)? & 0xff)
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
    // SQLSTATE of a statement that waited for a lock longer than `lock_timeout`.
    const LOCK_NOT_AVAILABLE: &str = "55P03";
    let database = driver_error(error).and_then(|cause| cause.as_database_error());
    let code = database.and_then(|database| database.code());
    matches!(error, DbErr::ConnectionAcquire(_) | DbErr::Conn(_))
        || code.is_some_and(|code| code == LOCK_NOT_AVAILABLE)
}

/// Returns the error of a write to a database that is known to be damaged.
pub(super) fn damaged() -> DbErr {
    DbErr::Custom(DAMAGED.to_owned())
}

/// Returns the error of a write while a file of the database is not at its path.
pub(super) fn removed() -> DbErr {
    DbErr::Custom(REMOVED.to_owned())
}

/// Returns the error of a write on a connection that was opened read-only, though its files can be written.
pub(super) fn opened_read_only() -> DbErr {
    DbErr::Custom(OPENED_READ_ONLY.to_owned())
}

/// Returns the error of a connection to a server of PostgreSQL that is a standby.
pub(super) fn standby() -> DbErr {
    DbErr::Custom(STANDBY.to_owned())
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
    fn own_errors_map_to_their_faults() {
        assert_eq!(StorageFault::of(&damaged()), Some(StorageFault::Corrupt));
        assert_eq!(StorageFault::of(&removed()), Some(StorageFault::Removed));
        assert_eq!(StorageFault::of(&opened_read_only()), Some(StorageFault::NoHandles));
        assert_eq!(StorageFault::of(&standby()), Some(StorageFault::ReadOnly));
        assert_eq!(StorageFault::of(&DbErr::Custom("another".to_owned())), None);
        assert!(is_reported(&damaged()) && is_reported(&removed()));
    }
}
