//! The statements that are sent through a database.

use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use sea_orm::Statement;

use crate::connection::Connection;
use crate::db::Db;
use crate::pools::{Pools, PoolsByWork};

/// Longest SQL that [`DistinctStatements`] keeps, in bytes. Longer ones insert or look up more rows than shorter ones of their kind.
const MAX_SQL_BYTES: usize = 32_768;

/// The statements that were sent through a clone of a database. Clones share the log.
#[derive(Clone, Debug, Default)]
pub struct StatementLog(Arc<Mutex<Vec<Statement>>>);

impl StatementLog {
    /// Adds a statement.
    pub fn push(&self, statement: &Statement) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(statement.clone());
    }

    /// Removes the statements from the log and returns them, with their values and in their order.
    pub fn take(&self) -> Vec<Statement> {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The distinct statements that were sent, each with the values with which it was sent first. Adding one that is known copies nothing.
/// Clones share them.
#[derive(Clone, Debug, Default)]
pub struct DistinctStatements(Arc<Mutex<HashMap<String, Statement>>>);

impl DistinctStatements {
    /// Adds a statement, unless its SQL is known or has more than 32,768 bytes.
    pub fn add(&self, statement: &Statement) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if statement.sql.len() <= MAX_SQL_BYTES && !known.contains_key(&statement.sql) {
            known.insert(statement.sql.clone(), statement.clone());
        }
    }

    /// Removes the statements and returns them in the order of their SQL. Of those that differ only in the lengths of their lists of values
    /// it returns the longest: SQLite chooses an index by the number of values too.
    pub fn take(&self) -> Vec<Statement> {
        let known = mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let mut longest: BTreeMap<String, Statement> = BTreeMap::new();
        for (sql, statement) in known {
            let kept = longest.entry(shape_of(&sql)).or_insert_with(|| statement.clone());
            if kept.sql.len() < sql.len() {
                *kept = statement;
            }
        }
        longest.into_values().collect()
    }
}

/// Returns SQL whose lists of values have one element, and whose values have no numbers.
fn shape_of(sql: &str) -> String {
    let mut shape = String::with_capacity(sql.len());
    let mut is_parameter = false;
    for c in sql.chars() {
        is_parameter = ['?', '$'].contains(&c) || (is_parameter && c.is_ascii_digit());
        if !(is_parameter && c.is_ascii_digit()) {
            shape.push(if c == '$' { '?' } else { c });
        }
    }
    for (repeated, once) in [("?, ?", "?"), ("(?), (?)", "(?)")] {
        while shape.contains(repeated) {
            shape = shape.replace(repeated, once);
        }
    }
    shape
}

impl Db {
    /// Records the statements of this clone, and of clones that are made of it later, from now on: for tests of which statements an
    /// operation takes, and how many. Replaces a callback that was set before.
    pub fn record_statements(&mut self) -> StatementLog {
        let log = StatementLog::default();
        let recorded = log.clone();
        self.call_with_statements(move |statement| recorded.push(statement));
        log
    }

    /// Calls a function with each statement of this clone, and of clones that are made of it later, from now on.
    pub fn call_with_statements(&mut self, callback: impl Fn(&Statement) + Clone + Send + Sync + 'static) {
        set_callback(&mut self.read, callback.clone());
        set_callback(&mut self.write, callback.clone());
        if let Some(by_work) = &self.by_work {
            self.by_work = Some(Arc::new(PoolsByWork {
                api: pools_with_callback(&by_work.api, &callback),
                accounts: pools_with_callback(&by_work.accounts, &callback),
                jobs: pools_with_callback(&by_work.jobs, &callback),
            }));
        }
        self.direct.set_statement_callback(callback);
    }
}

/// Calls a function with each statement that is sent through a connection.
fn set_callback(connection: &mut Connection, callback: impl Fn(&Statement) + Send + Sync + 'static) {
    connection.pool.set_metric_callback(move |info| callback(info.statement));
}

fn pools_with_callback(
    pools: &Pools,
    callback: &(impl Fn(&Statement) + Clone + Send + Sync + 'static),
) -> Pools {
    let mut pools = pools.clone();
    set_callback(&mut pools.read, callback.clone());
    set_callback(&mut pools.write, callback.clone());
    pools
}

#[cfg(test)]
mod tests {
    use sea_orm::DatabaseBackend;

    use super::*;

    #[test]
    fn one_statement_of_each_shape_is_kept() {
        let sent = DistinctStatements::default();
        for sql in [
            "SELECT n FROM bird WHERE n IN (?, ?)",
            "SELECT n FROM bird WHERE n IN (?, ?, ?, ?)",
            "SELECT n FROM bird WHERE n IN (?, ?)",
            "INSERT INTO bird VALUES ($1, $2), ($3, $4), ($5, $6)",
            "INSERT INTO bird VALUES ($1, $2)",
        ] {
            sent.add(&Statement::from_string(DatabaseBackend::Sqlite, sql));
        }

        let kept: Vec<String> = sent.take().into_iter().map(|statement| statement.sql).collect();

        assert_eq!(
            kept,
            [
                "INSERT INTO bird VALUES ($1, $2), ($3, $4), ($5, $6)",
                "SELECT n FROM bird WHERE n IN (?, ?, ?, ?)"
            ]
        );
        assert!(sent.take().is_empty());
    }
}
