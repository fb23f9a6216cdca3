//! Runs operations for a user, and explains the statements that they send.

use actors::auth::caller::Caller;
use actors::context::OperationContext;
use actors::operation::FromRequest;
use actors::target::Target;
use database::{Db, QueryPlan, StatementLog};
use serde_json::{Value, to_value};
use validation::read_query;

use super::server::Server;
use super::user::User;

/// Runs operations of one user without a surface, so that no statement of another request or of background work is among theirs.
pub struct OperationPlans {
    caller: Caller,
    /// The context of the server, with a database that records the statements.
    ctx: OperationContext,
    sent: StatementLog,
    /// The same database; it does not record.
    db: Db,
}

impl OperationPlans {
    pub async fn of_user(server: &Server, user: &User<'_>) -> Self {
        let (caller, mut ctx) = (user.caller().await, server.context().clone());
        let db = ctx.core.db.clone();
        let sent = ctx.core.db.record_statements();
        Self { caller, ctx, sent, db }
    }

    /// Runs an operation with these variables of the path and this query, and explains its statements. A list is read to its last
    /// page.
    pub async fn explain<O: FromRequest>(&self, path: &[&str], query: &str) -> Vec<QueryPlan> {
        self.sent.take();
        self.pages::<O>(path, query).await;
        QueryPlan::of_each(&self.db, self.sent.take()).await.unwrap()
    }

    /// Runs an operation with these variables of the path and this query, and returns its reply. A list is read to its last page; each
    /// page is a reply.
    pub async fn pages<O: FromRequest>(&self, path: &[&str], query: &str) -> Vec<Value> {
        let mut reply = self.run::<O>(path, query).await;
        let mut pages = Vec::new();
        while let Some(cursor) = reply.get("nextCursor").and_then(Value::as_str) {
            let next = self.run::<O>(path, &format!("{query}&cursor={cursor}")).await;
            pages.push(std::mem::replace(&mut reply, next));
        }
        pages.push(reply);
        pages
    }

    async fn run<O: FromRequest>(&self, path: &[&str], query: &str) -> Value {
        let request = read_query::<O::Request>(query).unwrap();
        let target = Target(path.iter().map(|part| (*part).to_owned()).collect());
        let operation = O::from_request(&target, request).unwrap();
        to_value(operation.run(&self.caller, &self.ctx).await.unwrap()).unwrap()
    }
}
