//! What a user asked for on one UTC day, by surface.

use crate::id::UserId;
use crate::kind::Surface;
use crate::time::Day;
use sea_orm::entity::prelude::*;

/// What a user asked for on one UTC day, by surface.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "usage_day")]
pub struct Model {
    /// Whose calls they were.
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    /// The UTC day.
    #[sea_orm(primary_key, auto_increment = false)]
    pub day: Day,
    /// By REST or by MCP.
    #[sea_orm(primary_key, auto_increment = false)]
    pub surface: Surface,
    /// Requests, or tool calls by their weight.
    pub calls: i64,
}

crate::owned::owned_table!();
