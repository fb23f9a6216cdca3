//! Number of calls of a user on one UTC day, by API.

use crate::id::UserId;
use crate::kind::Surface;
use crate::time::Day;
use sea_orm::entity::prelude::*;

/// Number of calls of a user on one UTC day, by API.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "usage_day")]
pub struct Model {
    /// The user.
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    /// The UTC day.
    #[sea_orm(primary_key, auto_increment = false)]
    pub day: Day,
    /// The API that was called: REST or MCP.
    #[sea_orm(primary_key, auto_increment = false)]
    pub surface: Surface,
    /// Number of requests, or of tool calls by their weight.
    pub calls: i64,
}

crate::owned::owned_table!();
