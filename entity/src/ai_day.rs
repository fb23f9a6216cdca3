//! AI tokens that all users together spent on one UTC day.

use sea_orm::entity::prelude::*;
use values::time::Day;

/// AI tokens that all users together spent on one UTC day.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "ai_day")]
pub struct Model {
    /// The UTC day on which the tokens were spent.
    #[sea_orm(primary_key, auto_increment = false)]
    pub day: Day,
    /// Tokens of all users on this day. Once they reach the daily allowance, AI is paused until midnight UTC.
    pub tokens: i64,
}

crate::owned::no_relations!();
