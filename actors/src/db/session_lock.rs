//! Locks that one process at a time holds until it ends. They are visible to every process on the database.

use sea_orm::{ConnectionTrait, DatabaseBackend, DatabaseConnection, DbErr, Statement};

use super::Db;

/// What is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionLock {
    /// Maintenance of the passage index: the rows that describe its content, and the jobs that change it.
    Index,
}

impl SessionLock {
    /// An arbitrary number that nothing else in the database locks.
    fn number(self) -> i64 {
        match self {
            SessionLock::Index => 0x4361_7272_656d,
        }
    }
}

impl Db {
    /// Acquires a lock if it is free, and returns whether this process holds it. The lock is held until the database is closed or its
    /// connection breaks, so a holder must call this again regularly. SQLite has no such locks and one service at a time: there the
    /// result is always `true`.
    ///
    /// # Errors
    /// The database cannot be reached.
    pub async fn hold_lock(&self, lock: SessionLock) -> Result<bool, DbErr> {
        let Some(session) = &self.session else { return Ok(true) };
        // PostgreSQL counts how often a session acquires a lock. Only `release_all` and the end of the session release it.
        let query = format!("SELECT pg_try_advisory_lock({})", lock.number());
        let taken = session.query_one_raw(Statement::from_string(DatabaseBackend::Postgres, query)).await?;
        taken.map_or(Ok(false), |row| row.try_get_by_index(0))
    }
}

/// Releases every lock before the connection is closed: the server may notice the close late.
pub(super) async fn release_all(session: DatabaseConnection) -> Result<(), DbErr> {
    if session.get_postgres_connection_pool().size() == 0 {
        return session.close().await;
    }
    let released = session.execute_unprepared("SELECT pg_advisory_unlock_all()").await.map(drop);
    released.and(session.close().await)
}
