//! An answer in progress. It already counts towards the monthly limit; when its lease expires without an answer, it is refunded.

use sea_orm::entity::prelude::*;
use values::id::{AnswerId, UserId};
use values::time::{Month, Timestamp};

/// An answer in progress. It already counts towards the monthly limit; when its lease expires without an answer, it is refunded.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "answer_claim")]
pub struct Model {
    /// The id of the answer.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: AnswerId,
    /// The user who owns it.
    pub user_id: UserId,
    /// The UTC month in which it counts.
    pub month: Month,
    /// End of the lease: after this time the process that worked on the answer counts as dead.
    pub lease_until: Timestamp,
}

crate::owned::owned_table!();

impl Entity {
    /// Returns the claims of all users whose lease has expired.
    pub fn expired(now: Timestamp) -> Select<Entity> {
        Self::find().filter(Column::LeaseUntil.lte(now))
    }
}
