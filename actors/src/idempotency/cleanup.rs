//! The clean-up of responses that were stored for their whole time.

use entity::idempotency::{Column, Entity};
use errors::Error;
use library::owned_transaction::begin_owned;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect, Select};
use values::id::UserId;
use values::time::Timestamp;

use super::row_state::RESPONSE_RETENTION;
use super::store::Idempotency;

impl Idempotency {
    /// Removes responses that were stored for 24 hours.
    pub async fn sweep(&self, now: Timestamp) -> Result<(), Error> {
        let before = now - RESPONSE_RETENTION;
        // One user at a time: a query for all of them would return a row for each response.
        while let Some(user) = oldest_of(before).into_tuple::<UserId>().one(self.db.read()).await? {
            // One transaction for each user, because each locks its user's row and requests wait for it.
            let txn = begin_owned(&self.db, user).await?;
            let past = Column::CreatedAt.lt(before);
            let removed = Entity::delete_owned(user).filter(past).exec(&txn).await?;
            txn.commit().await?;
            // Another process has removed them meanwhile, and removes the others too.
            if removed.rows_affected == 0 {
                break;
            }
        }
        Ok(())
    }
}

/// Selects the user of the oldest response that was stored before this time.
fn oldest_of(before: Timestamp) -> Select<Entity> {
    // In the order of the index `idempotency_created`, so that one row is read.
    Entity::created_before(before)
        .select_only()
        .column(Column::UserId)
        .order_by_asc(Column::CreatedAt)
        .limit(1)
}

#[cfg(test)]
mod tests {
    use database::{Db, QueryPlan};
    use sea_orm::{DbBackend, QueryTrait};

    use super::*;

    #[actix::test]
    async fn oldest_response_is_read_from_an_end_of_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = Db::open(&url).await.unwrap();

        let query = oldest_of(Timestamp::from_millis(1)).build(DbBackend::Sqlite);
        let plan = QueryPlan::of(&db, query).await.unwrap();

        assert!(plan.has_step("idempotency_created (created_at<?)"), "{plan:#?}");
        assert!(!plan.sorts(), "{plan:#?}");
    }
}
