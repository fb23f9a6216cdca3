//! Removes the passages of users whose accounts were removed.

use errors::Error;

use super::context::RepairContext;
use crate::service_state::{self, ServiceStateKey};

/// Removes the passages of removed users from the index, if this server maintains and reaches it. The rows of these users are gone, so
/// the service state lists them.
///
/// # Errors
/// [`Error`] when the index fails; the next call continues.
pub async fn purge_removed_users(ctx: &RepairContext) -> Result<(), Error> {
    if !ctx.index_watch.can_maintain() {
        return Ok(());
    }
    for user in service_state::removed_users(ctx.core.db.read()).await? {
        // The passages before the entry of the list: after a crash in between they are removed once more.
        ctx.retrieval.delete_user(user).await?;
        service_state::forget(ctx.core.db.write(), ServiceStateKey::RemovedUser(user)).await?;
    }
    Ok(())
}
