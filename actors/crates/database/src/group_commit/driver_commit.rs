//! The commit of a transaction of the driver.

use std::pin::pin;

use sea_orm::{DatabaseTransaction, DbErr};

use crate::health::StorageHealth;

/// Commits a transaction of the driver. A write to a removed file is not acknowledged.
pub(crate) async fn commit(transaction: DatabaseTransaction, health: &StorageHealth) -> Result<(), DbErr> {
    let committing = pin!(transaction.commit());
    // Dropped before the transaction, which gives the connection back.
    let mut unknown = UnknownOutcome(Some(health));
    committing.await.map_err(|error| health.record_write(error))?;
    unknown.0 = None;
    health.require_files()
}

/// Causes the connection of the writer to be replaced when it is dropped before the transaction is known to be committed: the commit
/// failed, or its caller was dropped. It is unknown then whether SQLite has left the transaction, and whether the storage failed.
struct UnknownOutcome<'a>(Option<&'a StorageHealth>);

impl Drop for UnknownOutcome<'_> {
    fn drop(&mut self) {
        if let Some(health) = self.0 {
            health.distrust_writer();
        }
    }
}
