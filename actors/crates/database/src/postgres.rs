//! The pools of connections to PostgreSQL.
//!
//! Each kind of work has separate pools, because a statement that waits for a lock keeps its connection: when all connections of a
//! pool wait, only work of that kind is refused. The lock timeout bounds the wait, and depends on the kind of work.

use std::sync::Arc;
use std::time::Duration;

use sea_orm::{ConnectOptions, Database, DbErr, RuntimeErr};
use sqlx::{Connection as _, PgConnection, Row as _, raw_sql};
use tokio::time::timeout;
use tracing::log::LevelFilter;

use super::account_share::AccountShares;
use super::connection::Connection;
use super::db::Db;
use super::direct::DirectConnections;
use super::fault::standby;
use super::health::StorageHealth;
use super::pools::{Pools, PoolsByWork};
use super::session_lock::LockHolder;

/// Longest wait for a connection of a pool.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);
/// Longest wait of a write for a connection of its account's share. The transactions of one account follow one another anyway
/// (they lock one row of `library_usage` first), so this is time for a burst of some hundred short ones.
const MAX_SHARE_WAIT: Duration = Duration::from_secs(5);

// Together 31 connections, and one for the locks: three Carrel servers fit into PostgreSQL's default of 100.

/// Reads and changes of libraries by requests. A write may wait for two locks, for the row that counts what its account has and for
/// what it changes, so it is refused within 8 seconds, and those that wait behind it after 4. A transaction of an import that takes a
/// hundred rows may hold the first lock for a second or two.
const API_POOLS: PoolSizes = PoolSizes { readers: 6, writers: 9, lock_timeout: "4s" };
/// Sign-in, sessions, keys, connections by OAuth, and the limits of callers: rows that are locked for milliseconds.
const ACCOUNT_POOLS: PoolSizes = PoolSizes { readers: 3, writers: 3, lock_timeout: "2s" };
/// Jobs and clean-ups. No user waits for them, and aborted work must be repeated.
const JOB_POOLS: PoolSizes = PoolSizes { readers: 4, writers: 6, lock_timeout: "10s" };

/// The maximum number of connections of a kind of work, and the lock timeout of its statements.
#[derive(Clone, Copy)]
struct PoolSizes {
    readers: u32,
    writers: u32,
    lock_timeout: &'static str,
}

/// Opens the pools of all kinds of work. Only the pools for requests connect now; the others connect on demand.
pub(super) async fn connect(url: &str) -> Result<Db, DbErr> {
    let health = Arc::default();
    let api = match open_pools(url, API_POOLS, Opening::AtOnce, &health).await {
        Ok(pools) => pools,
        // The pool reports only a timeout, whatever the server answered.
        Err(error) => return Err(cause_of(url, error).await),
    };
    let by_work = PoolsByWork {
        api,
        accounts: open_pools(url, ACCOUNT_POOLS, Opening::Lazily, &health).await?,
        jobs: open_pools(url, JOB_POOLS, Opening::Lazily, &health).await?,
    };
    let mut session = options(url, 1, JOB_POOLS.lock_timeout, &health);
    require_primary(&mut session);
    // Locks end with their connection, so it is opened when the first lock is needed and not replaced while it works. Only a failover
    // replaces it: a lock of the former primary excludes no process that uses the new one.
    session.connect_lazy(true).idle_timeout(None::<Duration>).max_lifetime(None::<Duration>);
    let locks = LockHolder::Session(Database::connect(session).await?);
    let Pools { read, write } = by_work.api.clone();
    let by_work = Some(Arc::new(by_work));
    Ok(Db { read, write, by_work, queue: None, direct: DirectConnections::default(), health, locks })
}

/// Returns why no connection can be made. A pool retries a refused connection until its timeout and then reports only the timeout; a
/// connection outside of the pool fails with the answer of the system or the server.
async fn cause_of(url: &str, error: DbErr) -> DbErr {
    let attempt = async {
        let mut connection = PgConnection::connect(url).await?;
        is_in_recovery(&mut connection).await
    };
    let refused = match timeout(ACQUIRE_TIMEOUT, attempt).await {
        Ok(Err(cause)) => cause,
        Ok(Ok(is_in_recovery)) => return check_primary(is_in_recovery).err().unwrap_or(error),
        Err(_) => std::io::Error::from(std::io::ErrorKind::TimedOut).into(),
    };
    DbErr::Conn(RuntimeErr::SqlxError(refused.into()))
}

/// When the first connection of a pool is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opening {
    /// Immediately, so that a wrong URL is an error at the start.
    AtOnce,
    /// On demand. Commands of the command line need few connections.
    Lazily,
}

async fn open_pools(
    url: &str,
    sizes: PoolSizes,
    opening: Opening,
    health: &Arc<StorageHealth>,
) -> Result<Pools, DbErr> {
    let options = |connections| {
        let mut options = options(url, connections, sizes.lock_timeout, health);
        options.connect_lazy(opening == Opening::Lazily);
        options
    };
    let mut writers = options(sizes.writers);
    require_primary(&mut writers);
    let (write, read) = (Database::connect(writers).await?, Database::connect(options(sizes.readers)).await?);
    let shares = AccountShares::of_pool(sizes.writers, MAX_SHARE_WAIT);
    Ok(Pools {
        read: Connection::reader(read, health.clone()),
        write: Connection::writer(write, health.clone(), Some(shares)),
    })
}

fn options(
    url: &str,
    connections: u32,
    lock_timeout: &'static str,
    health: &Arc<StorageHealth>,
) -> ConnectOptions {
    let mut options = ConnectOptions::new(url);
    options
        .max_connections(connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        // By default every statement is logged at the level Info.
        .sqlx_logging_level(LevelFilter::Trace)
        .map_sqlx_postgres_opts(move |postgres| {
            postgres.options([
                // Without them a statement that waits in a queue of locks holds its connection, and the pool runs dry (row 15).
                ("statement_timeout", "30s"),
                ("lock_timeout", lock_timeout),
                ("idle_in_transaction_session_timeout", "30s"),
            ])
        });
    let lending = health.clone();
    // Otherwise writes would be refused until the connections to the former primary have aged out, half an hour after a failover.
    options.map_sqlx_postgres_before_acquire(move |_, connection| {
        let is_kept = !lending.is_before_failover(connection.age);
        Box::pin(async move { Ok(is_kept) })
    });
    options
}

/// Makes a pool refuse new connections to a standby, where a stale address may lead after a failover. It grants advisory locks that
/// exclude no process of the primary, and a writer that stays on it would be refused until it ages out. Readers may use a standby:
/// outdated reads are better than none.
fn require_primary(options: &mut ConnectOptions) {
    options.map_sqlx_postgres_pool_opts(|pool| {
        pool.after_connect(|connection, _| Box::pin(refuse_standby(connection)))
    });
}

/// Refuses a connection to a standby.
async fn refuse_standby(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let is_in_recovery = is_in_recovery(connection).await?;
    check_primary(is_in_recovery).map_err(|error| sqlx::Error::Configuration(error.into()))
}

/// Returns whether the server of a connection follows another one.
async fn is_in_recovery(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    raw_sql("SELECT pg_is_in_recovery()").fetch_one(connection).await?.try_get(0)
}

/// Accepts only a server that is not in recovery.
///
/// # Errors
/// A [`DbErr`] that `StorageFault::of` maps to `StorageFault::ReadOnly`.
fn check_primary(is_in_recovery: bool) -> Result<(), DbErr> {
    if is_in_recovery { Err(standby()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::super::StorageFault;
    use super::*;

    #[test]
    fn standby_is_refused_and_primary_accepted() {
        check_primary(false).unwrap();

        let refused = check_primary(true).unwrap_err();

        assert_eq!(StorageFault::of(&refused), Some(StorageFault::ReadOnly));
        assert!(refused.to_string().contains("the server is a read-only standby"), "{refused}");
    }

    /// config/README.md and config/default.toml name the sum, because several Carrel servers may share a database server.
    #[test]
    fn three_services_fit_into_the_default_of_postgres() {
        const DEFAULT_MAX: u32 = 100;
        const RESERVED_FOR_SUPERUSERS: u32 = 3;

        let of_pools: u32 =
            [API_POOLS, ACCOUNT_POOLS, JOB_POOLS].iter().map(|sizes| sizes.readers + sizes.writers).sum();
        // And the one of the locks.
        let service = of_pools + 1;

        assert_eq!(service, 32);
        assert!(3 * service <= DEFAULT_MAX - RESERVED_FOR_SUPERUSERS);
    }

    #[tokio::test]
    async fn refused_connection_is_reported() {
        // Bound and closed again, so that the connection is refused.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();

        let error =
            connect(&format!("postgres://reader:secret@{free}/rows")).await.err().unwrap().to_string();

        assert!(error.contains("refused") && !error.contains("secret"), "{error}");
    }
}
