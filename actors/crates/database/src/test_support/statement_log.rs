//! The statements that are sent through a database.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use sea_orm::Statement;

use crate::connection::Connection;
use crate::db::Db;
use crate::pools::{Pools, PoolsByWork};

/// The statements that were sent through a clone of a database. Clones share the log.
#[derive(Clone, Debug, Default)]
pub struct StatementLog(Arc<Mutex<Vec<Statement>>>);

impl StatementLog {
    fn push(&self, statement: &Statement) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(statement.clone());
    }

    /// Removes the statements from the log and returns them, with their values and in their order.
    pub fn take(&self) -> Vec<Statement> {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Records what is sent through a connection.
    fn record(&self, connection: &mut Connection) {
        let log = self.clone();
        connection.pool.set_metric_callback(move |info| log.push(info.statement));
    }

    fn record_pools(&self, pools: &Pools) -> Pools {
        let mut pools = pools.clone();
        self.record(&mut pools.read);
        self.record(&mut pools.write);
        pools
    }
}

impl Db {
    /// Records the statements of this clone, and of clones that are made of it later, from now on: for tests of which statements an
    /// operation takes, and how many.
    pub fn record_statements(&mut self) -> StatementLog {
        let log = StatementLog::default();
        log.record(&mut self.read);
        log.record(&mut self.write);
        let direct = log.clone();
        self.direct.set_statement_callback(move |statement| direct.push(statement));
        if let Some(by_work) = &self.by_work {
            self.by_work = Some(Arc::new(PoolsByWork {
                api: log.record_pools(&by_work.api),
                accounts: log.record_pools(&by_work.accounts),
                jobs: log.record_pools(&by_work.jobs),
            }));
        }
        log
    }
}
