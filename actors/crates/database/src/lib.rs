//! # The database
//!
//! Opens SQLite or PostgreSQL, lends connections for reads and writes, and keeps faults of the storage from destroying acknowledged
//! writes.
//!
//! | To | Call |
//! |---|---|
//! | open it and migrate the tables | [`Db::open`]; for the service [`Db::connect`] and [`Db::prepare`] |
//! | read | [`Db::read`] |
//! | write one statement | [`Db::write`] |
//! | write several statements, all or none | [`Db::begin`], [`Transaction`] |
//! | use the connections of account security or of jobs | [`Db::for_accounts`], [`Db::for_jobs`] |
//! | bound the connections of one account | [`on_behalf_of`] |
//! | insert many rows | [`insert_all`] |
//! | do maintenance in one process at a time | [`Db::hold_lock`] |
//! | know what an error means | [`DatabaseFault::of`]; [`StorageFault::of`] for the storage alone |
//! | know whether writes are stopped, and why | [`Db::health`], [`StorageHealth`] |
//! | check for damage | [`Db::check_before_start`], [`Db::check_while_serving`], [`Db::full_check`] |
//! | watch the storage in the background | [`Db::watch_files`], [`Db::watch_log`], [`Db::verify_after_damage`], [`checkpoint_below_floor`] |
//!
//! SQLite takes one writer at a time, and a transaction that reads before it writes fails at once when another wrote in
//! between; so writes go through a pool of one connection and begin IMMEDIATE, and reads use separate connections.
//! On PostgreSQL requests, account security and jobs have separate pools, each one for reads and one for writes: a statement that waits for
//! a lock holds its connection, and the others continue. An account has a share of them ([`on_behalf_of`]).
//!
//! A storage fault (disk full, failed read or sync) of the writer never outlives its connection: [`Transaction`] refuses
//! everything after a failed statement, and the connection is lent only outside of any transaction, or else replaced. Damage, and a
//! file that is not at its path, stop all writes until they are over.
//!
//! This crate runs the migrations and uses no table; of carrel-values it uses only the ids of accounts. It retries only opening a file
//! that another process holds.

mod account_share;
mod checkpoint;
mod connection;
mod fault;
mod handles;
mod health;
mod integrity;
mod lock_file;
mod log_size;
mod open_files;
mod postgres;
mod rescue;
mod session_lock;
mod transaction;
mod verification;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use migration::{Migrator, MigratorTrait};
use sea_orm::sea_query::OnConflict;
use sea_orm::{
    ConnectOptions, ConnectionTrait, Database, DatabaseBackend, DatabaseConnection, DbErr, EntityTrait,
    IntoActiveModel, Iterable, RuntimeErr, SqliteTransactionMode, Statement, TransactionOptions,
    TransactionTrait, TryInsertResult,
};
use sqlx::{Connection as _, SqliteConnection, raw_sql};
use tracing::error;
use tracing::log::LevelFilter;

pub use account_share::on_behalf_of;
pub use checkpoint::checkpoint_below_floor;
pub use connection::Connection;
pub use fault::{DatabaseFault, StorageFault, is_reported};
pub use health::StorageHealth;
pub use integrity::{Damage, OpenError};
use open_files::DatabasePath;
use postgres::{Pools, PoolsByWork};
use session_lock::LockHolder;
pub use session_lock::SessionLock;
pub use transaction::Transaction;

/// Maximum wait for another process that writes, and for a connection. It is longer than any write of this service; callers are asked to
/// retry after it.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum wait at the start for another process that creates the file or migrates its tables.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Interval between attempts to open a file that another process holds.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum number of connections to SQLite for reads.
const MAX_READERS: u32 = 8;
/// Advisory lock of the migrations, so that one node migrates at a time. Any number that nothing else uses.
const MIGRATION_LOCK: i64 = 0x4361_7272_656c;

/// The suffix of SQLite's write-ahead log: the name of the database with it is that of the log.
const LOG_SUFFIX: &str = "-wal";
/// Checkpoints the write-ahead log, and truncates it.
const TRUNCATE_LOG: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

/// Returns the path of a file whose name is that of the database with a suffix.
fn with_suffix(database: &Path, suffix: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// Maximum number of bound values of a statement in SQLite; PostgreSQL allows twice as many.
const MAX_STATEMENT_VALUES: usize = 32_766;

/// Inserts rows in as few statements as possible. Returns the number of rows that were inserted; with `conflict`, fewer than were
/// given where it skips some.
///
/// # Errors
/// [`DbErr`] when a statement fails. Outside of a transaction the rows of the statements before it stay inserted.
pub async fn insert_all<E: EntityTrait>(
    db: &impl ConnectionTrait,
    rows: impl IntoIterator<Item = E::Model>,
    conflict: Option<&OnConflict>,
) -> Result<u64, DbErr>
where
    E::Model: IntoActiveModel<E::ActiveModel>,
{
    let rows_per_statement = MAX_STATEMENT_VALUES / E::Column::iter().count().max(1);
    let mut rows = rows.into_iter().map(IntoActiveModel::into_active_model).peekable();
    let mut inserted = 0;
    while rows.peek().is_some() {
        let mut insert = E::insert_many(rows.by_ref().take(rows_per_statement));
        if let Some(conflict) = conflict {
            insert = insert.on_conflict(conflict.clone());
        }
        // A statement that skips every row is reported as a conflict instead of a count of 0.
        if let TryInsertResult::Inserted(count) = insert.try_insert().exec_without_returning(db).await? {
            inserted += count;
        }
    }
    Ok(inserted)
}

/// The open database. Clones share the pools.
#[derive(Clone)]
pub struct Db {
    read: Connection,
    write: Connection,
    /// The pools of each kind of work; `None` on SQLite, where one writer does all of it.
    by_work: Option<Arc<PoolsByWork>>,
    health: Arc<StorageHealth>,
    /// Holds the [`SessionLock`]s of this process.
    locks: LockHolder,
}

impl Db {
    /// Opens `postgres://…`, or SQLite at `sqlite://PATH?mode=rwc`, and migrates the tables.
    ///
    /// # Errors
    /// The database cannot be reached or opened, or a migration fails.
    pub async fn open(url: &str) -> Result<Self, DbErr> {
        let db = Self::connect(url).await?;
        db.migrate().await?;
        Ok(db)
    }

    /// Prepares it for the service: looks for damage before anything is written, and migrates the tables.
    ///
    /// # Errors
    /// The damage that was found, or the database's own error.
    pub async fn prepare(&self) -> Result<(), OpenError> {
        self.check_before_start().await?;
        self.migrate().await?;
        Ok(())
    }

    /// Opens the database and leaves the tables as they are.
    ///
    /// # Errors
    /// The database cannot be reached or opened.
    pub async fn connect(url: &str) -> Result<Self, DbErr> {
        if url.starts_with("sqlite:") { sqlite(url).await } else { postgres::connect(url).await }
    }

    /// Returns the same database for account security: sign-in, sessions, keys, OAuth connections, limits. On PostgreSQL it uses separate
    /// connections, so that it works while requests and jobs wait for locks of content.
    #[must_use]
    pub fn for_accounts(&self) -> Self {
        self.by_work.as_ref().map_or_else(|| self.clone(), |by_work| self.with_pools(&by_work.accounts))
    }

    /// Returns the same database for jobs and clean-ups. On PostgreSQL it uses separate connections.
    #[must_use]
    pub fn for_jobs(&self) -> Self {
        self.by_work.as_ref().map_or_else(|| self.clone(), |by_work| self.with_pools(&by_work.jobs))
    }

    fn with_pools(&self, pools: &Pools) -> Self {
        Self { read: pools.read.clone(), write: pools.write.clone(), ..self.clone() }
    }

    /// Returns whether the tables were created, of any version.
    ///
    /// # Errors
    /// The database cannot be read.
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
    /// The database cannot be read, or another build of the program created its tables.
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

    /// Counts the statements of this clone from now on. For tests of how many statements something takes.
    #[doc(hidden)]
    pub fn count_statements(&mut self, count: Arc<std::sync::atomic::AtomicUsize>) {
        for connection in [&mut self.read, &mut self.write] {
            let count = count.clone();
            connection.pool.set_metric_callback(move |_| {
                count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            });
        }
    }

    /// Returns the connections for reads, which continue while writes are stopped.
    pub fn read(&self) -> &Connection {
        &self.read
    }

    /// Returns the connections for writes that are one statement. Use [`Self::begin`] for several.
    pub fn write(&self) -> &Connection {
        &self.write
    }

    /// Returns the state of the storage, which all clones share.
    pub fn health(&self) -> &StorageHealth {
        &self.health
    }

    /// Begins a transaction that may write. On SQLite no other write is possible until it ends.
    ///
    /// # Errors
    /// The database is damaged, removed or cannot be reached, another process writes for longer than the busy timeout, or the account
    /// for which this is done holds its share of the connections ([`on_behalf_of`]).
    pub async fn begin(&self) -> Result<Transaction, DbErr> {
        self.write.allow()?;
        // Before the connection: an account that waits for its share holds none.
        let share = self.write.share().await?;
        let started = if self.is_postgres() {
            // A caller that goes away while PostgreSQL answers BEGIN would leave a transaction open that the driver does not
            // know of: what others write through that connection would be acknowledged and lost. So BEGIN is never cut off.
            let pool = self.write.pool.clone();
            let begin = tokio::spawn(async move { pool.begin().await });
            begin.await.map_err(|cause| DbErr::Custom(format!("BEGIN was not answered: {cause}")))?
        } else {
            let options = TransactionOptions {
                // A deferred transaction that reads before it writes fails at once with SQLITE_BUSY_SNAPSHOT when another process wrote
                // in between; the busy timeout does not apply to it.
                sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
                ..TransactionOptions::default()
            };
            self.write.pool.begin_with_options(options).await
        };
        let inner = started.map_err(|error| {
            let error = self.health.record_write(error);
            if let Some(share) = &share {
                share.record(&error);
            }
            error
        })?;
        Ok(Transaction::new(inner, self.health.clone(), share))
    }

    /// Returns whether rows can be locked against each other (`FOR UPDATE`); SQLite's one writer needs no locks.
    pub fn is_postgres(&self) -> bool {
        self.write.get_database_backend() == DatabaseBackend::Postgres
    }

    /// Checkpoints the write-ahead log, releases the locks and closes every connection. Keeps the content of a database whose file was
    /// removed or replaced (`rescue`).
    ///
    /// # Errors
    /// The log could not be checkpointed, as on a full disk; the connections are closed all the same. The database was replaced and could
    /// not be copied: its connections stay open.
    pub async fn close(self) -> Result<(), DbErr> {
        if !self.health.are_files_in_place() {
            self.rescue().await;
            if self.health.database_path() == DatabasePath::Taken && !self.health.is_rescued() {
                // The last connection to close would remove the log, which may hold the only copy of some writes.
                std::mem::forget(self);
                return Err(fault::removed());
            }
        }
        self.health.set_closing();
        let checkpoint = if self.is_postgres() {
            Ok(())
        } else if self.health.is_damaged() {
            Err(fault::damaged())
        } else {
            // Through a reader, whose connection still has the original file open, wherever it was moved. The writer's connection may
            // be replaced, and a new one opens the file that is at the path.
            self.read.pool.execute_unprepared(TRUNCATE_LOG).await.map(drop)
        };
        let pools = self.pools();
        let mut closed = checkpoint.and(self.locks.release_all().await);
        for pool in pools {
            closed = closed.and(pool.close().await);
        }
        closed
    }

    /// Returns every pool, of other kinds of work too.
    fn pools(&self) -> Vec<DatabaseConnection> {
        match &self.by_work {
            Some(by_work) => by_work.all(),
            None => vec![self.read.pool.clone(), self.write.pool.clone()],
        }
    }

    /// Applies the migrations that were not applied yet.
    ///
    /// # Errors
    /// Another build of the program created the tables, the database takes no writes, or a migration fails; on SQLite nothing is
    /// changed then.
    pub async fn migrate(&self) -> Result<(), DbErr> {
        // Before anything is written, and for its message.
        retry_while_locked(async || self.pending_migrations().await).await?;
        if !self.is_postgres() {
            // SQLite can create tables in a transaction, so a failed migration leaves nothing behind, and of two processes that start
            // at the same time one waits for the other.
            let txn = retry_while_locked(async || self.begin().await).await?;
            Migrator::up(txn.inner(), None).await?;
            return txn.commit().await;
        }
        let jobs = self.for_jobs();
        // The lock belongs to this transaction. The migrations run on another connection of the pool, each in its own transaction.
        let guard = jobs.write.pool.begin().await?;
        // Waiting for the migration of another node, and this one itself, may take longer than any request.
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

async fn sqlite(url: &str) -> Result<Db, DbErr> {
    // The writer comes first: it creates the file and turns the write-ahead log on. Its commits reach the disk before they are
    // acknowledged (synchronous FULL); with NORMAL a power loss could take the last ones. Readers commit nothing, and NORMAL still
    // syncs around the checkpoints that they run.
    let health = Arc::new(StorageHealth::default());
    let writer = || guarded(pool(url, 1, "FULL"), &health);
    let reader = || checking_files(pool(url, MAX_READERS, "NORMAL"), &health);
    let write = retry_while_locked(async || Database::connect(writer()).await).await?;
    let read = retry_while_locked(async || {
        let read = Database::connect(reader()).await?;
        open_all(&read).await?;
        Ok(read)
    });
    let read = read.await?;
    let (read, write) =
        (Connection::reader(read, health.clone()), Connection::writer(write, health.clone(), None));
    let db = Db { read, write, by_work: None, health, locks: LockHolder::Files(Arc::default()) };
    if let Err(error) = retry_while_locked(async || db.note_open_files().await).await {
        if StorageFault::of(&error) == Some(StorageFault::Corrupt) {
            // See `CheckConnection::keep_log`.
            std::mem::forget(db);
        }
        return Err(error);
    }
    Ok(db)
}

/// Opens every connection of the readers now. They are never replaced, so none is opened while another file is in the place of the
/// database: SQLite would apply the write-ahead log to that.
async fn open_all(readers: &DatabaseConnection) -> Result<(), DbErr> {
    let pool = readers.get_sqlite_connection_pool();
    let connections = try_join_all((0..MAX_READERS).map(|_| pool.acquire())).await;
    connections.map(drop).map_err(|cause| DbErr::Conn(RuntimeErr::SqlxError(cause.into())))
}

/// Retries until no other process holds the file. When two processes turn the write-ahead log on at the same time, SQLite fails one of
/// them at once, whatever its busy timeout.
async fn retry_while_locked<T>(attempt: impl AsyncFn() -> Result<T, DbErr>) -> Result<T, DbErr> {
    let started_at = Instant::now();
    loop {
        match attempt().await {
            Err(error)
                if DatabaseFault::of(&error) == DatabaseFault::Locked
                    && started_at.elapsed() < START_TIMEOUT =>
            {
                tokio::time::sleep(RETRY_INTERVAL).await
            }
            done => return done,
        }
    }
}

fn pool(url: &str, connections: u32, synchronous: &'static str) -> ConnectOptions {
    let mut options = ConnectOptions::new(url);
    options
        .max_connections(connections)
        // With a minimum the pool opens connections in the background, to whatever file is at the path by then.
        .min_connections(0)
        .acquire_timeout(BUSY_TIMEOUT)
        // A connection to a file does not break between two statements, and a ping before each costs more than a small read.
        .test_before_acquire(false)
        // Connections to a file do not age. As long as one is open, a file that is removed can be read, and the write-ahead log
        // is the same file.
        .idle_timeout(None::<Duration>)
        .max_lifetime(None::<Duration>)
        // By default every statement is logged at the level Info.
        .sqlx_logging_level(LevelFilter::Trace)
        .map_sqlx_sqlite_opts(move |sqlite| {
            sqlite
                .create_if_missing(true)
                // Reads do not wait for the writer.
                .pragma("journal_mode", "WAL")
                .pragma("synchronous", synchronous)
                // SQLite enforces foreign keys only on connections that ask for it.
                .pragma("foreign_keys", "ON")
                // Deleted texts are overwritten with zeros, so that a copy of the file does not contain them.
                .pragma("secure_delete", "ON")
                // 64 MiB: a log that a long read let grow is truncated to this size after a checkpoint.
                .pragma("journal_size_limit", "67108864")
                .busy_timeout(BUSY_TIMEOUT)
        });
    options
}

/// Lends the writer's connection only outside of any transaction, and replaces it after a storage fault.
///
/// After `SQLITE_FULL` and `SQLITE_IOERR` SQLite may have rolled the transaction back by itself. The driver's own ROLLBACK fails
/// then and its transaction depth stays at 1; its next transaction would be a savepoint that nothing ever commits. And SQLite may
/// be in a transaction that the driver does not know of: later writes would be acknowledged, and lost unless it were committed.
fn guarded(mut options: ConnectOptions, health: &Arc<StorageHealth>) -> ConnectOptions {
    let lending = health.clone();
    options.map_sqlx_sqlite_before_acquire(move |connection, _| {
        // The driver's transaction depth: a ROLLBACK that SQLite refused leaves it above 0. Distrust is tested here too, because a check
        // of the database may record it while the connection is idle.
        let is_sound = !lending.take_writer_distrust() && !connection.is_in_transaction();
        Box::pin(async move { Ok(is_sound) })
    });
    let returning = health.clone();
    options.map_sqlx_sqlite_pool_opts(move |pool| {
        let health = returning.clone();
        refuse_other_files(pool, &health).after_release(move |connection, _| {
            let is_sound = !health.take_writer_distrust();
            Box::pin(async move {
                if !is_sound {
                    return Ok(false);
                }
                // The depth says nothing about a BEGIN that the driver did not send, so SQLite itself is asked.
                let is_outside = is_in_autocommit(connection).await;
                if !is_outside {
                    error!("the writer is in a transaction after its use, or does not answer: it is closed, and what was not committed is rolled back");
                }
                Ok(is_outside)
            })
        })
    });
    options
}

/// Returns whether neither SQLite nor the driver is in a transaction. SQLite refuses BEGIN within one; outside, this takes no lock. It runs
/// after the ROLLBACK of a dropped transaction, which may still be queued.
async fn is_in_autocommit(connection: &mut SqliteConnection) -> bool {
    raw_sql("BEGIN; ROLLBACK").execute(&mut *connection).await.is_ok() && !connection.is_in_transaction()
}

fn checking_files(mut options: ConnectOptions, health: &Arc<StorageHealth>) -> ConnectOptions {
    let health = health.clone();
    options.map_sqlx_sqlite_pool_opts(move |pool| refuse_other_files(pool, &health));
    options
}

/// Refuses a new connection while a file of the database is not in its place: it would read and write another database than the
/// connections that are open.
fn refuse_other_files(
    pool: sqlx::pool::PoolOptions<sqlx::Sqlite>,
    health: &Arc<StorageHealth>,
) -> sqlx::pool::PoolOptions<sqlx::Sqlite> {
    let health = health.clone();
    pool.after_connect(move |_, _| {
        let allowed = health.require_files().map_err(|error| sqlx::Error::Configuration(error.into()));
        Box::pin(async move { allowed })
    })
}

#[cfg(test)]
mod tests;
