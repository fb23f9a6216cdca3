//! Deletes threads, with their questions and answers.

use database::Transaction;
use entity::{ask_question, ask_thread};
use errors::Error;
use jobs::JobKind;
use library::owned_transaction::begin_request;
use schemars::JsonSchema;
use sea_orm::sea_query::Query;
use sea_orm::{ColumnTrait, QueryFilter};
use serde::Serialize;
use validation::NoFields;
use values::id::{AskThreadId, UserId};
use values::scope::Scope;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;

/// Deletes a thread.
#[derive(Debug)]
pub struct DeleteThread(pub AskThreadId);

impl FromRequest for DeleteThread {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// The thread is deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeleteThreadResponse {}

impl Operation for DeleteThread {
    type Reply = DeleteThreadResponse;
    const SCOPES: &'static [Scope] = &[Scope::AskLibrary];
    const NEEDS_SPACE: bool = false;
    const NEEDS_RESPONSE_SLOT: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<DeleteThreadResponse, Error> {
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        if delete_threads(&txn, caller.user, vec![self.0]).await? == 0 {
            return Err(Error::not_found());
        }
        txn.commit().await?;
        Ok(DeleteThreadResponse {})
    }
}

/// Deletes these threads of a user with their questions, and the jobs of those that wait. Returns the number of deleted threads.
pub(super) async fn delete_threads(
    txn: &Transaction,
    user: UserId,
    threads: Vec<AskThreadId>,
) -> Result<u64, Error> {
    if threads.is_empty() {
        return Ok(0);
    }
    let questions = Query::select()
        .column(ask_question::Column::Id)
        .from(ask_question::Entity)
        .and_where(ask_question::Column::UserId.eq(user))
        .and_where(ask_question::Column::ThreadId.is_in(threads.iter().copied()))
        .to_owned();
    jobs::remove_with_subjects(txn, user, JobKind::AnswerQuestion, questions).await?;
    let deleted = ask_thread::Entity::delete_owned(user).filter(ask_thread::Column::Id.is_in(threads));
    Ok(deleted.exec(txn).await?.rows_affected)
}
