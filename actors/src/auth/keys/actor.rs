//! The actor of API keys: checks the generation of the database, notifies first uses, and writes the names of clients. Look-ups and
//! changes of keys touch no state of it: [`super::Keys`] runs changes beside it, under the port's permits for work. Last uses are in
//! the ledger ([`crate::ledger`]).
//!
//! While the actor restarts after a crash, keys are read from the table. At most one unwritten batch of names is lost. A first use
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
use sea_orm::{ColumnTrait, QueryFilter};
use tracing::warn;
use values::id::{KeyId, UserId};
use values::time::Timestamp;

use super::cache_epoch::CacheEpoch;
use super::notified_keys::NotifiedKeys;
use crate::ai::Pause;
use crate::auth::client_names::{ClientName, ClientNames, client_name_throttle};
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
    names: ClientNames<KeyId>,
    name_throttle: KeyedThrottle<KeyId>,
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
        Self {
            db,
            clock,
            cache_epoch,
            pause,
            notices,
            names: ClientNames::default(),
            name_throttle: client_name_throttle(),
            write_lock: WriteLock::default(),
            notified: NotifiedKeys::default(),
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
    fn notify_first_use(&mut self, used: FirstKeyUse, context: &mut Context<Self>) {
        // Cached rows say that a key is new until its row is read again, and each notice that is begun is a transaction.
        if !self.notified.insert(used.key) {
            return;
        }
        let (key, user, notices) = (used.key, used.user, self.notices.clone());
        let client = used.client.map(|client| client.to_string());
        let first = FirstUse { key, user, name: used.name.to_string(), client, at: used.at };
        let write = async move { notices.first_use(first).await };
        context.spawn(write.into_actor(self).map(move |notified, actor, _| match notified {
            // From the next use on, the row says that the key is not new, so that a use sends no message any more.
            Ok(()) => actor.cache_epoch.bump_user(user),
            Err(error) => {
                warn!(cause = error.chain(), key.id = %key, "could not store the notice of the first use of a key");
                actor.notified.remove(key);
            }
        }));
    }
}

impl WriteBehind for KeyActor {
    type Batch = ClientNames<KeyId>;
    type Output = ();
    const BATCH_NAME: &'static str = "the names of the clients of keys";

    fn write_lock(&self) -> WriteLock {
        self.write_lock.clone()
    }

    fn take_batch(&mut self) -> Self::Batch {
        std::mem::take(&mut self.names)
    }

    fn write(&self, names: Self::Batch) -> WriteFuture<Self::Batch, ()> {
        let db = self.db.clone();
        Box::pin(async move {
            let written = write_names(&db, &names).await;
            (names, written)
        })
    }

    fn on_written(&mut self, names: Self::Batch, (): ()) {
        // Calls get the stated name from the cached row.
        for (_, written) in names.iter() {
            self.cache_epoch.bump_user(written.user);
        }
    }

    fn put_back(&mut self, unwritten: Self::Batch) {
        self.names.put_back(unwritten);
    }
}

/// Writes whole names, so a batch that is written again changes nothing.
async fn write_names(db: &Db, names: &ClientNames<KeyId>) -> Result<(), Error> {
    if names.is_empty() {
        return Ok(());
    }
    let txn = db.begin().await?;
    for (key, stated) in names.iter() {
        // A key that was revoked meanwhile matches no row, which is no error.
        api_key::Entity::update_owned(stated.user)
            .col_expr(api_key::Column::McpClient, Expr::value(stated.name.to_string()))
            .filter(api_key::Column::Id.eq(key))
            .exec(&txn)
            .await?;
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

/// A use of a key of which no use has been recorded yet.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct FirstKeyUse {
    /// The key that was used.
    pub key: KeyId,
    /// The owner of the key, who gets the notice.
    pub user: UserId,
    /// The name that the user gave the key.
    pub name: Arc<str>,
    /// The time of the use.
    pub at: Timestamp,
    /// The name by which the client identified itself.
    pub client: Option<Arc<str>>,
}

impl Handler<FirstKeyUse> for KeyActor {
    type Result = ();

    fn handle(&mut self, used: FirstKeyUse, context: &mut Self::Context) {
        self.notify_first_use(used, context);
    }
}

/// Name and version that the client of a key stated in an MCP `initialize`. Later calls that do not state a name have this one, once
/// this is answered.
#[derive(Message)]
#[rtype(result = "Result<(), Error>")]
pub struct KeyClientName {
    pub(super) key: KeyId,
    pub(super) stated: ClientName,
}

impl Handler<KeyClientName> for KeyActor {
    type Result = ResponseActFuture<Self, Result<(), Error>>;

    fn handle(&mut self, message: KeyClientName, _: &mut Self::Context) -> Self::Result {
        let KeyClientName { key, stated } = message;
        let is_immediate = self.name_throttle.try_acquire(&key);
        self.names.record(key, stated);
        // Each write makes the cached rows of the user be read again, so a client cannot cause it all the time.
        if is_immediate { self.flush() } else { Box::pin(ready(Ok(()))) }
    }
}

impl Handler<Flush> for KeyActor {
    type Result = ResponseActFuture<Self, Result<(), Error>>;

    fn handle(&mut self, _: Flush, _: &mut Self::Context) -> Self::Result {
        self.flush()
    }
}
