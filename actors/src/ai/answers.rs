//! The answers of a UTC month (contract.md, sections 4 and 11): one is claimed before a model is asked, and given back
//! where none came of it.
//!
//! A claim counts at once, by a conditional update, so that questions that come together, on several nodes too, stop
//! exactly at the plan's number. It is a row with a lease beside the count: whoever answers settles it, whoever fails
//! gives it back, each once, because each removes the row. Where a process died in between, the claim is given back when
//! its lease ends: by the next question that would else be refused, or by the hourly clean-up; until then usage leaves it
//! out. Whoever changes both locks the month's row first.

use std::time::Duration;

use database::Db;
use entity::id::{AnswerId, UserId};
use entity::kind::BudgetGroup;
use entity::plan::Limits;
use entity::time::{Month, Timestamp};
use entity::{answer_claim, usage_month};
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, IntoActiveModel, PaginatorTrait, QueryFilter,
    QuerySelect,
};
use tracing::warn;

use super::budget::{self, Spent};
use errors::Error;

/// Longer than any answer takes, with its retries.
pub const LEASE: Duration = Duration::from_secs(120);
/// Dead claims that one clean-up looks at.
const AT_ONCE: u64 = 500;

/// The right to one answer, counted already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    id: AnswerId,
    user: UserId,
    month: Month,
}

/// Counts an answer of this month.
///
/// # Errors
/// [`Error::PlanLimit`] where the month's answers are given, [`Error::QuotaUsed`] where its tokens are.
pub async fn claim(db: &Db, user: UserId, limits: &Limits, now: Timestamp) -> Result<Claim, Error> {
    let claim = Claim { id: AnswerId::new(now), user, month: now.month() };
    let txn = db.begin().await?;
    budget::spend(&txn, user, claim.month, BudgetGroup::Chat, Spent::default()).await?;
    if !take(&txn, &claim, limits).await? {
        // Those who died may hold what is missing.
        let dead = answer_claim::Entity::expired(now).filter(answer_claim::Column::UserId.eq(user));
        for dead in dead.all(&txn).await? {
            undo(&txn, &Claim { id: dead.id, user, month: dead.month }).await?;
        }
        if !take(&txn, &claim, limits).await? {
            let refused = refusal(&txn, &claim, limits).await?;
            txn.commit().await?;
            return Err(refused);
        }
    }
    let row =
        answer_claim::Model { id: claim.id, user_id: user, month: claim.month, lease_until: now + LEASE };
    answer_claim::Entity::insert(row.into_active_model()).exec_without_returning(&txn).await?;
    txn.commit().await?;
    Ok(claim)
}

/// Records, within a transaction, that the claimed answer was given and used `tokens`. Returns whether this pauses the AI because
/// the service's daily allowance is used up.
pub async fn settle(
    txn: &impl ConnectionTrait,
    claim: Claim,
    tokens: u64,
    allowance: u64,
    now: Timestamp,
) -> Result<bool, Error> {
    let tokens = i64::try_from(tokens).unwrap_or(i64::MAX);
    lock(txn, &claim).await?;
    // An answer that took longer than its lease was given back: it counts all the same.
    let times = if remove(txn, &claim).await? { 0 } else { 1 };
    month_of(&claim)
        .col_expr(usage_month::Column::Times, Expr::col(usage_month::Column::Times).add(times))
        .col_expr(usage_month::Column::Tokens, Expr::col(usage_month::Column::Tokens).add(tokens))
        .exec(txn)
        .await?;
    budget::spend_of_the_day(txn, now, tokens, allowance).await
}

/// Gives the claim back: no answer came of it.
pub async fn give_back(db: &Db, claim: Claim) -> Result<(), Error> {
    let txn = db.begin().await?;
    undo(&txn, &claim).await?;
    Ok(txn.commit().await?)
}

/// Gives back the claims of processes that died.
pub async fn sweep(db: &Db, now: Timestamp) -> Result<(), Error> {
    for dead in answer_claim::Entity::expired(now).limit(AT_ONCE).all(db.read()).await? {
        give_back(db, Claim { id: dead.id, user: dead.user_id, month: dead.month }).await?;
        warn!("gave back an answer that was begun and never made");
    }
    Ok(())
}

/// The counted answers of this month whose process died.
pub async fn dead(db: &Db, user: UserId, now: Timestamp) -> Result<i64, Error> {
    let dead = answer_claim::Entity::expired(now)
        .filter(answer_claim::Column::UserId.eq(user))
        .filter(answer_claim::Column::Month.eq(now.month()));
    Ok(i64::try_from(dead.count(db.read()).await?).unwrap_or(0))
}

/// Counts one more where both limits leave room.
async fn take(txn: &impl ConnectionTrait, claim: &Claim, limits: &Limits) -> Result<bool, Error> {
    let tokens = i64::try_from(limits.ai_tokens_per_month).unwrap_or(i64::MAX);
    let taken = month_of(claim)
        .col_expr(usage_month::Column::Times, Expr::col(usage_month::Column::Times).add(1))
        .filter(usage_month::Column::Times.lt(i64::from(limits.answers_per_month)))
        .filter(usage_month::Column::Tokens.lt(tokens))
        .exec(txn)
        .await?;
    Ok(taken.rows_affected == 1)
}

async fn refusal(txn: &impl ConnectionTrait, claim: &Claim, limits: &Limits) -> Result<Error, Error> {
    let month = usage_month::Entity::owned_by(claim.user).filter(own_row(claim)).one(txn).await?;
    let has_answers = month.is_some_and(|month| month.times < i64::from(limits.answers_per_month));
    if has_answers {
        return Ok(Error::QuotaUsed { limit: limits.ai_tokens_per_month });
    }
    let limit = limits.answers_per_month;
    Ok(Error::PlanLimit(format!(
        "the {limit} answers of this month are used up; the next month (UTC) brings new ones"
    )))
}

/// Removes the claim and takes it out of the count, unless somebody did before.
async fn undo(txn: &impl ConnectionTrait, claim: &Claim) -> Result<(), Error> {
    lock(txn, claim).await?;
    if remove(txn, claim).await? {
        month_of(claim)
            .col_expr(usage_month::Column::Times, Expr::col(usage_month::Column::Times).sub(1))
            .filter(usage_month::Column::Times.gt(0))
            .exec(txn)
            .await?;
    }
    Ok(())
}

async fn remove(txn: &impl ConnectionTrait, claim: &Claim) -> Result<bool, Error> {
    let removed = answer_claim::Entity::delete_many()
        .filter(answer_claim::Column::UserId.eq(claim.user))
        .filter(answer_claim::Column::Id.eq(claim.id))
        .exec(txn)
        .await?;
    Ok(removed.rows_affected == 1)
}

async fn lock(txn: &impl ConnectionTrait, claim: &Claim) -> Result<(), Error> {
    let row = usage_month::Entity::owned_by(claim.user).filter(own_row(claim)).lock_exclusive();
    Ok(row.one(txn).await.map(drop)?)
}

fn month_of(claim: &Claim) -> sea_orm::UpdateMany<usage_month::Entity> {
    usage_month::Entity::update_many().filter(own_row(claim))
}

fn own_row(claim: &Claim) -> Condition {
    Condition::all()
        .add(usage_month::Column::UserId.eq(claim.user))
        .add(usage_month::Column::Month.eq(claim.month))
        .add(usage_month::Column::BudgetGroup.eq(BudgetGroup::Chat))
}
