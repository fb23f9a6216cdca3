//! The pools of connections to SQLite: one connection that writes, and several that read.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use sea_orm::{ConnectOptions, Database, DatabaseConnection, DbErr, RuntimeErr};
use sqlx::{Connection as _, SqliteConnection, raw_sql};
use tracing::error;
use tracing::log::LevelFilter;

use super::connection::Connection;
use super::db::Db;
use super::direct::DirectConnections;
use super::fault::StorageFault;
use super::group_commit::WriterQueue;
use super::health::StorageHealth;
use super::retry::retry_while_locked;
use super::session_lock::LockHolder;

/// Maximum wait for another process that writes, and for a connection. It is longer than any write of this server; callers are asked to
/// retry after it.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Memory of the writer and of each reader for pages, in KiB. It is SQLite's default, which a build could change.
const CACHE_KIB: u32 = 2048;

/// Returns the number of connections to SQLite for reads. Each has a thread, and more threads than cores only switch between them; one
/// more serves small reads while the others run long ones, such as an export.
pub(super) fn reader_count() -> u32 {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    u32::try_from(cores + 1).unwrap_or(u32::MAX).clamp(2, 8)
}

/// Opens the file of a URL. Creates it if the URL says so.
pub(super) async fn connect(url: &str) -> Result<Db, DbErr> {
    // The writer comes first: it creates the file and turns the write-ahead log on. Its commits reach the disk before they are
    // acknowledged (synchronous FULL); with NORMAL a power loss could take the last ones. Readers commit nothing, and NORMAL still
    // syncs around the checkpoints that they run.
    let health = Arc::new(StorageHealth::default());
    health.driver_panics.watch();
    let writer = || with_connection_checks(pool(url, 1, "FULL"), &health);
    let reader = || checking_files(pool(url, reader_count(), "NORMAL"), &health);
    let write = retry_while_locked(async || Database::connect(writer()).await).await?;
    let read = retry_while_locked(async || {
        let read = Database::connect(reader()).await?;
        open_all(&read).await?;
        Ok(read)
    });
    let read = read.await?;
    let (read, write) =
        (Connection::reader(read, health.clone()), Connection::writer(write, health.clone(), None));
    let locks = LockHolder::Files(Arc::default());
    let queue = Some(WriterQueue::new(BUSY_TIMEOUT));
    let mut db =
        Db { read, write, by_work: None, queue, direct: DirectConnections::default(), health, locks };
    let direct = retry_while_locked(async || {
        db.note_open_files().await?;
        db.open_direct_connections(url).await
    });
    let direct = direct.await;
    match direct {
        Ok(direct) => db.direct = direct,
        Err(error) => {
            if StorageFault::of(&error) == Some(StorageFault::Corrupt) {
                // See `CheckConnection::keep_log`.
                std::mem::forget(db);
            }
            return Err(error);
        }
    }
    Ok(db)
}

/// Opens every connection of the readers now. They are never replaced, so none is opened while another file is in the place of the
/// database: SQLite would apply the write-ahead log to that.
async fn open_all(readers: &DatabaseConnection) -> Result<(), DbErr> {
    let pool = readers.get_sqlite_connection_pool();
    let connections = try_join_all((0..reader_count()).map(|_| pool.acquire())).await;
    connections.map(drop).map_err(|cause| DbErr::Conn(RuntimeErr::SqlxError(cause.into())))
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
                .pragma("cache_size", format!("-{CACHE_KIB}"))
                .busy_timeout(BUSY_TIMEOUT)
        });
    options
}

/// Lends the writer's connection only outside of any transaction, and replaces it after a storage fault.
///
/// After `SQLITE_FULL` and `SQLITE_IOERR` SQLite may have rolled the transaction back by itself. The driver's own ROLLBACK fails
/// then and its transaction depth stays at 1; its next transaction would be a savepoint that nothing ever commits. And SQLite may
/// be in a transaction that the driver does not know of: later writes would be acknowledged, and lost unless it were committed.
fn with_connection_checks(mut options: ConnectOptions, health: &Arc<StorageHealth>) -> ConnectOptions {
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
                    error!("closed the write connection, because it was still in a transaction or did not answer; the transaction is rolled back");
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
