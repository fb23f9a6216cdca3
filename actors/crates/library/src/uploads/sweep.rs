//! Forgetting uploads that were never completed. Their files go with the clean-up of the store.

use std::collections::BTreeSet;
use std::time::Duration;

use entity::id::UserId;
use entity::upload::{Column, Entity};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QuerySelect};

use actors::context::CoreContext;
use errors::Error;
use crate::owned_transaction::begin_owned;

/// An upload that is not completed is forgotten so long after its address ended: until then bytes that came in time may
/// be completed late, and whoever asks is told that it expired.
pub const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

/// Removes them.
///
/// # Errors
/// The database.
pub async fn sweep(core: &CoreContext) -> Result<(), Error> {
    let ended_before = core.clock.now() - KEPT;
    // Not DISTINCT: for that SQLite reads every upload, in the order of the users.
    let owners = Entity::abandoned(ended_before).select_only().column(Column::UserId);
    let owners: Vec<UserId> = owners.into_tuple().all(core.db.read()).await?;
    for user in BTreeSet::from_iter(owners) {
        // One transaction for each, because the names of uploads count towards the libraries of their users.
        let txn = begin_owned(&core.db, user).await?;
        Entity::delete_many()
            .filter(Column::UserId.eq(user))
            .filter(Entity::is_abandoned(ended_before))
            .exec(&txn)
            .await?;
        txn.commit().await?;
    }
    Ok(())
}
