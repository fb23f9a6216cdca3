//! The actor of grants: writes the names of clients, and cleans up. The steps that issue or end tokens touch no state of it:
//! [`super::Grants`] runs them beside it, under the port's permits for work. Last uses are in the ledger ([`crate::ledger`]).
//!
//! A crash loses at most one unwritten batch of names.

use std::time::Duration;

use actix::{
    Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseActFuture, WrapFuture, fut::ready,
};
use database::Db;
use entity::oauth_grant;
use errors::Error;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, QueryFilter};
use tracing::warn;
use values::id::GrantId;

use super::context::GrantContext;
use super::sweep;
use crate::auth::client_names::{ClientName, ClientNames, client_name_throttle};
use crate::throttle::KeyedThrottle;
use crate::write_behind::{Flush, WriteBehind, WriteFuture, WriteLock};

const FLUSH_INTERVAL: Duration = Duration::from_secs(1);
const SWEEP_INTERVAL: Duration = Duration::from_secs(3600);

pub struct GrantActor {
    ctx: GrantContext,
    names: ClientNames<GrantId>,
    name_throttle: KeyedThrottle<GrantId>,
    write_lock: WriteLock,
}

impl GrantActor {
    pub(super) fn new(ctx: GrantContext) -> Self {
        Self {
            ctx,
            names: ClientNames::default(),
            name_throttle: client_name_throttle(),
            write_lock: WriteLock::default(),
        }
    }

    fn sweep(&mut self, context: &mut Context<Self>) {
        let ctx = self.ctx.clone();
        context.spawn(async move { sweep::run(&ctx).await }.into_actor(self).map(|done, _, _| {
            if let Err(error) = done {
                warn!(cause = error.chain(), "could not remove expired OAuth rows");
            }
        }));
    }
}

impl WriteBehind for GrantActor {
    type Batch = ClientNames<GrantId>;
    type Output = ();
    const BATCH_NAME: &'static str = "the names of the clients of grants";

    fn write_lock(&self) -> WriteLock {
        self.write_lock.clone()
    }

    fn take_batch(&mut self) -> Self::Batch {
        std::mem::take(&mut self.names)
    }

    fn write(&self, names: Self::Batch) -> WriteFuture<Self::Batch, ()> {
        let db = self.ctx.db.clone();
        Box::pin(async move {
            let written = write_names(&db, &names).await;
            (names, written)
        })
    }

    fn on_written(&mut self, names: Self::Batch, (): ()) {
        // Calls get the stated name from the cached token.
        for (_, written) in names.iter() {
            self.ctx.cache_epoch.bump_user(written.user);
        }
    }

    fn put_back(&mut self, unwritten: Self::Batch) {
        self.names.put_back(unwritten);
    }
}

/// Writes whole names, so a batch that is written again changes nothing.
async fn write_names(db: &Db, names: &ClientNames<GrantId>) -> Result<(), Error> {
    if names.is_empty() {
        return Ok(());
    }
    let txn = db.begin().await?;
    for (grant, stated) in names.iter() {
        // A grant that was removed meanwhile matches no row, which is no error.
        oauth_grant::Entity::update_owned(stated.user)
            .col_expr(oauth_grant::Column::McpClient, Expr::value(stated.name.to_string()))
            .filter(oauth_grant::Column::Id.eq(grant))
            .exec(&txn)
            .await?;
    }
    Ok(txn.commit().await?)
}

impl Actor for GrantActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        self.sweep(context);
        context.run_interval(SWEEP_INTERVAL, Self::sweep);
        Self::flush_every(context, FLUSH_INTERVAL);
    }
}

/// Name and version that the client of a grant stated in an MCP `initialize`. Later calls that do not state a name have this one, once
/// this is answered.
#[derive(Message)]
#[rtype(result = "Result<(), Error>")]
pub struct GrantClientName {
    pub(super) grant: GrantId,
    pub(super) stated: ClientName,
}

impl Handler<GrantClientName> for GrantActor {
    type Result = ResponseActFuture<Self, Result<(), Error>>;

    fn handle(&mut self, message: GrantClientName, _: &mut Self::Context) -> Self::Result {
        let GrantClientName { grant, stated } = message;
        let is_immediate = self.name_throttle.try_acquire(&grant);
        self.names.record(grant, stated);
        // Each write makes the cached rows of the user be read again, so a client cannot cause it all the time.
        if is_immediate { self.flush() } else { Box::pin(ready(Ok(()))) }
    }
}

impl Handler<Flush> for GrantActor {
    type Result = ResponseActFuture<Self, Result<(), Error>>;

    fn handle(&mut self, _: Flush, _: &mut Self::Context) -> Self::Result {
        self.flush()
    }
}
