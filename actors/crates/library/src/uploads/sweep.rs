//! Deletes uploads that were never completed. The clean-up of the store deletes their files.

use std::collections::BTreeSet;
use std::time::Duration;

use entity::upload::{Column, Entity};
use sea_orm::{QueryFilter, QuerySelect};
use values::id::UserId;

use crate::context::CoreContext;
use crate::owned_transaction::begin_owned;
use errors::Error;

/// Time after which an upload that was not completed is deleted, from the end of its URL. Until then bytes that arrived in time
/// may be completed late, and a request for the upload says that it expired.
const EXPIRED_RETENTION: Duration = Duration::from_secs(7 * 24 * 3600);

/// Deletes the uploads of all users that expired a week ago or earlier without having been completed.
pub async fn sweep(core: &CoreContext) -> Result<(), Error> {
    let ended_before = core.clock.now() - EXPIRED_RETENTION;
    // Without DISTINCT: with it SQLite reads every upload, in the order of the users.
    let owners = Entity::abandoned(ended_before).select_only().column(Column::UserId);
    let owners: Vec<UserId> = owners.into_tuple().all(core.db.read()).await?;
    for user in BTreeSet::from_iter(owners) {
        // One transaction for each user, because file names of uploads count towards the library. One for all users would lock
        // their counts in any order, and deadlock with a late completion or the removal of an account.
        let txn = begin_owned(&core.db, user).await?;
        Entity::delete_owned(user).filter(Entity::is_abandoned(ended_before)).exec(&txn).await?;
        txn.commit().await?;
    }
    Ok(())
}
