//! The database: readers and the one writer.
//!
//! SQLite takes one writer at a time, and a transaction that reads before it writes fails at once when another wrote in
//! between; so writes go through a pool of one connection and begin IMMEDIATE, and reads have connections of their own.
//! PostgreSQL has one pool for both.

use std::time::{Duration, Instant};

use migration::{Migrator, MigratorTrait};
use sea_orm::sea_query::OnConflict;
use sea_orm::{
    ConnectOptions, ConnectionTrait, Database, DatabaseBackend, DatabaseConnection, DatabaseTransaction,
    DbErr, EntityTrait, IntoActiveModel, Iterable, RuntimeErr, SqliteTransactionMode, Statement,
    TransactionOptions, TransactionTrait, TryInsertResult,
};
use tracing::log::LevelFilter;

/// Long enough for any write of ours; a caller is told to come again after that.
const BUSY: Duration = Duration::from_secs(5);
/// How long a process that starts waits for another that makes the file or changes its tables.
const STARTING: Duration = Duration::from_secs(60);
/// Between two looks at a file that another process holds.
const LOOK: Duration = Duration::from_millis(20);
const READERS: u32 = 8;
const POSTGRES_CONNECTIONS: u32 = 16;
/// Any number that nothing else in the database locks: one node migrates at a time.
const MIGRATION_LOCK: i64 = 0x4361_7272_656c;

/// Values of one statement: SQLite takes no more.
const VALUES: usize = 32_766;

/// Inserts rows in as few statements as may be; how many were made.
pub async fn insert_all<E: EntityTrait>(
    db: &impl ConnectionTrait,
    rows: impl IntoIterator<Item = E::Model>,
    conflict: Option<&OnConflict>,
) -> Result<u64, DbErr>
where
    E::Model: IntoActiveModel<E::ActiveModel>,
{
    let at_once = VALUES / E::Column::iter().count().max(1);
    let mut rows = rows.into_iter().map(IntoActiveModel::into_active_model).peekable();
    let mut made = 0;
    while rows.peek().is_some() {
        let mut insert = E::insert_many(rows.by_ref().take(at_once));
        if let Some(conflict) = conflict {
            insert = insert.on_conflict(conflict.clone());
        }
        if let TryInsertResult::Inserted(count) = insert.try_insert().exec_without_returning(db).await? {
            made += count;
        }
    }
    Ok(made)
}

/// The open database. Clones share the pools.
#[derive(Clone)]
pub struct Db {
    read: DatabaseConnection,
    write: DatabaseConnection,
}

impl Db {
    /// Opens `postgres://…`, or SQLite at `sqlite://PATH?mode=rwc`, and brings the tables up to date.
    pub async fn open(url: &str) -> Result<Self, DbErr> {
        let db = Self::connect(url).await?;
        db.migrate().await?;
        Ok(db)
    }

    /// Opens it and leaves the tables as they are.
    pub async fn connect(url: &str) -> Result<Self, DbErr> {
        if url.starts_with("sqlite:") { sqlite(url).await } else { postgres(url).await }
    }

    /// How many steps the tables are behind; none of them is made.
    pub async fn behind(&self) -> Result<usize, DbErr> {
        let made = "SELECT version FROM seaql_migrations";
        let made =
            self.read.query_all_raw(Statement::from_string(self.read.get_database_backend(), made)).await;
        // Without this table there is none of ours.
        let made = made.map_or(0, |rows| rows.len());
        self.read.ping().await?;
        Ok(Migrator::migrations().len().saturating_sub(made))
    }

    /// Has every statement counted by this, from now on and in this clone alone.
    #[cfg(test)]
    pub fn counted_by(&mut self, count: std::sync::Arc<std::sync::atomic::AtomicUsize>) {
        for connection in [&mut self.read, &mut self.write] {
            let count = count.clone();
            connection.set_metric_callback(move |_| {
                count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            });
        }
    }

    /// For reading.
    pub fn read(&self) -> &DatabaseConnection {
        &self.read
    }

    /// For single writing statements.
    pub fn write(&self) -> &DatabaseConnection {
        &self.write
    }

    /// A transaction that may write. On SQLite nobody else writes until it ends.
    pub async fn begin(&self) -> Result<DatabaseTransaction, DbErr> {
        let options = TransactionOptions {
            sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
            ..TransactionOptions::default()
        };
        self.write.begin_with_options(options).await
    }

    /// Whether rows can be locked against each other (`FOR UPDATE`); SQLite's one writer needs no locks.
    pub fn is_postgres(&self) -> bool {
        self.write.get_database_backend() == DatabaseBackend::Postgres
    }

    /// Folds the write-ahead log in and closes every connection.
    pub async fn close(self) -> Result<(), DbErr> {
        if !self.is_postgres() {
            self.write.execute_unprepared("PRAGMA wal_checkpoint(TRUNCATE)").await?;
        }
        self.read.close().await?;
        self.write.close().await
    }

    async fn migrate(&self) -> Result<(), DbErr> {
        if !self.is_postgres() {
            // SQLite makes tables within transactions too: of two processes that begin at once, one waits for the other.
            let txn = once_free(async || self.begin().await).await?;
            Migrator::up(&txn, None).await?;
            return txn.commit().await;
        }
        let guard = self.write.begin().await?;
        // Another node's migration, and the own one, may take longer than any request.
        for patience in ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"] {
            guard.execute_unprepared(&format!("SET LOCAL {patience} = 0")).await?;
        }
        guard.execute_unprepared(&format!("SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")).await?;
        let done = Migrator::up(&self.write, None).await;
        guard.commit().await?;
        done
    }
}

async fn sqlite(url: &str) -> Result<Db, DbErr> {
    // The writer comes first: it makes the file and turns the write-ahead log on. Its commits reach the disk before
    // they are acknowledged (synchronous FULL).
    let write = once_free(async || Database::connect(pool(url, 1, "FULL")).await).await?;
    let read = once_free(async || Database::connect(pool(url, READERS, "NORMAL")).await).await?;
    Ok(Db { read, write })
}

/// Tries until no other process holds the file: where two turn the write-ahead log on at once, SQLite fails one of them at once,
/// whatever its busy timeout.
async fn once_free<T>(attempt: impl AsyncFn() -> Result<T, DbErr>) -> Result<T, DbErr> {
    let begun = Instant::now();
    loop {
        match attempt().await {
            Err(error) if is_held(&error) && begun.elapsed() < STARTING => tokio::time::sleep(LOOK).await,
            done => return done,
        }
    }
}

/// `SQLITE_BUSY`, whatever its extended code.
fn is_held(error: &DbErr) -> bool {
    let (DbErr::Conn(RuntimeErr::SqlxError(error))
    | DbErr::Exec(RuntimeErr::SqlxError(error))
    | DbErr::Query(RuntimeErr::SqlxError(error))) = error
    else {
        return false;
    };
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<u32>().ok());
    code.is_some_and(|code| code & 0xff == 5)
}

fn pool(url: &str, connections: u32, synchronous: &'static str) -> ConnectOptions {
    let mut options = ConnectOptions::new(url);
    options
        .max_connections(connections)
        .min_connections(1)
        .acquire_timeout(BUSY)
        // A file does not go away between two statements: asking it each time costs more than a small read.
        .test_before_acquire(false)
        .sqlx_logging_level(LevelFilter::Trace)
        .map_sqlx_sqlite_opts(move |sqlite| {
            sqlite
                .create_if_missing(true)
                .pragma("journal_mode", "WAL")
                .pragma("synchronous", synchronous)
                .pragma("foreign_keys", "ON")
                .pragma("secure_delete", "ON")
                .pragma("journal_size_limit", "67108864")
                .busy_timeout(BUSY)
        });
    options
}

async fn postgres(url: &str) -> Result<Db, DbErr> {
    let mut options = ConnectOptions::new(url);
    options
        .max_connections(POSTGRES_CONNECTIONS)
        .acquire_timeout(Duration::from_secs(3))
        .sqlx_logging_level(LevelFilter::Trace)
        .map_sqlx_postgres_opts(|postgres| {
            postgres.options([
                ("statement_timeout", "30s"),
                ("lock_timeout", "10s"),
                ("idle_in_transaction_session_timeout", "30s"),
            ])
        });
    let pool = Database::connect(options).await?;
    Ok(Db { read: pool.clone(), write: pool })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix::test]
    async fn any_number_may_open_a_new_file_at_once() {
        for _ in 0..20 {
            let folder = tempfile::tempdir().unwrap();
            let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());

            let opened = futures_util::future::join_all((0..4).map(|_| sqlite(&url))).await;

            for one in opened {
                one.unwrap().close().await.unwrap();
            }
        }
    }

    #[actix::test]
    async fn tables_are_looked_at_without_being_changed() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());

        let looked = Db::connect(&url).await.unwrap();
        assert_eq!(looked.behind().await.unwrap(), Migrator::migrations().len());
        assert_eq!(looked.behind().await.unwrap(), Migrator::migrations().len());

        let opened = Db::open(&url).await.unwrap();
        assert_eq!(opened.behind().await.unwrap(), 0);
    }
}
