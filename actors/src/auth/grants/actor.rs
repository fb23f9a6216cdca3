//! The actor of connections: makes every step of them, at most so many at once, notes their uses in batches, and cleans up.
//!
//! Each step is one transaction, so after a crash nothing is half done; at most one unwritten batch of last uses is lost.

use std::time::Duration;

use actix::{
    Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseActFuture, ResponseFuture,
    WrapFuture, fut::ready,
};
use database::Db;
use entity::id::{GrantId, UserId};
use entity::oauth_client;
use entity::oauth_grant;
use entity::scope::Scopes;
use entity::time::Timestamp;
use runtime::{Flush, WriteBehind, WriteFuture, WriteLock};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use tracing::warn;

use super::code::{self, Exchange};
use super::connections::disconnect;
use super::consent::{self, Browser, Decided, Request};
use super::token::{self, Issued, Refresh};
use super::token_error::TokenError;
use super::{Terms, sweep};
use errors::Error;
use crate::auth::secret::Secret;
use crate::auth::last_use::{Introductions, Use, Uses};

const FLUSH_EVERY: Duration = Duration::from_secs(1);
const SWEEP_EVERY: Duration = Duration::from_secs(3600);

/// See the file's head.
pub struct GrantActor {
    terms: Terms,
    uses: Uses<GrantId>,
    introductions: Introductions<GrantId>,
    write_lock: WriteLock,
}

impl GrantActor {
    pub(super) fn new(terms: Terms) -> Self {
        Self {
            terms,
            uses: Uses::default(),
            introductions: Introductions::default(),
            write_lock: WriteLock::default(),
        }
    }

    fn sweep(&mut self, context: &mut Context<Self>) {
        let terms = self.terms.clone();
        context.spawn(async move { sweep::run(&terms).await }.into_actor(self).map(|done, _, _| {
            if let Err(error) = done {
                warn!(cause = error.chain(), "could not clean up what OAuth leaves behind");
            }
        }));
    }
}

impl WriteBehind for GrantActor {
    type Batch = Uses<GrantId>;
    /// Whether names of clients were among them.
    type Output = bool;
    type Error = Error;
    const BATCH_NAME: &'static str = "the last uses of connections";

    fn write_lock(&self) -> WriteLock {
        self.write_lock.clone()
    }

    fn take_batch(&mut self) -> Self::Batch {
        std::mem::take(&mut self.uses)
    }

    fn write(&self, uses: Self::Batch) -> WriteFuture<Self::Batch, bool, Error> {
        let db = self.terms.db.clone();
        Box::pin(async move {
            let written = write_uses(&db, &uses).await.map(|()| uses.introduce());
            (uses, written)
        })
    }

    fn on_written(&mut self, introduced: bool) {
        if introduced {
            self.terms.fresh.raise();
        }
    }

    fn put_back(&mut self, unwritten: Self::Batch) {
        self.uses.put_back(unwritten);
    }
}

async fn write_uses(db: &Db, uses: &Uses<GrantId>) -> Result<(), Error> {
    if uses.is_empty() {
        return Ok(());
    }
    let txn = db.begin().await?;
    for (grant, used) in uses.iter() {
        let mut update = oauth_grant::Entity::update_many()
            .col_expr(oauth_grant::Column::LastUsedAt, Expr::value(used.at))
            .filter(oauth_grant::Column::Id.eq(grant));
        if let Some(client) = &used.mcp_client {
            update = update.col_expr(oauth_grant::Column::McpClient, Expr::value(client.clone()));
        }
        update.exec(&txn).await?;
    }
    Ok(txn.commit().await?)
}

impl Actor for GrantActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        self.sweep(context);
        context.run_interval(SWEEP_EVERY, Self::sweep);
        Self::flush_every(context, FLUSH_EVERY);
    }
}

/// Keeps what a consent page asks for.
#[derive(Message)]
#[rtype(result = "Result<Secret, Error>")]
pub struct Ask(pub(super) Request, pub(super) Browser, pub(super) Scopes);

impl Handler<Ask> for GrantActor {
    type Result = ResponseFuture<Result<Secret, Error>>;

    fn handle(&mut self, Ask(request, browser, offered): Ask, _: &mut Self::Context) -> Self::Result {
        let terms = self.terms.clone();
        Box::pin(async move { consent::ask(&terms, request, browser, offered).await })
    }
}

/// The person answered a consent page.
#[derive(Message)]
#[rtype(result = "Result<Option<Decided>, Error>")]
pub struct Decide {
    pub(super) browser: Browser,
    pub(super) ticket: Secret,
    pub(super) ticked: Scopes,
}

impl Handler<Decide> for GrantActor {
    type Result = ResponseFuture<Result<Option<Decided>, Error>>;

    fn handle(&mut self, asked: Decide, _: &mut Self::Context) -> Self::Result {
        let terms = self.terms.clone();
        Box::pin(async move { consent::decide(&terms, asked.browser, &asked.ticket, asked.ticked).await })
    }
}

impl Message for Exchange {
    type Result = Result<Issued, TokenError>;
}

impl Handler<Exchange> for GrantActor {
    type Result = ResponseFuture<Result<Issued, TokenError>>;

    fn handle(&mut self, asked: Exchange, _: &mut Self::Context) -> Self::Result {
        let terms = self.terms.clone();
        Box::pin(async move { code::exchange(&terms, asked).await })
    }
}

impl Message for Refresh {
    type Result = Result<Issued, TokenError>;
}

impl Handler<Refresh> for GrantActor {
    type Result = ResponseFuture<Result<Issued, TokenError>>;

    fn handle(&mut self, asked: Refresh, _: &mut Self::Context) -> Self::Result {
        let terms = self.terms.clone();
        Box::pin(async move { token::refresh(&terms, asked).await })
    }
}

/// A client ends its connection.
#[derive(Message)]
#[rtype(result = "Result<(), TokenError>")]
pub struct Revoke(pub(super) oauth_client::Model, pub(super) String);

impl Handler<Revoke> for GrantActor {
    type Result = ResponseFuture<Result<(), TokenError>>;

    fn handle(&mut self, Revoke(client, token): Revoke, _: &mut Self::Context) -> Self::Result {
        let terms = self.terms.clone();
        Box::pin(async move { token::revoke(&terms, client, token).await })
    }
}

/// A person ends a connection.
#[derive(Message)]
#[rtype(result = "Result<(), Error>")]
pub struct Disconnect(pub(super) UserId, pub(super) GrantId);

impl Handler<Disconnect> for GrantActor {
    type Result = ResponseFuture<Result<(), Error>>;

    fn handle(&mut self, Disconnect(user, id): Disconnect, _: &mut Self::Context) -> Self::Result {
        let terms = self.terms.clone();
        Box::pin(async move {
            disconnect(&terms.db, user, id).await?;
            terms.fresh.raise();
            Ok(())
        })
    }
}

/// A connection was used.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Used {
    /// The connection.
    pub grant: GrantId,
    /// When.
    pub at: Timestamp,
    /// Name and version of an MCP `initialize`.
    pub mcp_client: Option<String>,
}

impl GrantActor {
    fn note(&mut self, used: Used) {
        self.uses.note(used.grant, Use { at: used.at, client: None, mcp_client: used.mcp_client });
    }
}

impl Handler<Used> for GrantActor {
    type Result = ();

    fn handle(&mut self, used: Used, _: &mut Self::Context) {
        self.note(used);
    }
}

/// A client said what it is called: calls without a handshake of their own bear that name from the answer on.
#[derive(Message)]
#[rtype(result = "Result<(), Error>")]
pub struct Introduced(pub Used);

impl Handler<Introduced> for GrantActor {
    type Result = ResponseActFuture<Self, Result<(), Error>>;

    fn handle(&mut self, Introduced(used): Introduced, _: &mut Self::Context) -> Self::Result {
        let at_once = self.introductions.take(&used.grant);
        self.note(used);
        // What is written makes every cached row be read anew: nobody brings that about all the time.
        if at_once { self.flush() } else { Box::pin(ready(Ok(()))) }
    }
}

impl Handler<Flush<Error>> for GrantActor {
    type Result = ResponseActFuture<Self, Result<(), Error>>;

    fn handle(&mut self, _: Flush<Error>, _: &mut Self::Context) -> Self::Result {
        self.flush()
    }
}
