//! The use of models: of one user in a UTC month by group, and the tokens of all users in a UTC day.

use entity::{ai_day, usage_month};
use errors::Error;
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter};
use values::id::UserId;
use values::kind::BudgetGroup;
use values::time::{Day, Month, Timestamp};

use super::pause_within;

/// A use of models, in one group of the budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelUse {
    /// Number of answers, passages or recordings.
    pub times: i64,
    /// Tokens that the models read or wrote.
    pub tokens: i64,
}

/// Adds a use to the month of a user.
pub async fn spend(
    txn: &impl ConnectionTrait,
    user: UserId,
    month: Month,
    group: BudgetGroup,
    used: ModelUse,
) -> Result<(), Error> {
    use usage_month::Column::{BudgetGroup as Group, Month as InMonth, Times, Tokens, UserId as User};
    // With the name of the table: PostgreSQL rejects a bare column in an upsert as ambiguous.
    let sum = |column: usage_month::Column, more: i64| Expr::col((usage_month::Entity, column)).add(more);
    let add = OnConflict::columns([User, InMonth, Group])
        .value(Times, sum(Times, used.times))
        .value(Tokens, sum(Tokens, used.tokens))
        .to_owned();
    let row = usage_month::Model {
        user_id: user,
        month,
        budget_group: group,
        times: used.times,
        tokens: used.tokens,
    };
    usage_month::Entity::insert(row.into_active_model()).on_conflict(add).exec_without_returning(txn).await?;
    Ok(())
}

/// Adds tokens to the day of all users. When the daily allowance is used up, it pauses the AI for the rest of the day; an
/// allowance of 0 is unlimited. Returns whether it paused the AI.
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
    // Read after the update, whose row lock orders the answers of all processes: the one that reaches the allowance sees
    // the sum.
    let used = tokens_of_day(txn, now.day()).await?;
    let is_used_up = allowance > 0 && u64::try_from(used).is_ok_and(|used| used >= allowance);
    if is_used_up {
        pause_within(txn, now).await?;
    }
    Ok(is_used_up)
}

/// Returns the tokens of all users on a UTC day.
pub async fn tokens_of_day(db: &impl ConnectionTrait, day: Day) -> Result<i64, Error> {
    let row = ai_day::Entity::find().filter(ai_day::Column::Day.eq(day)).one(db).await?;
    Ok(row.map_or(0, |row| row.tokens))
}
