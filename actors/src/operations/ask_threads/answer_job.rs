//! The job that answers a question.

use std::time::Duration;

use entity::ask_question::{Column, Entity, Model};
use entity::{ask_thread, job, user};
use errors::{Error, JobRule, code};
use jobs::JobError;
use library::owned_transaction::{begin_owned, finish_job};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, UpdateMany};
use tracing::warn;
use values::id::{AskQuestionId, UserId};
use values::kind::QuestionState;
use values::time::Timestamp;

use super::scope::AskScope;
use super::stored_answer::StoredAnswer;
use crate::operations::ask::{AskContext, UnsettledAnswer};

/// Time for which a question waits for a component that is busy. After it, it fails: its user sees why, and may ask again.
const MAX_WAIT: Duration = Duration::from_secs(120);

/// Runs the job of a question: answers it, counts the answer, and keeps it. A question that cannot be answered fails with the code of the
/// error. A job whose question was deleted or has ended only finishes.
///
/// # Errors
/// [`JobError::LeaseLost`] when another worker has the job; the conversion of [`Error`] when the database fails, or a component is busy.
pub async fn run(ctx: &AskContext, job: &job::Model) -> Result<(), JobError> {
    let found = Entity::one_of(job.user_id, AskQuestionId(job.subject)).one(ctx.core.db.read()).await?;
    let Some(question) = found.filter(|row| row.state == QuestionState::Waiting) else {
        return Ok(finish_job(&ctx.core.db, job, ctx.core.clock.now()).await?);
    };
    match answer(ctx, &question).await {
        Ok(answer) => keep(ctx, job, &question, answer).await,
        Err(error) if is_soon_over(&error) && has_time(ctx, &question) => Err(error.into()),
        Err(error) => fail(ctx, job, &question, &error).await,
    }
}

/// Returns whether a component is busy or not reached at the moment.
fn is_soon_over(error: &Error) -> bool {
    match error.spec().job {
        JobRule::Defer | JobRule::Block { .. } => true,
        JobRule::Fail | JobRule::Retry { .. } | JobRule::GiveUp => false,
    }
}

fn has_time(ctx: &AskContext, question: &Model) -> bool {
    ctx.core.clock.now() < question.asked_at + MAX_WAIT
}

/// Answers the question from the part of the library that its thread is about.
async fn answer(ctx: &AskContext, question: &Model) -> Result<UnsettledAnswer, Error> {
    let db = ctx.core.db.read();
    let owner = user::Entity::find_by_id(question.user_id).one(db).await?;
    let owner = owner.filter(|user| user.disabled_at.is_none()).ok_or(Error::not_found())?;
    let thread = ask_thread::Entity::one_of(owner.id, question.thread_id).one(db).await?;
    let scope: AskScope = thread.ok_or(Error::not_found())?.scope.parse().map_err(Error::internal)?;
    let previous = Entity::owned_by(owner.id)
        .filter(Column::ThreadId.eq(question.thread_id))
        .filter(Column::Number.eq(question.number.saturating_sub(1)))
        .one(db)
        .await?;
    // "And why?" means nothing alone, neither to search nor to a model.
    let text = match previous {
        Some(previous) => format!("{}\n{}", previous.question, question.question),
        None => question.question.clone(),
    };
    let asked = scope.question(ctx, owner.id, text).await?;
    ctx.answer(owner.id, owner.plan, &asked).await
}

/// Keeps the answer, counts what it cost, and finishes the job, in one transaction.
async fn keep(
    ctx: &AskContext,
    job: &job::Model,
    question: &Model,
    answer: UnsettledAnswer,
) -> Result<(), JobError> {
    let stored = StoredAnswer::of(&ctx.core, question.user_id, &answer.response).await?;
    let stored = serde_json::to_string(&stored).map_err(Error::internal)?;
    let now = ctx.core.clock.now();
    let txn = begin_owned(&ctx.core.db, question.user_id).await?;
    // First, because it checks the fencing token: an attempt that lost its lease must not replace the answer of the next one.
    if !jobs::finish(&txn, job, now).await? {
        return Err(JobError::LeaseLost);
    }
    waiting(question.user_id, question.id, QuestionState::Answered, now)
        .col_expr(Column::Answer, Expr::value(stored))
        .exec(&txn)
        .await?;
    ctx.settle(txn, answer).await?;
    Ok(())
}

/// Records why the question was not answered, and finishes the job.
async fn fail(ctx: &AskContext, job: &job::Model, question: &Model, error: &Error) -> Result<(), JobError> {
    let code = error.spec().code;
    if error.spec().is_logged {
        warn!(job.id = %job.id, %code, cause = error.chain(), "a question was not answered");
    }
    let now = ctx.core.clock.now();
    let txn = begin_owned(&ctx.core.db, question.user_id).await?;
    if !jobs::finish(&txn, job, now).await? {
        return Err(JobError::LeaseLost);
    }
    waiting(question.user_id, question.id, QuestionState::Failed, now)
        .col_expr(Column::Error, Expr::value(code))
        .exec(&txn)
        .await?;
    Ok(txn.commit().await?)
}

/// Records that a question failed whose job was given up, in the transaction that does so.
///
/// # Errors
/// [`DbErr`] when the database fails.
pub async fn record_failure(
    db: &impl ConnectionTrait,
    job: &job::Model,
    now: Timestamp,
) -> Result<(), DbErr> {
    waiting(job.user_id, AskQuestionId(job.subject), QuestionState::Failed, now)
        .col_expr(Column::Error, Expr::value(code::INTERNAL))
        .exec(db)
        .await
        .map(drop)
}

/// Returns the change of a question that waits to the state in which it ends.
fn waiting(user: UserId, question: AskQuestionId, end: QuestionState, now: Timestamp) -> UpdateMany<Entity> {
    Entity::update_owned(user)
        .col_expr(Column::State, Expr::value(end))
        .col_expr(Column::EndedAt, Expr::value(Some(now)))
        .filter(Column::Id.eq(question))
        .filter(Column::State.eq(QuestionState::Waiting))
}
