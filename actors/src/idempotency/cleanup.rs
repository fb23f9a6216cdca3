//! The clean-up of responses that were stored for their whole time.

use std::collections::BTreeSet;

use entity::idempotency::{Column, Entity};
use errors::Error;
use library::owned_transaction::begin_owned;
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect};
use values::id::UserId;
use values::time::Timestamp;

use super::row_state::RESPONSE_RETENTION;
use super::store::Idempotency;

impl Idempotency {
    /// Removes responses that were stored for 24 hours.
    pub async fn sweep(&self, now: Timestamp) -> Result<(), Error> {
        // Without DISTINCT: with it SQLite reads every response, in the order of the users.
        let users = Entity::created_before(now - RESPONSE_RETENTION).select_only().column(Column::UserId);
        let users: Vec<UserId> = users.into_tuple().all(self.db.read()).await?;
        // One transaction for each user, because each locks its user's row and requests wait for it.
        for user in BTreeSet::from_iter(users) {
            let txn = begin_owned(&self.db, user).await?;
            let past = Column::CreatedAt.lt(now - RESPONSE_RETENTION);
            Entity::delete_owned(user).filter(past).exec(&txn).await?;
            txn.commit().await?;
        }
        Ok(())
    }
}
