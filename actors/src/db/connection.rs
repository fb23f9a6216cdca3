//! A pool of connections that takes note of storage faults.

use std::sync::Arc;

use async_trait::async_trait;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, DbErr, ExecResult, QueryResult, Statement};

use super::health::StorageHealth;

/// Whether a pool may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Reads are allowed on a damaged database.
    Read,
    /// Nothing is written to a database that is damaged or whose files were removed.
    Write,
}

/// A pool of connections to the database. Every failed statement is looked at for a fault of the storage.
#[derive(Clone, Debug)]
pub struct Connection {
    pub(super) pool: DatabaseConnection,
    pub(super) access: Access,
    pub(super) health: Arc<StorageHealth>,
}

impl Connection {
    pub(super) fn allow(&self) -> Result<(), DbErr> {
        match self.access {
            Access::Read => Ok(()),
            Access::Write => self.health.allow_write(),
        }
    }

    /// Looks at a failure for a fault of the storage. A write counts as done only if the files are in their place after it: one that
    /// went to a removed file is lost.
    fn record<T>(&self, result: Result<T, DbErr>) -> Result<T, DbErr> {
        match self.access {
            Access::Read => result.inspect_err(|error| {
                self.health.record_read(error);
            }),
            Access::Write => {
                let done = result.map_err(|error| self.health.record_write(error))?;
                self.health.require_files()?;
                Ok(done)
            }
        }
    }

    /// Checks that the database answers.
    ///
    /// # Errors
    /// It does not answer.
    pub async fn ping(&self) -> Result<(), DbErr> {
        self.pool.ping().await
    }
}

#[async_trait]
impl ConnectionTrait for Connection {
    fn get_database_backend(&self) -> DbBackend {
        self.pool.get_database_backend()
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        self.allow()?;
        self.record(self.pool.execute_raw(statement).await)
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        self.allow()?;
        self.record(self.pool.execute_unprepared(sql).await)
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        self.allow()?;
        self.record(self.pool.query_one_raw(statement).await)
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.allow()?;
        self.record(self.pool.query_all_raw(statement).await)
    }
}
