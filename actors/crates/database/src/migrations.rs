//! The migrations of the tables.

use migration::{Migrator, MigratorTrait};
use sea_orm::{ConnectionTrait, DbErr, Statement, TransactionTrait};

use super::db::Db;
use super::retry::retry_while_locked;

/// Advisory lock of the migrations, so that one process migrates at a time. Any number that nothing else uses.
const MIGRATION_LOCK: i64 = 0x4361_7272_656c;

impl Db {
    /// Returns whether the tables were created, of any version.
    ///
    /// # Errors
    /// [`DbErr`] when the database cannot be read.
    pub async fn has_tables(&self) -> Result<bool, DbErr> {
        let count = if self.is_postgres() {
            "SELECT count(*) FROM pg_class WHERE oid = to_regclass('seaql_migrations')"
        } else {
            "SELECT count(*) FROM sqlite_schema WHERE name = 'seaql_migrations'"
        };
        let count = Statement::from_string(self.read.get_database_backend(), count);
        let row = self.read.query_one_raw(count).await?;
        Ok(row.map_or(Ok(0), |row| row.try_get_by_index::<i64>(0))? > 0)
    }

    /// Returns how many migrations are still to be applied, and applies none.
    ///
    /// # Errors
    /// [`DbErr`] when the database cannot be read, or another build of the program created its tables.
    pub async fn pending_migrations(&self) -> Result<usize, DbErr> {
        let mut rows = Vec::new();
        if self.has_tables().await? {
            let select = "SELECT version FROM seaql_migrations";
            let select = Statement::from_string(self.read.get_database_backend(), select);
            rows = self.read.query_all_raw(select).await?;
        }
        let applied = rows.iter().map(|row| row.try_get_by_index(0)).collect::<Result<Vec<String>, _>>()?;
        let known: Vec<_> = Migrator::migrations().iter().map(|known| known.name().to_owned()).collect();
        match applied.iter().find(|version| !known.contains(version)) {
            Some(version) => Err(DbErr::Custom(format!(
                "another build of Carrel created the tables, and this one does not know their migration {version}; start the \
                 build that created them, or export the libraries with it and import them into a new database"
            ))),
            None => Ok(known.len() - applied.len()),
        }
    }

    /// Applies the migrations that were not applied yet.
    ///
    /// # Errors
    /// [`DbErr`] when another build of the program created the tables, the database takes no writes, or a migration fails; on SQLite
    /// nothing is changed then.
    pub async fn migrate(&self) -> Result<(), DbErr> {
        // Before anything is written, and for its message.
        retry_while_locked(async || self.pending_migrations().await).await?;
        if !self.is_postgres() {
            // SQLite can create tables in a transaction, so a failed migration leaves nothing behind, and of two processes that start
            // at the same time one waits for the other.
            let txn = retry_while_locked(async || self.begin().await).await?;
            Migrator::up(txn.inner()?, None).await?;
            return txn.commit().await;
        }
        let jobs = self.for_jobs();
        // The lock belongs to this transaction. The migrations run on another connection of the pool, each in its own transaction.
        let guard = jobs.write.pool.begin().await?;
        // Waiting for the migration of another process, and this one itself, may take longer than any request.
        for timeout in ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"] {
            guard.execute_unprepared(&format!("SET LOCAL {timeout} = 0")).await?;
        }
        guard.execute_unprepared(&format!("SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")).await?;
        let migrated = Migrator::up(&jobs.write.pool, None).await;
        // Releases the lock, also after a failure.
        guard.commit().await?;
        migrated
    }
}
