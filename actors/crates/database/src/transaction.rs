//! A transaction that can no longer be used once a statement of it has failed.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use sea_orm::{
    ConnectionTrait, DatabaseTransaction, DbBackend, DbErr, ExecResult, QueryResult, RuntimeErr, Statement,
};

use super::account_share::SharePermit;
use super::fault::driver_error;
use super::health::StorageHealth;
use super::statement_counts::StatementRoute;

/// A transaction of the writer.
///
/// After a failed statement every later statement fails, and so does [`Transaction::commit`]. SQLite may have rolled the
/// transaction back, so that a later statement would be committed without the others; PostgreSQL answers
/// COMMIT with success and keeps nothing. Dropped without a commit, it is rolled back.
pub struct Transaction {
    inner: DatabaseTransaction,
    failure: OnceLock<Failure>,
    health: Arc<StorageHealth>,
    /// The connection that it holds of its account's share.
    share: Option<SharePermit>,
}

/// The first failure of a transaction, in a form that can be returned for each later statement.
enum Failure {
    /// An error of the driver, or of this crate in its form ([`super::fault`]), by which it is classified.
    Driver(Arc<sqlx::Error>),
    /// Another error, of which only the message is kept.
    Other(String),
}

impl From<&DbErr> for Failure {
    fn from(error: &DbErr) -> Self {
        match driver_error(error) {
            Some(cause) => Self::Driver(cause.clone()),
            None => Self::Other(error.to_string()),
        }
    }
}

impl From<&Failure> for DbErr {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::Driver(cause) => DbErr::Exec(RuntimeErr::SqlxError(cause.clone())),
            Failure::Other(text) => {
                DbErr::Custom(format!("an earlier statement of the transaction failed: {text}"))
            }
        }
    }
}

impl Transaction {
    pub(super) fn new(
        inner: DatabaseTransaction,
        health: Arc<StorageHealth>,
        share: Option<SharePermit>,
    ) -> Self {
        Self { inner, failure: OnceLock::new(), health, share }
    }

    /// Returns the driver's own transaction, for migrations.
    pub(super) fn inner(&self) -> &DatabaseTransaction {
        &self.inner
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
        inner.commit().await.map_err(|error| {
            // It is unknown whether SQLite has left the transaction, so the connection is not used again.
            health.distrust_writer();
            health.record_write(error)
        })?;
        // Tested after the commit, so that a write to a removed file is not acknowledged.
        health.require_files()
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
            // Only the first failure is kept: the later ones follow from it.
            let _ = self.failure.set((&error).into());
            error
        })
    }
}

#[async_trait]
impl ConnectionTrait for Transaction {
    fn get_database_backend(&self) -> DbBackend {
        self.inner.get_database_backend()
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        self.allow()?;
        self.health.statements.add(StatementRoute::Write);
        self.record(self.inner.execute_raw(statement).await)
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        self.allow()?;
        self.health.statements.add(StatementRoute::Write);
        self.record(self.inner.execute_unprepared(sql).await)
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        self.allow()?;
        self.health.statements.add(StatementRoute::Write);
        self.record(self.inner.query_one_raw(statement).await)
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.allow()?;
        self.health.statements.add(StatementRoute::Write);
        self.record(self.inner.query_all_raw(statement).await)
    }
}
