//! The calls of a user on one UTC day, by surface and by the counter that counted them.

use sea_orm::entity::prelude::*;
use values::id::{UsageCounterId, UserId};
use values::kind::MeteredSurface;
use values::time::Day;

/// The calls of a user on one UTC day, by surface and by the counter that counted them. Their sum over all counters is the usage of
/// the day. Each row is written with the absolute number of its counter, so writing it again adds nothing.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "usage_day")]
pub struct Model {
    /// The user whose calls are counted.
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    /// The UTC day of the calls.
    #[sea_orm(primary_key, auto_increment = false)]
    pub day: Day,
    /// The API that was called: REST or MCP.
    #[sea_orm(primary_key, auto_increment = false)]
    pub surface: MeteredSurface,
    /// The counter in the memory of one process.
    #[sea_orm(primary_key, auto_increment = false)]
    pub counter_id: UsageCounterId,
    /// Number of requests, or of tool calls by their weight.
    pub calls: i64,
}

crate::owned::owned_table!();

impl Entity {
    /// Returns the rows of these users, for the counters of many users that are written together.
    pub fn of_users(users: impl IntoIterator<Item = UserId>) -> Select<Entity> {
        Self::find().filter(Column::UserId.is_in(users))
    }

    /// Returns the rows of all users, for the counters of a day.
    pub fn of_every_user() -> Select<Entity> {
        Self::find()
    }
}
