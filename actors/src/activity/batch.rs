//! What the actor of the activity writes together.

use std::collections::HashSet;

use database::Db;
use entity::activity;
use errors::Error;
use values::id::{GrantId, KeyId, UserId};

use super::lines::insert_lines;
use crate::auth::existing_users::lock_existing_users;
use crate::auth::last_use::LastUses;
use crate::auth::limits::RateLimits;
use crate::auth::{grants, keys};

/// The lines of calls, and the last uses of the keys and grants.
#[derive(Clone, Debug, Default)]
pub struct ActivityBatch {
    pub lines: Vec<activity::Model>,
    pub keys: LastUses<KeyId>,
    pub grants: LastUses<GrantId>,
}

impl ActivityBatch {
    fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.keys.is_empty() && self.grants.is_empty()
    }

    fn users(&self) -> HashSet<UserId> {
        let of_lines = self.lines.iter().map(|line| line.user_id);
        let of_keys = self.keys.iter().map(|(_, last_use)| last_use.user);
        let of_grants = self.grants.iter().map(|(_, last_use)| last_use.user);
        of_lines.chain(of_keys).chain(of_grants).collect()
    }
}

/// Writes a batch in one transaction, with the counts of the day that are in memory alone: they change with the same calls, so that the
/// actor of limits seldom finds some to write.
pub async fn write(db: &Db, limits: &RateLimits, batch: &ActivityBatch) -> Result<(), Error> {
    if batch.is_empty() {
        return Ok(());
    }
    let (counts, mut users) = (limits.begin_write(), batch.users());
    if let Some(counts) = &counts {
        users.extend(counts.users());
    }
    let txn = db.begin().await?;
    // No line of an account that was removed is written. The lock keeps accounts from being removed before the commit, and comes before
    // those of their keys and grants, as in all transactions.
    let existing = lock_existing_users(&txn, users).await?;
    let lines: Vec<&activity::Model> =
        batch.lines.iter().filter(|line| existing.contains(&line.user_id)).collect();
    insert_lines(&txn, &lines).await?;
    keys::write_last_uses(&txn, &batch.keys).await?;
    grants::write_last_uses(&txn, &batch.grants).await?;
    let Some(counts) = counts else { return Ok(txn.commit().await?) };
    let rows = counts.write(&txn, &existing).await?;
    txn.commit().await?;
    counts.finish(rows);
    Ok(())
}
