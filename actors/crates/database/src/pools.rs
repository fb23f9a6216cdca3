//! The connections of each kind of work.

use sea_orm::DatabaseConnection;

use super::connection::Connection;

/// The pools of a kind of work.
#[derive(Clone)]
pub(super) struct Pools {
    pub read: Connection,
    pub write: Connection,
}

/// The pools of every kind of work.
pub(super) struct PoolsByWork {
    pub api: Pools,
    pub accounts: Pools,
    pub jobs: Pools,
}

impl PoolsByWork {
    /// Returns the pools of all kinds of work, to close them.
    pub fn all(&self) -> Vec<DatabaseConnection> {
        let pools = [&self.api, &self.accounts, &self.jobs];
        pools.into_iter().flat_map(|pools| [pools.read.pool.clone(), pools.write.pool.clone()]).collect()
    }
}
