//! The actor of API keys: checks the generation of the database, and writes last uses in batches. Look-ups and changes of keys touch
//! no state of it: [`super::Keys`] runs changes beside it, under the port's permits for work.
//!
//! While the actor restarts after a crash, keys are read from the table. At most one unwritten batch of last uses is lost. A first use
//! without a notice causes one at the next use, because the row of the key still says that it is new.

use std::sync::Arc;
use std::time::Duration;

use actix::{
    Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseActFuture, WrapFuture, fut::ready,
};
use database::{Db, is_reported};
use entity::api_key;
use errors::Error;
use library::clock::Clock;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use tracing::warn;
use values::id::{KeyId, UserId};
use values::time::Timestamp;

use super::cache_epoch::CacheEpoch;
use super::notified_keys::NotifiedKeys;
use crate::ai::Pause;
use crate::auth::last_use::{LastUse, LastUseBuffer, client_info_throttle};
use crate::notices::{FirstUse, Notices};
use crate::service_state;
use crate::throttle::KeyedThrottle;
use crate::write_behind::{Flush, WriteBehind, WriteFuture, WriteLock};

// One check may fail or be late: a row stays current for 1,000 ms after the last check.
const CHECK_INTERVAL: Duration = Duration::from_millis(400);
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

pub struct KeyActor {
    db: Db,
    clock: Arc<dyn Clock>,
    cache_epoch: Arc<CacheEpoch>,
    pause: Pause,
    notices: Notices,
    uses: LastUseBuffer<KeyId>,
    client_info_throttle: KeyedThrottle<KeyId>,
    write_lock: WriteLock,
    notified: NotifiedKeys,
}

impl KeyActor {
    pub(super) fn new(
        db: Db,
        clock: Arc<dyn Clock>,
        cache_epoch: Arc<CacheEpoch>,
        notices: Notices,
        pause: Pause,
    ) -> Self {
        let (uses, notified) = (LastUseBuffer::default(), NotifiedKeys::default());
        Self {
            db,
            clock,
            cache_epoch,
            pause,
            notices,
            uses,
            client_info_throttle: client_info_throttle(),
            write_lock: WriteLock::default(),
            notified,
        }
    }

    /// Reads the generation of the database. If it changed, another process changed keys, users or plans. The same statement reads whether
    /// the AI is paused, which is needed as often.
    fn check_generation(&mut self, context: &mut Context<Self>) {
        // The time from before the read: another process may change the generation while it is read.
        let (db, since) = (self.db.clone(), self.clock.elapsed());
        let read = async move { service_state::read_watched(&db).await };
        context.spawn(read.into_actor(self).map(move |read, actor, _| match read {
            Ok(watched) => {
                actor.pause.observe(watched.ai_paused_until.as_deref());
                actor.cache_epoch.observe_generation(watched.generation);
                actor.cache_epoch.mark_checked(since);
            }
            Err(error) if is_reported(&error) => {}
            Err(error) => warn!(%error, "could not read the generation number of the keys"),
        }));
    }

    /// Writes the notice of a first use. If that fails, the next use tries again.
    fn notify_first_use(&self, used: &KeyUse, context: &mut Context<Self>) {
        let (key, notices) = (used.key, self.notices.clone());
        let (name, client) = (used.name.clone(), used.client.clone());
        let first = FirstUse { key, user: used.user, name, client, at: used.at };
        let write = async move { notices.first_use(first).await };
        context.spawn(write.into_actor(self).map(move |notified, actor, _| {
            if let Err(error) = notified {
                warn!(cause = error.chain(), key.id = %key, "could not store the notice of the first use of a key");
                actor.notified.remove(key);
            }
        }));
    }
}

impl WriteBehind for KeyActor {
    type Batch = LastUseBuffer<KeyId>;
    type Output = ();
    const BATCH_NAME: &'static str = "the last uses of keys";

    fn write_lock(&self) -> WriteLock {
        self.write_lock.clone()
    }

    fn take_batch(&mut self) -> Self::Batch {
        std::mem::take(&mut self.uses)
    }

    fn write(&self, uses: Self::Batch) -> WriteFuture<Self::Batch, ()> {
        let db = self.db.clone();
        Box::pin(async move {
            let written = write_uses(&db, &uses).await;
            (uses, written)
        })
    }

    fn on_written(&mut self, uses: Self::Batch, (): ()) {
        // Calls get the stated name from the cached row. Its time of the last use is never read.
        if uses.has_client_info() {
            self.cache_epoch.bump();
        }
    }

    fn put_back(&mut self, unwritten: Self::Batch) {
        self.uses.put_back(unwritten);
    }
}

/// Writes absolute times and names, so a batch that is written again changes nothing.
async fn write_uses(db: &Db, uses: &LastUseBuffer<KeyId>) -> Result<(), Error> {
    if uses.is_empty() {
        return Ok(());
    }
    let txn = db.begin().await?;
    for (key, used) in uses.iter() {
        // A key that was revoked meanwhile matches no row, which is no error.
        let mut update = api_key::Entity::update_many()
            .col_expr(api_key::Column::LastUsedAt, Expr::value(used.at))
            .filter(api_key::Column::Id.eq(key));
        if let Some(client) = &used.client {
            update = update.col_expr(api_key::Column::LastClient, Expr::value(client.clone()));
        }
        if let Some(client) = &used.mcp_client {
            update = update.col_expr(api_key::Column::McpClient, Expr::value(client.clone()));
        }
        update.exec(&txn).await?;
    }
    Ok(txn.commit().await?)
}

impl Actor for KeyActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        self.check_generation(context);
        context.run_interval(CHECK_INTERVAL, Self::check_generation);
        Self::flush_every(context, FLUSH_INTERVAL);
    }
}

/// A use of a key.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct KeyUse {
    /// The key that was used.
    pub key: KeyId,
    /// The owner of the key, who gets the notice of a first use.
    pub user: UserId,
    /// The name that the user gave the key.
    pub name: String,
    /// Whether no use of the key has been written down yet.
    pub first: bool,
    /// The time of the use, which the row of the key gets as the last one.
    pub at: Timestamp,
    /// The name by which the client identified itself.
    pub client: Option<String>,
    /// Name and version that the client stated in an MCP `initialize`.
    pub mcp_client: Option<String>,
}

impl KeyActor {
    fn record(&mut self, used: KeyUse, context: &mut Context<Self>) {
        // Cached rows say that a key is new until its row is read again, and each notice that is begun is a transaction.
        if used.first && self.notified.insert(used.key) {
            self.notify_first_use(&used, context);
        }
        self.uses.record(used.key, LastUse { at: used.at, client: used.client, mcp_client: used.mcp_client });
    }
}

impl Handler<KeyUse> for KeyActor {
    type Result = ();

    fn handle(&mut self, used: KeyUse, context: &mut Self::Context) {
        self.record(used, context);
    }
}

/// A use of a key whose client stated its name. Later calls that do not state a name have this one, once this is answered.
#[derive(Message)]
#[rtype(result = "Result<(), Error>")]
pub struct KeyClientInfo(pub KeyUse);

impl Handler<KeyClientInfo> for KeyActor {
    type Result = ResponseActFuture<Self, Result<(), Error>>;

    fn handle(&mut self, KeyClientInfo(used): KeyClientInfo, context: &mut Self::Context) -> Self::Result {
        let is_immediate = self.client_info_throttle.try_acquire(&used.key);
        self.record(used, context);
        // Each write makes every cached row be read again, so a client cannot cause it all the time.
        if is_immediate { self.flush() } else { Box::pin(ready(Ok(()))) }
    }
}

impl Handler<Flush> for KeyActor {
    type Result = ResponseActFuture<Self, Result<(), Error>>;

    fn handle(&mut self, _: Flush, _: &mut Self::Context) -> Self::Result {
        self.flush()
    }
}
