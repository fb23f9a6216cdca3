//! A pool of connections that records storage faults.

use std::sync::Arc;

use async_trait::async_trait;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, DbErr, ExecResult, QueryResult, Statement};

use super::account_share::{AccountShares, SharePermit};
use super::health::StorageHealth;
use super::statement_counts::StatementRoute;

/// The access of a pool: reading, or writing too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// Reads are allowed on a damaged database.
    Read,
    /// Writes are refused on a damaged database and when its files were removed.
    Write,
}

/// A pool of connections to the database. Every failed statement is checked for a fault of the storage.
#[derive(Clone, Debug)]
pub struct Connection {
    pub(super) pool: DatabaseConnection,
    access: Access,
    pub(super) health: Arc<StorageHealth>,
    /// The share of each account of the pool; `None` if it is not bounded.
    shares: Option<AccountShares>,
}

impl Connection {
    /// Creates a pool for reading.
    pub(super) fn reader(pool: DatabaseConnection, health: Arc<StorageHealth>) -> Self {
        Self { pool, access: Access::Read, health, shares: None }
    }

    /// Creates a pool for writing.
    pub(super) fn writer(
        pool: DatabaseConnection,
        health: Arc<StorageHealth>,
        shares: Option<AccountShares>,
    ) -> Self {
        Self { pool, access: Access::Write, health, shares }
    }

    /// Waits until the account of the current task may hold one more connection.
    pub(super) async fn share(&self) -> Result<Option<SharePermit>, DbErr> {
        match &self.shares {
            Some(shares) => shares.acquire().await,
            None => Ok(None),
        }
    }

    /// Counts a statement that is about to be sent.
    fn count_statement(&self) {
        self.health.statements.add(match self.access {
            Access::Read => StatementRoute::Read,
            Access::Write => StatementRoute::Write,
        });
    }

    pub(super) fn allow(&self) -> Result<(), DbErr> {
        match self.access {
            Access::Read => Ok(()),
            Access::Write => self.health.allow_write(),
        }
    }

    /// Inspects the result of a statement and releases its account's share.
    fn record<T>(&self, share: Option<SharePermit>, result: Result<T, DbErr>) -> Result<T, DbErr> {
        let result = match self.access {
            Access::Read => result.inspect_err(|error| {
                self.health.record_read(error);
            }),
            // A write that was made to a removed file is lost, so it must not be acknowledged. The test before the statement cannot see a
            // file that is removed while it runs.
            Access::Write => result
                .map_err(|error| self.health.record_write(error))
                .and_then(|done| self.health.require_files().map(|()| done)),
        };
        if let (Err(error), Some(share)) = (&result, &share) {
            share.record(error);
        }
        result
    }
}

#[async_trait]
impl ConnectionTrait for Connection {
    fn get_database_backend(&self) -> DbBackend {
        self.pool.get_database_backend()
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        self.allow()?;
        let share = self.share().await?;
        self.count_statement();
        self.record(share, self.health.driver_panics.checked(self.pool.execute_raw(statement)).await)
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        self.allow()?;
        let share = self.share().await?;
        self.count_statement();
        self.record(share, self.health.driver_panics.checked(self.pool.execute_unprepared(sql)).await)
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        self.allow()?;
        let share = self.share().await?;
        self.count_statement();
        self.record(share, self.health.driver_panics.checked(self.pool.query_one_raw(statement)).await)
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.allow()?;
        let share = self.share().await?;
        self.count_statement();
        self.record(share, self.health.driver_panics.checked(self.pool.query_all_raw(statement)).await)
    }
}
