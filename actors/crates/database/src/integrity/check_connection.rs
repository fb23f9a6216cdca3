//! The connection through which a database is checked while it serves. A check ends as soon as its caller is dropped: a server that
//! stops must not wait for the seconds or minutes that the check of a large table takes.

use std::sync::Arc;

use sea_orm::{DbErr, RuntimeErr};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Sqlite, SqliteConnection};

use crate::db::Db;
use crate::open_error::{Damage, OpenError};

/// Reads the pages of every table. `(1)`: the first fault is enough; the default lists a hundred.
pub(crate) const QUICK_CHECK: &str = "PRAGMA quick_check(1)";
/// Reads the indexes too, and compares them with the tables.
pub(crate) const FULL_CHECK: &str = "PRAGMA integrity_check(1)";

/// Pages of a table, or instructions of SQLite's virtual machine, between two tests whether the check is still needed. A page
/// may lead to megabytes of overflow pages, which are not counted.
const STEPS_BETWEEN_INTERRUPT_CHECKS: i32 = 20;

/// A connection outside of the pools, for `PRAGMA quick_check` and `PRAGMA integrity_check`. It reads the file and its schema
/// itself, whereas the connections of the pools may answer from their caches. When it is dropped, its statement is interrupted;
/// otherwise the driver's thread would run the statement to its end. It belongs to no pool, because closing a pool waits for all of
/// its connections.
pub(crate) struct CheckConnection {
    connection: SqliteConnection,
    /// The progress handler, which runs on the driver's thread, interrupts the statement when this is dropped.
    _owner: Arc<()>,
}

impl CheckConnection {
    /// Opens the connection with the options of the readers.
    ///
    /// # Errors
    /// [`DbErr`] when the file cannot be opened.
    pub(crate) async fn connect(db: &Db) -> Result<Self, DbErr> {
        let options = db.read.pool.get_sqlite_connection_pool().connect_options();
        let mut connection = options.connect().await.map_err(failed)?;
        let owner = Arc::new(());
        let watched = Arc::downgrade(&owner);
        let mut handle = connection.lock_handle().await.map_err(failed)?;
        handle.set_progress_handler(STEPS_BETWEEN_INTERRUPT_CHECKS, move || watched.strong_count() > 0);
        drop(handle);
        Ok(Self { connection, _owner: owner })
    }

    /// Checks a table with its indexes.
    ///
    /// # Errors
    /// [`OpenError::Damaged`] when damage was found; [`OpenError::Database`] for any other error, such as an interrupt.
    pub(super) async fn check_table(&mut self, table: &str) -> Result<(), OpenError> {
        // A PRAGMA takes no bound values, so the name is quoted.
        self.check(format!("PRAGMA quick_check('{}')", table.replace('\'', "''"))).await
    }

    /// Runs a pragma that checks for damage and reports `ok` or what is wrong.
    ///
    /// # Errors
    /// [`OpenError::Damaged`] with the damage that SQLite found or could not read past; [`OpenError::Database`] for any other error,
    /// such as an interrupt.
    pub(crate) async fn check(&mut self, pragma: String) -> Result<(), OpenError> {
        let rows = sqlx::query_scalar::<Sqlite, String>(AssertSqlSafe(pragma));
        verdict(rows.fetch_optional(&mut self.connection).await.map_err(failed)?)
    }

    /// Never closes the connection. The last connection to close would checkpoint the write-ahead log into the file and remove the log. If
    /// the file is a restored copy and the log belongs to the database that was there before, that would destroy the copy.
    pub(super) fn keep_log(self) {
        std::mem::forget(self);
    }

    /// Checks every page, every index, and whether the rows exist that others refer to.
    ///
    /// # Errors
    /// [`OpenError::Damaged`] when damage was found; [`OpenError::Database`] for any other error, such as an interrupt.
    pub(super) async fn check_completely(&mut self) -> Result<(), OpenError> {
        self.check(FULL_CHECK.to_owned()).await?;
        // `integrity_check` does not test foreign keys. A pooled connection that read the schema before the tables were created would
        // find no orphans, because SQLite compiles this PRAGMA to nothing then.
        let orphans = sqlx::query("PRAGMA foreign_key_check").fetch_all(&mut self.connection);
        match orphans.await.map_err(failed)?.len() {
            0 => Ok(()),
            broken => Err(Damage(format!("{broken} rows refer to rows that are missing")).into()),
        }
    }
}

/// Evaluates the first row of an integrity check.
fn verdict(found: Option<String>) -> Result<(), OpenError> {
    match found {
        Some(found) if found != "ok" => Err(Damage(found.replace('\n', " ")).into()),
        Some(_) | None => Ok(()),
    }
}

fn failed(cause: sqlx::Error) -> DbErr {
    DbErr::Query(RuntimeErr::SqlxError(Arc::new(cause)))
}

#[cfg(test)]
mod tests {
    use sea_orm::ConnectionTrait;

    use super::*;
    use crate::fault::driver_error;

    /// <https://sqlite.org/rescode.html#interrupt>
    const SQLITE_INTERRUPT: &str = "9";

    #[tokio::test]
    async fn check_without_owner_is_interrupted() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = Db::connect(&url).await.unwrap();
        let rows = "CREATE TABLE number (n INTEGER);
            WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 5000)
            INSERT INTO number SELECT n FROM n";
        db.write().execute_unprepared(rows).await.unwrap();
        let mut check = CheckConnection::connect(&db).await.unwrap();
        check.check_table("number").await.unwrap();

        // What a drop does, but the answer of the statement can still be read.
        check._owner = Arc::new(());

        let OpenError::Database(error) = check.check_table("number").await.unwrap_err() else {
            panic!("damage")
        };
        let cause = driver_error(&error).unwrap().as_database_error().unwrap();
        assert_eq!(cause.code().as_deref(), Some(SQLITE_INTERRUPT), "{error}");
    }
}
