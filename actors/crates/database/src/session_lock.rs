//! Locks that one process at a time holds for its lifetime, visible to every process of the database.
//!
//! PostgreSQL has such locks: a session takes them, and they end with it. SQLite has none, so there they are locks of files next to
//! the database.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use sea_orm::{ConnAcquireErr, ConnectionTrait, DatabaseConnection, DbErr};

use super::lock_file::LockFile;

/// The purpose of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionLock {
    /// Maintenance of the passage index: the rows that describe its content, and the jobs that change it.
    Index,
}

impl SessionLock {
    /// Any number that nothing else in the database locks.
    pub(super) fn number(self) -> i64 {
        match self {
            SessionLock::Index => 0x4361_7272_656d,
        }
    }

    /// Returns the suffix of its file, which is appended to the name of the SQLite database.
    fn file_suffix(self) -> &'static str {
        match self {
            SessionLock::Index => ".maintainer",
        }
    }
}

/// Holds the locks of this process. Clones share it.
#[derive(Clone)]
pub(super) enum LockHolder {
    /// The session of the one connection to PostgreSQL in this pool.
    Session(DatabaseConnection),
    /// Files next to an SQLite database.
    Files(Arc<Mutex<LockFiles>>),
}

/// The files of the locks, each created on demand.
#[derive(Default)]
pub(super) struct LockFiles {
    index: Option<LockFile>,
    is_closed: bool,
}

impl LockFiles {
    /// Acquires a lock, or verifies that this process still has it. Blocks.
    pub(super) fn hold(&mut self, lock: SessionLock, database: &Path) -> Result<bool, DbErr> {
        // A check that is still under way must not take a lock that nothing would release.
        if self.is_closed {
            return Err(DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed));
        }
        let file = match lock {
            SessionLock::Index => &mut self.index,
        };
        Ok(file.get_or_insert_with(|| LockFile::for_database(database, lock.file_suffix())).hold())
    }
}

impl LockHolder {
    /// Releases every lock, also for clones: none is taken any more.
    pub(super) async fn release_all(self) -> Result<(), DbErr> {
        match self {
            LockHolder::Session(session) => release_session(session).await,
            LockHolder::Files(files) => {
                *files.lock().unwrap_or_else(PoisonError::into_inner) =
                    LockFiles { index: None, is_closed: true };
                Ok(())
            }
        }
    }
}

/// Releases every lock before the connection is closed, because the server may notice the end of a connection late.
async fn release_session(session: DatabaseConnection) -> Result<(), DbErr> {
    // No lock was ever taken. The statement below would open a connection to release nothing.
    if session.get_postgres_connection_pool().size() == 0 {
        return session.close().await;
    }
    let released = session.execute_unprepared("SELECT pg_advisory_unlock_all()").await.map(drop);
    released.and(session.close().await)
}
