//! An answer that is being made: it counts already, and is given back where its lease ends without one.

use crate::id::{AnswerId, UserId};
use crate::time::{Month, Timestamp};
use sea_orm::entity::prelude::*;

/// An answer that is being made: it counts already, and is given back where its lease ends without one.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "answer_claim")]
pub struct Model {
    /// The answer.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: AnswerId,
    /// Whose it is.
    pub user_id: UserId,
    /// The UTC month that it counts in.
    pub month: Month,
    /// From then on nobody makes it any more.
    pub lease_until: Timestamp,
}

crate::owned::owned_table!();

impl Entity {
    /// The rows, of everybody, that nobody works on at this moment.
    pub fn dead_at(now: Timestamp) -> Select<Entity> {
        Self::find().filter(Column::LeaseUntil.lte(now))
    }
}
