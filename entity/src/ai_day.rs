//! What models used on one UTC day, for all users together.

use crate::time::Day;
use sea_orm::entity::prelude::*;

/// What models used on one UTC day, for all users together.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "ai_day")]
pub struct Model {
    /// The UTC day.
    #[sea_orm(primary_key, auto_increment = false)]
    pub day: Day,
    /// Tokens.
    pub tokens: i64,
}

crate::owned::no_relations!();
