//! Lists the threads of a user, and shows one.

use std::collections::HashMap;

use database::compare_rows;
use entity::{ask_question, ask_thread};
use errors::Error;
use schemars::JsonSchema;
use sea_orm::sea_query::{BinOper, Expr};
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::Serialize;
use validation::{NoFields, request};
use values::id::{AskThreadId, UserId};
use values::kind::QuestionState;
use values::scope::Scope;
use values::time::Timestamp;

use super::scope::AskScopeView;
use super::view::{ThreadResponse, load_thread, scope_view};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::ask::AskContext;
use crate::operations::page::{CursorText, ListName, ListPage, PageLimit, PageRequest};
use crate::target::Target;
use library::context::CoreContext;

const DEFAULT_LIMIT: u64 = 20;

/// Lists the threads of the user, the one asked last first.
#[derive(Debug)]
pub struct ListThreads {
    page: PageRequest,
}

request! {
    /// A page of the threads of the user.
    pub struct ListThreadsRequest {
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Maximum number of threads. Default 20.
        pub limit?: PageLimit,
    }
}

impl FromRequest for ListThreads {
    type Request = ListThreadsRequest;

    fn from_request(_: &Target, request: ListThreadsRequest) -> Result<Self, Error> {
        Ok(Self { page: PageRequest::new(request.limit, request.cursor, DEFAULT_LIMIT) })
    }
}

/// A thread in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSummary {
    /// Id of the thread.
    pub thread_id: AskThreadId,
    /// The first question.
    pub title: String,
    /// The part of the library that is asked.
    pub scope: AskScopeView,
    /// Number of questions.
    pub question_count: usize,
    /// The state of the last question.
    pub state: QuestionState,
    /// When the last question was asked.
    pub asked_at: Timestamp,
}

/// A page of threads, the one asked last first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListThreadsResponse {
    /// The threads of the page.
    pub threads: Vec<ThreadSummary>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

impl Operation for ListThreads {
    type Reply = ListThreadsResponse;
    const SCOPES: &'static [Scope] = &[Scope::AskLibrary];
    const NEEDS_SPACE: bool = false;

    fn count(reply: &ListThreadsResponse) -> Option<usize> {
        Some(reply.threads.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListThreadsResponse, Error> {
        use ask_thread::Column;
        let list = self.page.of_list(ctx, caller, ListName::new("ask threads"));
        let before: Option<(Timestamp, AskThreadId)> = list.position()?;
        let mut threads = ask_thread::Entity::owned_by(caller.user);
        if let Some((asked_at, id)) = before {
            let columns = [Expr::col(Column::AskedAt), Expr::col(Column::Id)];
            let last = [Expr::value(asked_at), Expr::value(id)];
            threads = threads.filter(compare_rows(columns, BinOper::SmallerThan, last));
        }
        let threads = threads.order_by_desc(Column::AskedAt).order_by_desc(Column::Id);
        let ListPage { rows, next_cursor } = list.fetch(threads, |row| (row.asked_at, row.id)).await?;
        let states = states(&ctx.core, caller.user, rows.iter().map(|row| row.id).collect()).await?;
        let asking = AskContext::from(ctx);
        let mut threads = Vec::with_capacity(rows.len());
        for row in rows {
            // A thread without a question was deleted meanwhile.
            let Some((question_count, _, state)) = states.get(&row.id).copied() else { continue };
            let scope = scope_view(&asking, caller.user, &row.scope).await?;
            let (thread_id, title, asked_at) = (row.id, row.title, row.asked_at);
            threads.push(ThreadSummary { thread_id, title, scope, question_count, state, asked_at });
        }
        Ok(ListThreadsResponse { threads, next_cursor })
    }
}

/// Returns the number of questions of each of these threads, with the number and the state of the last one.
async fn states(
    core: &CoreContext,
    user: UserId,
    threads: Vec<AskThreadId>,
) -> Result<HashMap<AskThreadId, (usize, i32, QuestionState)>, Error> {
    use ask_question::Column;
    let mut states: HashMap<AskThreadId, (usize, i32, QuestionState)> = HashMap::new();
    if threads.is_empty() {
        return Ok(states);
    }
    let rows: Vec<(AskThreadId, i32, QuestionState)> = ask_question::Entity::owned_by(user)
        .filter(Column::ThreadId.is_in(threads))
        .select_only()
        .columns([Column::ThreadId, Column::Number, Column::State])
        .into_tuple()
        .all(core.db.read())
        .await?;
    for (thread, number, state) in rows {
        let last = states.entry(thread).or_insert((0, number, state));
        last.0 += 1;
        if number >= last.1 {
            (last.1, last.2) = (number, state);
        }
    }
    Ok(states)
}

/// Shows a thread with all its questions.
#[derive(Debug)]
pub struct ShowThread(pub AskThreadId);

impl FromRequest for ShowThread {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for ShowThread {
    type Reply = ThreadResponse;
    const SCOPES: &'static [Scope] = &[Scope::AskLibrary];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ThreadResponse, Error> {
        let thread = load_thread(&AskContext::from(ctx), caller.user, self.0).await?;
        Ok(ThreadResponse { thread })
    }
}
