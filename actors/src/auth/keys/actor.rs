//! The actor of keys: reads rows for the cache, makes every change, and writes down uses in batches. A change has raised the
//! epoch before it is answered, so no cached row of before it counts any more.
//!
//! After a crash the cache refills from the table; what is lost is at most one unwritten batch of last uses. A first use
//! that was not told yet is told at the next use, for its mark stands in the row.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use actix::{
    Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseActFuture, ResponseFuture,
    WrapFuture, fut::ready,
};
use database::{Db, is_reported};
use entity::id::{KeyId, UserId};
use entity::plan::{Limits, Plan};
use entity::time::Timestamp;
use entity::{api_key, user};
use moka::sync::Cache;
use runtime::{Flush, WriteBehind, WriteFuture, WriteLock};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use tracing::warn;

use super::freshness::Freshness;
use super::secret::{Secret, SecretHash};
use super::{Changes, KeyRow, Wish, changes};
use library::clock::Clock;
use errors::Error;
use crate::notices::{FirstUse, Notices};
use crate::service_state::{self, ServiceStateKey};
use crate::auth::last_use::{Introductions, Use, Uses};

const LOOK_EVERY: Duration = Duration::from_millis(400);
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// See the file's head.
pub struct KeyActor {
    db: Db,
    clock: Arc<dyn Clock>,
    cache: Cache<SecretHash, Arc<KeyRow>>,
    fresh: Arc<Freshness>,
    notices: Notices,
    uses: Uses<KeyId>,
    introductions: Introductions<KeyId>,
    write_lock: WriteLock,
    told: HashSet<KeyId>,
}

impl KeyActor {
    pub(super) fn new(
        db: Db,
        clock: Arc<dyn Clock>,
        cache: Cache<SecretHash, Arc<KeyRow>>,
        fresh: Arc<Freshness>,
        notices: Notices,
    ) -> Self {
        let (uses, told) = (Uses::default(), HashSet::new());
        let introductions = Introductions::default();
        Self { db, clock, cache, fresh, notices, uses, introductions, write_lock: WriteLock::default(), told }
    }

    /// Asks for the generation; where it moved, another process changed something.
    fn look(&mut self, context: &mut Context<Self>) {
        let (db, since) = (self.db.clone(), self.clock.elapsed());
        let read = async move { service_state::read(db.read(), ServiceStateKey::Generation).await };
        context.spawn(read.into_actor(self).map(move |read, actor, _| match read {
            Ok(generation) => {
                actor.fresh.seen(generation);
                actor.fresh.looked(since);
            }
            Err(error) if is_reported(&error) => {}
            Err(error) => warn!(%error, "could not look at the generation of the keys"),
        }));
    }

    /// What could not be told is told by the next use.
    fn tell_first_use(&self, used: &Used, context: &mut Context<Self>) {
        let (key, notices) = (used.key, self.notices.clone());
        let (name, client) = (used.name.clone(), used.client.clone());
        let first = FirstUse { key, user: used.user, name, client, at: used.at };
        let tell = async move { notices.first_use(first).await };
        context.spawn(tell.into_actor(self).map(move |told, actor, _| {
            if let Err(error) = told {
                warn!(cause = error.chain(), key.id = %key, "could not write the notice of a first use");
                actor.told.remove(&key);
            }
        }));
    }
}

impl WriteBehind for KeyActor {
    type Batch = Uses<KeyId>;
    /// Whether names of clients were among them.
    type Output = bool;
    type Error = Error;
    const BATCH_NAME: &'static str = "the last uses of keys";

    fn write_lock(&self) -> WriteLock {
        self.write_lock.clone()
    }

    fn take_batch(&mut self) -> Self::Batch {
        std::mem::take(&mut self.uses)
    }

    fn write(&self, uses: Self::Batch) -> WriteFuture<Self::Batch, bool, Error> {
        let db = self.db.clone();
        Box::pin(async move {
            let written = write_uses(&db, &uses).await.map(|()| uses.introduce());
            (uses, written)
        })
    }

    fn on_written(&mut self, introduced: bool) {
        if introduced {
            self.fresh.raise();
        }
    }

    fn put_back(&mut self, unwritten: Self::Batch) {
        self.uses.put_back(unwritten);
    }
}

async fn write_uses(db: &Db, uses: &Uses<KeyId>) -> Result<(), Error> {
    if uses.is_empty() {
        return Ok(());
    }
    let txn = db.begin().await?;
    for (key, used) in uses.iter() {
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
        self.look(context);
        context.run_interval(LOOK_EVERY, Self::look);
        Self::flush_every(context, FLUSH_EVERY);
    }
}

/// Reads the key with this hash for the cache.
#[derive(Message)]
#[rtype(result = "Result<Option<Arc<KeyRow>>, Error>")]
pub struct Look(pub SecretHash);

impl Handler<Look> for KeyActor {
    type Result = ResponseActFuture<Self, Result<Option<Arc<KeyRow>>, Error>>;

    fn handle(&mut self, Look(hash): Look, _: &mut Self::Context) -> Self::Result {
        let (db, epoch) = (self.db.clone(), self.fresh.epoch());
        let read = async move {
            let found = api_key::Entity::by_hash(hash.bytes()).one(db.read()).await?;
            let Some(key) = found else { return Ok(None) };
            let owner = user::Entity::find_by_id(key.user_id).one(db.read()).await?;
            let plan = owner.filter(|owner| owner.disabled_at.is_none()).map(|owner| owner.plan);
            Ok(plan.map(|plan| (hash, Arc::new(KeyRow { key, plan, epoch }))))
        };
        // Into the cache only here, and only with the epoch of before the read: a change meanwhile makes it count for nothing.
        Box::pin(read.into_actor(self).map(
            |found: Result<Option<(SecretHash, Arc<KeyRow>)>, Error>, actor, _| {
                Ok(found?.map(|(hash, row)| {
                    actor.cache.insert(hash, row.clone());
                    row
                }))
            },
        ))
    }
}

/// Makes a key.
#[derive(Message)]
#[rtype(result = "Result<(api_key::Model, Secret), Error>")]
pub struct Create {
    pub(super) user: UserId,
    pub(super) plan: Plan,
    pub(super) limits: Limits,
    pub(super) wish: Wish,
}

impl Handler<Create> for KeyActor {
    type Result = ResponseFuture<Result<(api_key::Model, Secret), Error>>;

    fn handle(&mut self, asked: Create, _: &mut Self::Context) -> Self::Result {
        let (db, now) = (self.db.clone(), self.clock.now());
        Box::pin(async move {
            let Create { user, plan, limits, wish } = asked;
            changes::create(&db, user, plan, &limits, wish, now).await
        })
    }
}

/// Changes a key.
#[derive(Message)]
#[rtype(result = "Result<api_key::Model, Error>")]
pub struct Change {
    pub(super) user: UserId,
    pub(super) plan: Plan,
    pub(super) key: KeyId,
    pub(super) changes: Changes,
}

impl Handler<Change> for KeyActor {
    type Result = ResponseFuture<Result<api_key::Model, Error>>;

    fn handle(&mut self, asked: Change, _: &mut Self::Context) -> Self::Result {
        let (db, fresh) = (self.db.clone(), self.fresh.clone());
        Box::pin(async move {
            let changed = changes::change(&db, asked.user, asked.plan, asked.key, asked.changes).await?;
            fresh.raise();
            Ok(changed)
        })
    }
}

/// Gives a key a new secret.
#[derive(Message)]
#[rtype(result = "Result<(api_key::Model, Secret), Error>")]
pub struct Regenerate {
    pub(super) user: UserId,
    pub(super) key: KeyId,
}

impl Handler<Regenerate> for KeyActor {
    type Result = ResponseFuture<Result<(api_key::Model, Secret), Error>>;

    fn handle(&mut self, asked: Regenerate, _: &mut Self::Context) -> Self::Result {
        let (db, fresh) = (self.db.clone(), self.fresh.clone());
        Box::pin(async move {
            let changed = changes::regenerate(&db, asked.user, asked.key).await?;
            fresh.raise();
            Ok(changed)
        })
    }
}

/// Removes a key.
#[derive(Message)]
#[rtype(result = "Result<(), Error>")]
pub struct Revoke {
    pub(super) user: UserId,
    pub(super) key: KeyId,
}

impl Handler<Revoke> for KeyActor {
    type Result = ResponseFuture<Result<(), Error>>;

    fn handle(&mut self, asked: Revoke, _: &mut Self::Context) -> Self::Result {
        let (db, fresh) = (self.db.clone(), self.fresh.clone());
        Box::pin(async move {
            changes::revoke(&db, asked.user, asked.key).await?;
            fresh.raise();
            Ok(())
        })
    }
}

/// A key was used.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Used {
    /// The key.
    pub key: KeyId,
    /// Its owner.
    pub user: UserId,
    /// What the person calls it.
    pub name: String,
    /// No use of it was written down yet.
    pub first: bool,
    /// When.
    pub at: Timestamp,
    /// Who used it, as it names itself.
    pub client: Option<String>,
    /// Name and version of an MCP `initialize`.
    pub mcp_client: Option<String>,
}

impl KeyActor {
    fn note(&mut self, used: Used, context: &mut Context<Self>) {
        if used.first && self.told.insert(used.key) {
            self.tell_first_use(&used, context);
        }
        self.uses.note(used.key, Use { at: used.at, client: used.client, mcp_client: used.mcp_client });
    }
}

impl Handler<Used> for KeyActor {
    type Result = ();

    fn handle(&mut self, used: Used, context: &mut Self::Context) {
        self.note(used, context);
    }
}

/// A client said what it is called: calls without a handshake of their own bear that name from the answer on.
#[derive(Message)]
#[rtype(result = "Result<(), Error>")]
pub struct Introduced(pub Used);

impl Handler<Introduced> for KeyActor {
    type Result = ResponseActFuture<Self, Result<(), Error>>;

    fn handle(&mut self, Introduced(used): Introduced, context: &mut Self::Context) -> Self::Result {
        let at_once = self.introductions.take(&used.key);
        self.note(used, context);
        // What is written makes every cached row be read anew: nobody brings that about all the time.
        if at_once { self.flush() } else { Box::pin(ready(Ok(()))) }
    }
}

impl Handler<Flush<Error>> for KeyActor {
    type Result = ResponseActFuture<Self, Result<(), Error>>;

    fn handle(&mut self, _: Flush<Error>, _: &mut Self::Context) -> Self::Result {
        self.flush()
    }
}
