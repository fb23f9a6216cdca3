//! The open database.

use std::sync::Arc;

use sea_orm::{ConnectionTrait, DatabaseBackend, DbErr, TransactionTrait};

use super::connection::Connection;
use super::direct::DirectConnections;
use super::group_commit::WriterQueue;
use super::health::StorageHealth;
use super::pools::{Pools, PoolsByWork};
use super::session_lock::LockHolder;
use super::statement_counts::StatementRoute;
use super::transaction::{DriverTransaction, Transaction};

/// The open database. Clones share the pools.
#[derive(Clone)]
pub struct Db {
    pub(super) read: Connection,
    pub(super) write: Connection,
    /// The pools of each kind of work; `None` on SQLite, where one writer does all of it.
    pub(super) by_work: Option<Arc<PoolsByWork>>,
    /// The transactions that wait for the writer of SQLite; `None` on PostgreSQL.
    pub(super) queue: Option<WriterQueue>,
    /// The connections for reads on the thread of the caller; none on PostgreSQL.
    pub(super) direct: DirectConnections,
    pub(super) health: Arc<StorageHealth>,
    /// Holds the session locks of this process.
    pub(super) locks: LockHolder,
}

impl Db {
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

    /// Returns how many statements were sent this way since the database was opened, through this clone and all others.
    pub fn statement_count(&self, route: StatementRoute) -> u64 {
        self.health.statements.get(route)
    }

    /// Begins a transaction that may write. On SQLite no other write is possible until it ends.
    ///
    /// # Errors
    /// The database is damaged, removed or cannot be reached, another process writes for longer than the busy timeout, or the account
    /// for which this is done holds its share of the connections ([`on_behalf_of`](crate::on_behalf_of)).
    pub async fn begin(&self) -> Result<Transaction, DbErr> {
        self.begin_transaction(false).await
    }

    /// Begins a transaction that may write, as [`Self::begin`], and that may share its commit with those before it on SQLite. It reads
    /// what these wrote, although their commit may still fail. So the caller reports success only after the commit of this transaction
    /// itself, even if it changes nothing.
    ///
    /// # Errors
    /// The same as [`Self::begin`].
    pub async fn begin_in_group(&self) -> Result<Transaction, DbErr> {
        self.begin_transaction(true).await
    }

    async fn begin_transaction(&self, may_join: bool) -> Result<Transaction, DbErr> {
        self.write.allow()?;
        // Before the connection: an account that waits for its share holds none.
        let share = self.write.share().await?;
        self.health.statements.add(StatementRoute::Write);
        let started = match &self.queue {
            Some(queue) => {
                let begun = queue.begin(&self.write.pool, &self.health, may_join).await;
                begun.map(DriverTransaction::Member)
            }
            None => {
                // A caller that goes away while PostgreSQL answers BEGIN would leave a transaction open that the driver does not
                // know of: what others write through that connection would be acknowledged and lost. So BEGIN always runs to its end.
                let pool = self.write.pool.clone();
                let begin = tokio::spawn(async move { pool.begin().await });
                let begun =
                    begin.await.map_err(|cause| DbErr::Custom(format!("BEGIN was not answered: {cause}")))?;
                begun.map(DriverTransaction::Alone)
            }
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
}
