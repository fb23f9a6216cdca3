//! Locks that one process at a time has for as long as it lives. Every process of the database sees them.

use sea_orm::{ConnectionTrait, DatabaseBackend, DatabaseConnection, DbErr, Statement};

use super::Db;

/// What is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionLock {
    /// What the rows say of the passage index, and the jobs that change it.
    Index,
}

impl SessionLock {
    /// Any number that nothing else in the database locks.
    fn number(self) -> i64 {
        match self {
            SessionLock::Index => 0x4361_7272_656d,
        }
    }
}

impl Db {
    /// Takes a lock, or finds that this process has it already; whether it has it. It is kept until the database is closed or the
    /// connection of the lock breaks, so a caller who has it asks again. SQLite has no such locks, and one service at a time:
    /// there the answer is always yes.
    ///
    /// # Errors
    /// The database cannot be reached.
    pub async fn hold_lock(&self, lock: SessionLock) -> Result<bool, DbErr> {
        let Some(session) = &self.session else { return Ok(true) };
        // A session that has the lock takes it once more. Nothing gives it back one by one: it ends with the session.
        let query = format!("SELECT pg_try_advisory_lock({})", lock.number());
        let taken = session.query_one_raw(Statement::from_string(DatabaseBackend::Postgres, query)).await?;
        taken.map_or(Ok(false), |row| row.try_get_by_index(0))
    }
}

/// Gives every lock back before the connection is closed: the server may be late to see its end.
pub(super) async fn release_all(session: DatabaseConnection) -> Result<(), DbErr> {
    if session.get_postgres_connection_pool().size() == 0 {
        return session.close().await;
    }
    let released = session.execute_unprepared("SELECT pg_advisory_unlock_all()").await.map(drop);
    released.and(session.close().await)
}
