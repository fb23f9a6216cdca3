//! Asks a question: the first of a thread, a follow-up, or one that failed, once more. A job prepares the answer.

use database::Transaction;
use entity::ask_question::{self, Column, Entity};
use entity::ask_thread;
use errors::Error;
use jobs::{JobKind, Priority};
use library::owned_transaction::begin_request;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder, QuerySelect};
use validation::{NoFields, Words, request};
use values::id::{AskQuestionId, AskThreadId, UserId};
use values::kind::QuestionState;
use values::scope::Scope;
use values::time::Timestamp;

use super::remove::delete_threads;
use super::scope::{AskScope, AskScopeText};
use super::view::{ThreadResponse, load_thread};
use crate::ai::{self, answers};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::ask::{AskContext, QuestionText};
use crate::target::Target;

/// Maximum number of threads of a user that are kept.
const MAX_THREADS: u64 = 100;
/// Maximum number of threads beyond them that one request deletes.
const MAX_DELETED_THREADS: u64 = 50;
/// Maximum number of questions of a thread.
const MAX_THREAD_QUESTIONS: i32 = 20;

/// Asks the first question of a thread.
#[derive(Debug)]
pub struct StartThread {
    question: String,
    scope: AskScope,
}

request! {
    /// The first question of a thread.
    pub struct StartThreadRequest {
        /// The question to answer.
        pub question: QuestionText,
        /// The part of the library that is asked: `all`, `collection:ID`, `project:ID`, or `picked:ID,ID`. Default `all`.
        pub scope?: AskScopeText,
    }
}

impl FromRequest for StartThread {
    type Request = StartThreadRequest;

    fn from_request(_: &Target, request: StartThreadRequest) -> Result<Self, Error> {
        let scope = request.scope.map(|scope| scope.as_str().parse::<AskScope>());
        let scope = scope.transpose().map_err(|fault| Error::invalid("scope", fault.to_string()))?;
        Ok(Self { question: request.question.into_inner(), scope: scope.unwrap_or(AskScope::Library) })
    }
}

impl Operation for StartThread {
    type Reply = ThreadResponse;
    const SCOPES: &'static [Scope] = &[Scope::AskLibrary];
    const NEEDS_SPACE: bool = true;
    const NEEDS_RESPONSE_SLOT: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ThreadResponse, Error> {
        let asking = AskContext::from(ctx);
        // Only whether it exists: the job looks for its documents.
        self.scope.question(&asking, caller.user, String::new()).await?;
        check_answers_left(caller, ctx).await?;
        let now = ctx.core.clock.now();
        let thread = ask_thread::Model {
            id: AskThreadId::new(now),
            user_id: caller.user,
            scope: self.scope.to_string(),
            title: self.question.clone(),
            created_at: now,
            asked_at: now,
        };
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        ask_thread::Entity::insert(thread.clone().into_active_model()).exec_without_returning(&txn).await?;
        insert_question(&txn, &thread, 1, self.question, now).await?;
        delete_oldest(&txn, caller.user).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(ThreadResponse { thread: load_thread(&asking, caller.user, thread.id).await? })
    }
}

/// Refuses a question that could not be answered now, before it is kept.
///
/// # Errors
/// [`Error::AiPaused`], [`Error::PlanLimit`] and [`Error::QuotaUsed`].
async fn check_answers_left(caller: &Caller, ctx: &OperationContext) -> Result<(), Error> {
    let now = ctx.core.clock.now();
    ai::check_not_paused(&ctx.core.db, now).await?;
    answers::check_left(&ctx.core.db, caller.user, ctx.core.plans.limits(caller.plan), now).await
}

/// Adds a question to a thread, with the job that answers it.
async fn insert_question(
    txn: &Transaction,
    thread: &ask_thread::Model,
    number: i32,
    question: String,
    now: Timestamp,
) -> Result<(), Error> {
    let row = ask_question::Model {
        id: AskQuestionId::new(now),
        user_id: thread.user_id,
        thread_id: thread.id,
        number,
        question,
        state: QuestionState::Waiting,
        answer: None,
        error: None,
        asked_at: now,
        ended_at: None,
    };
    Entity::insert(row.clone().into_active_model()).exec_without_returning(txn).await?;
    enqueue(txn, thread.user_id, row.id, now).await
}

async fn enqueue(txn: &Transaction, user: UserId, id: AskQuestionId, now: Timestamp) -> Result<(), Error> {
    Ok(jobs::enqueue(txn, user, JobKind::AnswerQuestion, id.0, Priority::Now, now).await?)
}

/// Deletes the threads that were asked longest ago, if there are more than are kept.
async fn delete_oldest(txn: &Transaction, user: UserId) -> Result<(), Error> {
    let beyond: Vec<AskThreadId> = ask_thread::Entity::owned_by(user)
        .order_by_desc(ask_thread::Column::AskedAt)
        .order_by_desc(ask_thread::Column::Id)
        .offset(MAX_THREADS)
        .limit(MAX_DELETED_THREADS)
        .select_only()
        .column(ask_thread::Column::Id)
        .into_tuple()
        .all(txn)
        .await?;
    delete_threads(txn, user, beyond).await.map(drop)
}

/// Asks a follow-up question in a thread: of the same part of the library, and with the thread's last question before it.
#[derive(Debug)]
pub struct AskFollowUp {
    thread: AskThreadId,
    question: String,
}

request! {
    /// A follow-up question.
    pub struct AskFollowUpRequest {
        /// The question to answer. The thread's last question is part of it.
        pub question: QuestionText,
    }
}

impl FromRequest for AskFollowUp {
    type Request = AskFollowUpRequest;

    fn from_request(target: &Target, request: AskFollowUpRequest) -> Result<Self, Error> {
        Ok(Self { thread: target.id(0)?, question: Words::into_inner(request.question) })
    }
}

impl Operation for AskFollowUp {
    type Reply = ThreadResponse;
    const SCOPES: &'static [Scope] = &[Scope::AskLibrary];
    const NEEDS_SPACE: bool = true;
    const NEEDS_RESPONSE_SLOT: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ThreadResponse, Error> {
        let asking = AskContext::from(ctx);
        let found = ask_thread::Entity::one_of(caller.user, self.thread).one(ctx.core.db.read()).await?;
        let scope: AskScope = found.ok_or(Error::not_found())?.scope.parse().map_err(Error::internal)?;
        scope.question(&asking, caller.user, String::new()).await?;
        check_answers_left(caller, ctx).await?;
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        // Under the lock of the user's rows: of two simultaneous questions each gets its own number.
        let thread = ask_thread::Entity::one_of(caller.user, self.thread).one(&txn).await?;
        let thread = thread.ok_or(Error::not_found())?;
        let last: Option<i32> = Entity::owned_by(caller.user)
            .filter(Column::ThreadId.eq(thread.id))
            .order_by_desc(Column::Number)
            .select_only()
            .column(Column::Number)
            .into_tuple()
            .one(&txn)
            .await?;
        let number = last.unwrap_or(0).saturating_add(1);
        if number > MAX_THREAD_QUESTIONS {
            let message = format!("a thread has at most {MAX_THREAD_QUESTIONS} questions; begin another one");
            return Err(Error::conflict(message));
        }
        insert_question(&txn, &thread, number, self.question, now).await?;
        ask_thread::Entity::update_owned(caller.user)
            .col_expr(ask_thread::Column::AskedAt, Expr::value(now))
            .filter(ask_thread::Column::Id.eq(thread.id))
            .exec(&txn)
            .await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(ThreadResponse { thread: load_thread(&asking, caller.user, thread.id).await? })
    }
}

/// Asks a question once more that failed.
#[derive(Debug)]
pub struct RetryQuestion {
    thread: AskThreadId,
    question: AskQuestionId,
}

impl FromRequest for RetryQuestion {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self { thread: target.id(0)?, question: target.id(1)? })
    }
}

impl Operation for RetryQuestion {
    type Reply = ThreadResponse;
    const SCOPES: &'static [Scope] = &[Scope::AskLibrary];
    const NEEDS_SPACE: bool = true;
    const NEEDS_RESPONSE_SLOT: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ThreadResponse, Error> {
        let failed = Entity::one_of(caller.user, self.question).filter(Column::ThreadId.eq(self.thread));
        failed.one(ctx.core.db.read()).await?.ok_or(Error::not_found())?;
        check_answers_left(caller, ctx).await?;
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let asked = Entity::update_owned(caller.user)
            .col_expr(Column::State, Expr::value(QuestionState::Waiting))
            .col_expr(Column::Error, Expr::value(None::<String>))
            .col_expr(Column::AskedAt, Expr::value(now))
            .col_expr(Column::EndedAt, Expr::value(None::<Timestamp>))
            .filter(Column::Id.eq(self.question))
            .filter(Column::State.eq(QuestionState::Failed))
            .exec(&txn)
            .await?;
        // A question that waits, or that was answered meanwhile, stays as it is.
        if asked.rows_affected == 1 {
            enqueue(&txn, caller.user, self.question, now).await?;
        }
        txn.commit().await?;
        ctx.job_signal.notify();
        let thread = load_thread(&AskContext::from(ctx), caller.user, self.thread).await?;
        Ok(ThreadResponse { thread })
    }
}
