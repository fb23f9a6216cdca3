//! A transaction that can no longer be used once a statement of it has failed.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use sea_orm::{ConnectionTrait, DatabaseTransaction, DbBackend, DbErr, ExecResult, QueryResult, Statement};

use super::account_share::SharePermit;
use super::failure::Failure;
use super::group_commit::{self, GroupMember};
use super::health::StorageHealth;
use super::statement_counts::StatementRoute;

/// A transaction of the writer.
///
/// After a failed statement every later statement fails, and so does [`Transaction::commit`]. SQLite may have rolled the
/// transaction back, so that a later statement would be committed without the others; PostgreSQL answers
/// COMMIT with success and keeps nothing. Dropped without a commit, it is rolled back.
pub struct Transaction {
    inner: DriverTransaction,
    failure: OnceLock<Failure>,
    health: Arc<StorageHealth>,
    /// The connection that it holds of its account's share.
    share: Option<SharePermit>,
}

/// The transaction of the driver.
pub(super) enum DriverTransaction {
    /// Of a connection to PostgreSQL.
    Alone(DatabaseTransaction),
    /// Of the writer of SQLite, whose commit it may share with others.
    Member(GroupMember),
}

impl DriverTransaction {
    fn driver(&self) -> Result<&DatabaseTransaction, DbErr> {
        match self {
            Self::Alone(transaction) => Ok(transaction),
            Self::Member(member) => member.outer(),
        }
    }
}

impl Transaction {
    pub(super) fn new(
        inner: DriverTransaction,
        health: Arc<StorageHealth>,
        share: Option<SharePermit>,
    ) -> Self {
        Self { inner, failure: OnceLock::new(), health, share }
    }

    /// Returns the driver's own transaction, for migrations.
    pub(super) fn inner(&self) -> Result<&DatabaseTransaction, DbErr> {
        self.inner.driver()
    }

    /// Commits the transaction. If this succeeds, its changes outlive a crash of the machine.
    ///
    /// # Errors
    /// [`DbErr`] when a statement of the transaction failed before: nothing of it is kept. Also when the commit failed: nothing of it
    /// is visible, but if a sync failed, or the connection to PostgreSQL broke, a restart may still find it. Also when a file of the
    /// database was removed meanwhile: the changes are kept only if it comes back.
    pub async fn commit(self) -> Result<(), DbErr> {
        self.allow()?;
        // The share is held until the commit has ended, because the commit uses the connection.
        let Self { inner, health, share: _share, .. } = self;
        health.statements.add(StatementRoute::Write);
        match inner {
            DriverTransaction::Alone(transaction) => group_commit::commit(transaction, &health).await,
            DriverTransaction::Member(member) => member.commit().await,
        }
    }

    fn allow(&self) -> Result<(), DbErr> {
        match self.failure.get() {
            None => Ok(()),
            Some(failure) => Err(failure.into()),
        }
    }

    fn record<T>(&self, result: Result<T, DbErr>) -> Result<T, DbErr> {
        result.map_err(|error| {
            let error = self.health.record_write(error);
            if let Some(share) = &self.share {
                share.record(&error);
            }
            if let DriverTransaction::Member(member) = &self.inner {
                member.record(&error);
            }
            // Only the first failure is kept: the later ones follow from it.
            let _ = self.failure.set((&error).into());
            error
        })
    }
}

#[async_trait]
impl ConnectionTrait for Transaction {
    fn get_database_backend(&self) -> DbBackend {
        match &self.inner {
            DriverTransaction::Alone(transaction) => transaction.get_database_backend(),
            DriverTransaction::Member(_) => DbBackend::Sqlite,
        }
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        self.allow()?;
        self.health.statements.add(StatementRoute::Write);
        self.record(self.health.driver_panics.checked(self.inner.driver()?.execute_raw(statement)).await)
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        self.allow()?;
        self.health.statements.add(StatementRoute::Write);
        self.record(self.health.driver_panics.checked(self.inner.driver()?.execute_unprepared(sql)).await)
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        self.allow()?;
        self.health.statements.add(StatementRoute::Write);
        self.record(self.health.driver_panics.checked(self.inner.driver()?.query_one_raw(statement)).await)
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.allow()?;
        self.health.statements.add(StatementRoute::Write);
        self.record(self.health.driver_panics.checked(self.inner.driver()?.query_all_raw(statement)).await)
    }
}
