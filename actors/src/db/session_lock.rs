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
    pub(super) fn number(self) -> i64 {
        match self {
            SessionLock::Index => 0x4361_7272_656d,
        }
    }
}

impl Db {
    /// Takes a lock, or makes sure that this process still has it; whether it has it. It is kept until the database is closed or the
    /// connection of the lock breaks, so a caller who has it asks again. SQLite has no such locks, and one service at a time:
    /// there the answer is always yes.
    ///
    /// # Errors
    /// The database cannot be reached.
    pub async fn hold_lock(&self, lock: SessionLock) -> Result<bool, DbErr> {
        let Some(session) = &self.session else { return Ok(true) };
        hold_in_session(session, lock).await
    }
}

async fn hold_in_session(session: &DatabaseConnection, lock: SessionLock) -> Result<bool, DbErr> {
    let number = lock.number();
    // A session can take a lock any number of times, and PostgreSQL counts them: where it has the lock, this only looks. In one
    // statement, for the pool may replace a broken connection between two. A key of 64 bits has its halves in two columns of
    // pg_locks, and objsubid 1.
    let query = format!(
        "SELECT CASE WHEN EXISTS (
             SELECT 1 FROM pg_locks
             WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted AND objsubid = 1
               AND ((classid::bigint << 32) | objid::bigint) = {number}
         ) THEN TRUE ELSE pg_try_advisory_lock({number}) END"
    );
    let held = session.query_one_raw(Statement::from_string(DatabaseBackend::Postgres, query)).await?;
    held.map_or(Ok(false), |row| row.try_get_by_index(0))
}

/// Gives every lock back before the connection is closed: the server may be late to see its end.
pub(super) async fn release_all(session: DatabaseConnection) -> Result<(), DbErr> {
    if session.get_postgres_connection_pool().size() == 0 {
        return session.close().await;
    }
    let released = session.execute_unprepared("SELECT pg_advisory_unlock_all()").await.map(drop);
    released.and(session.close().await)
}
