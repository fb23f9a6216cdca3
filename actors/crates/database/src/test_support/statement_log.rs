//! The statements that are sent through a database.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use sea_orm::Statement;

use crate::db::Db;

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
}

impl Db {
    /// Records the statements of this clone, and of clones that are made of it later, from now on: for tests of which statements an
    /// operation takes, and how many.
    pub fn record_statements(&mut self) -> StatementLog {
        let log = StatementLog::default();
        for connection in [&mut self.read, &mut self.write] {
            let log = log.clone();
            connection.pool.set_metric_callback(move |info| log.push(info.statement));
        }
        log
    }
}
