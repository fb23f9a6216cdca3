//! A write of counts in a transaction that writes other data too.

use std::collections::HashSet;
use std::sync::Arc;

use entity::usage_day;
use errors::Error;
use sea_orm::ConnectionTrait;
use tokio::sync::OwnedMutexGuard;
use values::id::UserId;

use super::count_rows::write_counts;
use super::limit_table::{CountBatch, LimitTable};

/// Counts that are being written. No other write of counts begins before it is dropped. If it is dropped before [`Self::finish`], the
/// counts stay unwritten as far as is known, and are written again: their rows hold absolute numbers.
pub(crate) struct CountWrite {
    table: Arc<LimitTable>,
    batch: CountBatch,
    _guard: OwnedMutexGuard<()>,
}

impl CountWrite {
    /// Takes the counts that are in memory alone; `None` if there are none, or if they are being written.
    pub(super) fn begin(table: &Arc<LimitTable>) -> Option<Self> {
        let guard = table.write_lock().try_lock_owned().ok()?;
        let batch = table.unwritten();
        (!batch.is_empty()).then(|| Self { table: table.clone(), batch, _guard: guard })
    }

    /// Returns the users whose counts these are.
    pub fn users(&self) -> impl Iterator<Item = UserId> {
        self.batch.keys().map(|(user, ..)| *user)
    }

    /// Writes the counts of these users, who must be locked. Returns the rows for [`Self::finish`].
    pub async fn write(
        &self,
        txn: &impl ConnectionTrait,
        existing: &HashSet<UserId>,
    ) -> Result<Vec<usage_day::Model>, Error> {
        write_counts(txn, &self.batch, existing).await
    }

    /// Records that the transaction was committed.
    pub fn finish(self, rows: Vec<usage_day::Model>) {
        self.table.record_written(self.batch, rows);
    }
}
