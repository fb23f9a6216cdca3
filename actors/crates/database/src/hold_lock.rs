//! Acquiring the locks that one process at a time holds.

use std::sync::PoisonError;

use sea_orm::{ConnectionTrait, DatabaseBackend, DatabaseConnection, DbErr, Statement};

use super::db::Db;
use super::session_lock::{LockHolder, SessionLock};

impl Db {
    /// Acquires a lock, or verifies that this process still has it. Returns whether it has it. It is held until the database is closed, the
    /// process ends or the connection of the lock breaks, so a caller who has it asks again.
    ///
    /// Always `true` for an SQLite database in memory, which belongs to its process alone, and initially if the file of the lock can be
    /// neither opened nor created, as on a full disk.
    ///
    /// # Errors
    /// [`DbErr`] when the database cannot be reached, or is closed.
    pub async fn hold_lock(&self, lock: SessionLock) -> Result<bool, DbErr> {
        match &self.locks {
            LockHolder::Session(session) => hold_in_session(session, lock).await,
            LockHolder::Files(files) => {
                let Some(database) = self.health.database_file() else { return Ok(true) };
                let (files, database) = (files.clone(), database.to_owned());
                let held = tokio::task::spawn_blocking(move || {
                    files.lock().unwrap_or_else(PoisonError::into_inner).hold(lock, &database)
                });
                held.await
                    .map_err(|cause| DbErr::Custom(format!("the lock file could not be locked: {cause}")))?
            }
        }
    }
}

async fn hold_in_session(session: &DatabaseConnection, lock: SessionLock) -> Result<bool, DbErr> {
    let number = lock.number();
    // A session can take a lock any number of times, and PostgreSQL counts them, so a lock that the session has is only looked up. One
    // statement does both, because the pool may replace a broken connection between two. In pg_locks a key of 64 bits is split
    // into two columns, with objsubid 1.
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
