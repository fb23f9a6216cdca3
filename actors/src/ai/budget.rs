//! Tokens that models used: of one user in a UTC month by group, and of everybody in a UTC day.

use entity::id::UserId;
use entity::kind::BudgetGroup;
use entity::time::{Day, Month, Timestamp};
use entity::{ai_day, usage_month};
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter};

use super::pause_within;
use errors::Error;

/// What was used of one group of the budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Answers, passages, recordings: how often.
    pub times: i64,
    /// Tokens of the models.
    pub tokens: i64,
}

/// Adds to what a user spent in this month.
pub async fn spend(
    txn: &impl ConnectionTrait,
    user: UserId,
    month: Month,
    group: BudgetGroup,
    spent: Spent,
) -> Result<(), Error> {
    use usage_month::Column::{BudgetGroup as Group, Month as InMonth, Times, Tokens, UserId as User};
    let sum = |column: usage_month::Column, more: i64| Expr::col((usage_month::Entity, column)).add(more);
    let add = OnConflict::columns([User, InMonth, Group])
        .value(Times, sum(Times, spent.times))
        .value(Tokens, sum(Tokens, spent.tokens))
        .to_owned();
    let row = usage_month::Model {
        user_id: user,
        month,
        budget_group: group,
        times: spent.times,
        tokens: spent.tokens,
    };
    usage_month::Entity::insert(row.into_active_model()).on_conflict(add).exec_without_returning(txn).await?;
    Ok(())
}

/// Adds to what everybody together spent on this day; the AI pauses where that is all of the allowance, of which 0 is
/// none. Whether it pauses now.
pub async fn spend_of_the_day(
    txn: &impl ConnectionTrait,
    now: Timestamp,
    tokens: i64,
    allowance: u64,
) -> Result<bool, Error> {
    let sum = Expr::col((ai_day::Entity, ai_day::Column::Tokens)).add(tokens);
    let add = OnConflict::column(ai_day::Column::Day).value(ai_day::Column::Tokens, sum).to_owned();
    let row = ai_day::Model { day: now.day(), tokens };
    ai_day::Entity::insert(row.into_active_model()).on_conflict(add).exec_without_returning(txn).await?;
    let spent = of_the_day(txn, now.day()).await?;
    let is_all = allowance > 0 && u64::try_from(spent).is_ok_and(|spent| spent >= allowance);
    if is_all {
        pause_within(txn, now).await?;
    }
    Ok(is_all)
}

/// Tokens of everybody on this day.
pub async fn of_the_day(db: &impl ConnectionTrait, day: Day) -> Result<i64, Error> {
    let row = ai_day::Entity::find().filter(ai_day::Column::Day.eq(day)).one(db).await?;
    Ok(row.map_or(0, |row| row.tokens))
}
