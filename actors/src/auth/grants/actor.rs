//! The actor of grants: writes last uses in batches, and cleans up. The steps that issue or end tokens touch no state of it:
//! [`super::Grants`] runs them beside it, under the port's permits for work.
//!
//! A crash loses at most one unwritten batch of last uses.

use std::time::Duration;

use actix::{
    Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseActFuture, WrapFuture, fut::ready,
};
use database::Db;
use entity::oauth_grant;
use errors::Error;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use tracing::warn;
use values::id::GrantId;
use values::time::Timestamp;

use super::context::GrantContext;
use super::sweep;
use crate::auth::last_use::{LastUse, LastUseBuffer, client_info_throttle};
use crate::throttle::KeyedThrottle;
use crate::write_behind::{Flush, WriteBehind, WriteFuture, WriteLock};

const FLUSH_INTERVAL: Duration = Duration::from_secs(1);
const SWEEP_INTERVAL: Duration = Duration::from_secs(3600);

pub struct GrantActor {
    ctx: GrantContext,
    uses: LastUseBuffer<GrantId>,
    client_info_throttle: KeyedThrottle<GrantId>,
    write_lock: WriteLock,
}

impl GrantActor {
    pub(super) fn new(ctx: GrantContext) -> Self {
        Self {
            ctx,
            uses: LastUseBuffer::default(),
            client_info_throttle: client_info_throttle(),
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
    type Batch = LastUseBuffer<GrantId>;
    type Output = ();
    const BATCH_NAME: &'static str = "the last uses of grants";

    fn write_lock(&self) -> WriteLock {
        self.write_lock.clone()
    }

    fn take_batch(&mut self) -> Self::Batch {
        std::mem::take(&mut self.uses)
    }

    fn write(&self, uses: Self::Batch) -> WriteFuture<Self::Batch, ()> {
        let db = self.ctx.db.clone();
        Box::pin(async move {
            let written = write_uses(&db, &uses).await;
            (uses, written)
        })
    }

    fn on_written(&mut self, uses: Self::Batch, (): ()) {
        if uses.has_client_info() {
            self.ctx.cache_epoch.bump();
        }
    }

    fn put_back(&mut self, unwritten: Self::Batch) {
        self.uses.put_back(unwritten);
    }
}

/// Writes absolute times and names, so a batch that is written again changes nothing.
async fn write_uses(db: &Db, uses: &LastUseBuffer<GrantId>) -> Result<(), Error> {
    if uses.is_empty() {
        return Ok(());
    }
    let txn = db.begin().await?;
    for (grant, used) in uses.iter() {
        // A grant that was removed meanwhile matches no row, which is no error.
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
        context.run_interval(SWEEP_INTERVAL, Self::sweep);
        Self::flush_every(context, FLUSH_INTERVAL);
    }
}

/// A use of a grant.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct GrantUse {
    /// The grant that was used.
    pub grant: GrantId,
    /// The time of the use, which its row gets as the last one.
    pub at: Timestamp,
    /// Name and version that the client stated in an MCP `initialize`.
    pub mcp_client: Option<String>,
}

impl GrantActor {
    fn record(&mut self, used: GrantUse) {
        self.uses.record(used.grant, LastUse { at: used.at, client: None, mcp_client: used.mcp_client });
    }
}

impl Handler<GrantUse> for GrantActor {
    type Result = ();

    fn handle(&mut self, used: GrantUse, _: &mut Self::Context) {
        self.record(used);
    }
}

/// A use of a grant whose client stated its name. Later calls that do not state a name have this one, once this is answered.
#[derive(Message)]
#[rtype(result = "Result<(), Error>")]
pub struct GrantClientInfo(pub GrantUse);

impl Handler<GrantClientInfo> for GrantActor {
    type Result = ResponseActFuture<Self, Result<(), Error>>;

    fn handle(&mut self, GrantClientInfo(used): GrantClientInfo, _: &mut Self::Context) -> Self::Result {
        let is_immediate = self.client_info_throttle.try_acquire(&used.grant);
        self.record(used);
        // Each write makes every cached row be read again, so a client cannot cause it all the time.
        if is_immediate { self.flush() } else { Box::pin(ready(Ok(()))) }
    }
}

impl Handler<Flush> for GrantActor {
    type Result = ResponseActFuture<Self, Result<(), Error>>;

    fn handle(&mut self, _: Flush, _: &mut Self::Context) -> Self::Result {
        self.flush()
    }
}
