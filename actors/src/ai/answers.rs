//! The answers of a UTC month (contract.md, sections 4 and 11). An answer is claimed before a model is asked, and released if
//! none was made.
//!
//! A claim is counted immediately, by a conditional update, so that simultaneous questions in several processes stop exactly at
//! the limit of the plan. It also has a row with a lease. An answer settles the claim and a failure releases it, each once,
//! because each removes the row. If the process crashed in between, the claim is released after its lease has expired: by the
//! next question that would otherwise be refused, or by the hourly clean-up. Until then the reported usage excludes it. Lock
//! order: the row of the month before the row of the claim.

use std::time::Duration;

use database::Db;
use entity::{answer_claim, usage_month};
use errors::Error;
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, IntoActiveModel, PaginatorTrait, QueryFilter,
    QuerySelect,
};
use tracing::warn;
use values::id::{AnswerId, UserId};
use values::kind::BudgetGroup;
use values::plan::Limits;
use values::time::{Month, Timestamp};

use super::budget::{self, ModelUse};

/// Lease of a claim. It is longer than an answer takes with its retries.
pub const CLAIM_LEASE: Duration = Duration::from_secs(120);
/// Expired claims that one clean-up releases.
const MAX_RELEASED_CLAIMS: u64 = 500;

/// The right to one answer, which is counted already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerClaim {
    id: AnswerId,
    user: UserId,
    month: Month,
}

/// Claims and counts an answer of this month.
///
/// # Errors
/// [`Error::PlanLimit`] when the answers of the month are used up, [`Error::QuotaUsed`] when its tokens are.
pub async fn claim(db: &Db, user: UserId, limits: &Limits, now: Timestamp) -> Result<AnswerClaim, Error> {
    let claim = AnswerClaim { id: AnswerId::new(now), user, month: now.month() };
    let txn = db.begin().await?;
    // Adds nothing, but creates the row of the month: the conditional update below needs one. The upsert also locks
    // it.
    budget::spend(&txn, user, claim.month, BudgetGroup::Chat, ModelUse::default()).await?;
    if !count_answer(&txn, &claim, limits).await? {
        // The limit may be used up by claims of crashed processes, which the hourly clean-up has not released yet.
        let expired = answer_claim::Entity::expired(now).filter(answer_claim::Column::UserId.eq(user));
        for row in expired.all(&txn).await? {
            undo(&txn, &AnswerClaim { id: row.id, user, month: row.month }).await?;
        }
        if !count_answer(&txn, &claim, limits).await? {
            let refused = refusal(&txn, &claim, limits).await?;
            // Not rolled back: the expired claims stay released.
            txn.commit().await?;
            return Err(refused);
        }
    }
    let row = answer_claim::Model {
        id: claim.id,
        user_id: user,
        month: claim.month,
        lease_until: now + CLAIM_LEASE,
    };
    answer_claim::Entity::insert(row.into_active_model()).exec_without_returning(&txn).await?;
    txn.commit().await?;
    Ok(claim)
}

/// Checks, without a claim, that an answer of this month is left, so that a question is refused before it is kept. [`claim`] decides.
///
/// # Errors
/// As [`claim`].
pub async fn check_left(db: &Db, user: UserId, limits: &Limits, now: Timestamp) -> Result<(), Error> {
    let month = usage_month::Entity::owned_by(user)
        .filter(usage_month::Column::Month.eq(now.month()))
        .filter(usage_month::Column::BudgetGroup.eq(BudgetGroup::Chat))
        .one(db.read())
        .await?;
    let (times, tokens) = month.map_or((0, 0), |month| (month.times, month.tokens));
    if times - count_expired(db, user, now).await? >= i64::from(limits.answers_per_month) {
        return Err(answers_used_up(limits));
    }
    if tokens >= i64::try_from(limits.ai_tokens_per_month).unwrap_or(i64::MAX) {
        return Err(Error::QuotaUsed { limit: limits.ai_tokens_per_month });
    }
    Ok(())
}

/// Records, within a transaction, that the claimed answer was made and used `tokens`. Returns whether this paused the AI
/// because the daily allowance of the server is used up.
pub async fn settle(
    txn: &impl ConnectionTrait,
    claim: AnswerClaim,
    tokens: u64,
    allowance: u64,
    now: Timestamp,
) -> Result<bool, Error> {
    // The tokens are charged even if the claim is gone, because the model has used them.
    let tokens = i64::try_from(tokens).unwrap_or(i64::MAX);
    lock(txn, &claim).await?;
    // The count of an answer that took longer than its lease was given back with its claim, so it is counted again.
    let times = if remove(txn, &claim).await? { 0 } else { 1 };
    month_of(&claim)
        .col_expr(usage_month::Column::Times, Expr::col(usage_month::Column::Times).add(times))
        .col_expr(usage_month::Column::Tokens, Expr::col(usage_month::Column::Tokens).add(tokens))
        .exec(txn)
        .await?;
    budget::spend_of_the_day(txn, now, tokens, allowance).await
}

/// Releases a claim of which no answer was made.
pub async fn release(db: &Db, claim: AnswerClaim) -> Result<(), Error> {
    let txn = db.begin().await?;
    undo(&txn, &claim).await?;
    Ok(txn.commit().await?)
}

/// Releases the claims of crashed processes.
pub async fn sweep(db: &Db, now: Timestamp) -> Result<(), Error> {
    for row in answer_claim::Entity::expired(now).limit(MAX_RELEASED_CLAIMS).all(db.read()).await? {
        release(db, AnswerClaim { id: row.id, user: row.user_id, month: row.month }).await?;
        warn!("released the claim of an answer that was not completed");
    }
    Ok(())
}

/// Returns the number of counted answers of this month whose claim has expired, because the process crashed.
pub async fn count_expired(db: &Db, user: UserId, now: Timestamp) -> Result<i64, Error> {
    let expired = answer_claim::Entity::expired(now)
        .filter(answer_claim::Column::UserId.eq(user))
        .filter(answer_claim::Column::Month.eq(now.month()));
    Ok(i64::try_from(expired.count(db.read()).await?).unwrap_or(0))
}

/// Counts one more answer if both limits allow it. Returns whether they did.
async fn count_answer(
    txn: &impl ConnectionTrait,
    claim: &AnswerClaim,
    limits: &Limits,
) -> Result<bool, Error> {
    let tokens = i64::try_from(limits.ai_tokens_per_month).unwrap_or(i64::MAX);
    let counted = month_of(claim)
        .col_expr(usage_month::Column::Times, Expr::col(usage_month::Column::Times).add(1))
        // The limit is a condition of the update: of simultaneous questions, no two can take the last answer of the
        // month.
        .filter(usage_month::Column::Times.lt(i64::from(limits.answers_per_month)))
        .filter(usage_month::Column::Tokens.lt(tokens))
        .exec(txn)
        .await?;
    Ok(counted.rows_affected == 1)
}

async fn refusal(txn: &impl ConnectionTrait, claim: &AnswerClaim, limits: &Limits) -> Result<Error, Error> {
    let month = usage_month::Entity::owned_by(claim.user).filter(own_row(claim)).one(txn).await?;
    // One of the two is used up: if answers are left, it is the tokens.
    let has_answers = month.is_some_and(|month| month.times < i64::from(limits.answers_per_month));
    if has_answers {
        return Ok(Error::QuotaUsed { limit: limits.ai_tokens_per_month });
    }
    Ok(answers_used_up(limits))
}

fn answers_used_up(limits: &Limits) -> Error {
    let limit = limits.answers_per_month;
    Error::PlanLimit(format!(
        "the {limit} answers of this month are used up; they are available again next month (UTC)"
    ))
}

/// Removes the claim and subtracts it from the count, unless that was done before.
async fn undo(txn: &impl ConnectionTrait, claim: &AnswerClaim) -> Result<(), Error> {
    lock(txn, claim).await?;
    // Only the transaction that deletes the row of the claim changes the count: an answer and the clean-up cannot both do it.
    if remove(txn, claim).await? {
        month_of(claim)
            .col_expr(usage_month::Column::Times, Expr::col(usage_month::Column::Times).sub(1))
            .filter(usage_month::Column::Times.gt(0))
            .exec(txn)
            .await?;
    }
    Ok(())
}

async fn remove(txn: &impl ConnectionTrait, claim: &AnswerClaim) -> Result<bool, Error> {
    let removed = answer_claim::Entity::delete_owned(claim.user)
        .filter(answer_claim::Column::Id.eq(claim.id))
        .exec(txn)
        .await?;
    Ok(removed.rows_affected == 1)
}

/// Locks the row of the month, which every change of a claim does first (lock order). On SQLite, which
/// has one writer, the query locks nothing.
async fn lock(txn: &impl ConnectionTrait, claim: &AnswerClaim) -> Result<(), Error> {
    let row = usage_month::Entity::owned_by(claim.user).filter(own_row(claim)).lock_exclusive();
    Ok(row.one(txn).await.map(drop)?)
}

fn month_of(claim: &AnswerClaim) -> sea_orm::UpdateMany<usage_month::Entity> {
    usage_month::Entity::update_owned(claim.user).filter(own_row(claim))
}

fn own_row(claim: &AnswerClaim) -> Condition {
    Condition::all()
        .add(usage_month::Column::Month.eq(claim.month))
        .add(usage_month::Column::BudgetGroup.eq(BudgetGroup::Chat))
}
