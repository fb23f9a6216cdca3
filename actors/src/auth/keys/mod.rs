//! API keys: finds the owner of a secret, and makes every change of a key.
//!
//! [`Keys`] answers from its cache, and reads a key that is not in it, without asking its actor. A cached row counts only while nothing of
//! its user was changed since its read began and while the last check of the database's generation is younger than a second. So a
//! revoked secret stops working before the revocation is answered, and within a second if another process revoked it.

mod actor;
pub(crate) mod cache_epoch;
pub mod changes;
mod find_key;
mod last_uses;
mod notified_keys;
pub mod rules;

use std::sync::Arc;
use std::time::Duration;

use actix::ArbiterHandle;
use database::Db;
use entity::api_key;
use errors::Error;
use library::clock::Clock;
use moka::sync::Cache;
use runtime::{Port, SupervisorConfig, supervise};
use values::id::{KeyId, UserId};
use values::plan::{Limits, Plan};

use crate::ai::Pause;
use crate::auth::client_names::ClientName;
use crate::auth::secret::{Secret, SecretHash};
use crate::notices::Notices;
use crate::service_state::{self, ServiceStateKey};
use crate::write_behind::Flush;
use actor::{KeyActor, KeyClientName};
use cache_epoch::CacheEpoch;
use find_key::find_key;

pub use actor::FirstKeyUse;
pub use changes::{KeyChanges, NewKey};
pub(crate) use last_uses::write_last_uses;

const MAX_CACHED_KEYS: u64 = 10_000;
/// A row leaves the cache after this time. So the name that a client stated to another process, which begins no epoch here, is read at
/// last, also while no key or account changes.
pub(crate) const CACHE_LIFETIME: Duration = Duration::from_secs(600);

/// A key whose secret was presented.
#[derive(Clone, Debug)]
pub struct KeyRow {
    /// The row of the key. Its times of use may be out of date.
    pub key: api_key::Model,
    /// The plan of its owner.
    pub plan: Plan,
    /// The name of the key, which every call shares.
    pub name: Arc<str>,
    /// Name and version that the client stated in its latest MCP `initialize`.
    pub mcp_client: Option<Arc<str>>,
    epoch: u64,
}

/// Handle of the actor of API keys, with its cache. Clones share both.
#[derive(Clone)]
pub struct Keys {
    db: Db,
    cache: Cache<SecretHash, Arc<KeyRow>>,
    cache_epoch: Arc<CacheEpoch>,
    clock: Arc<dyn Clock>,
    port: Port<KeyActor>,
}

impl Keys {
    /// Starts the actor, which begins to check the generation of the database, and to read the pause of the AI with it.
    pub fn start(on: &ArbiterHandle, db: Db, clock: Arc<dyn Clock>, notices: Notices, pause: Pause) -> Self {
        let cache = Cache::builder().max_capacity(MAX_CACHED_KEYS).time_to_live(CACHE_LIFETIME).build();
        let cache_epoch = Arc::new(CacheEpoch::new(clock.clone()));
        let config = SupervisorConfig { name: "keys", permits: 1024, timeout: Duration::from_secs(8) };
        let (actor_db, actor_clock, actor_epoch) = (db.clone(), clock.clone(), cache_epoch.clone());
        let port = supervise(on, config, move || {
            let (db, clock, epoch) = (actor_db.clone(), actor_clock.clone(), actor_epoch.clone());
            KeyActor::new(db, clock, epoch, notices.clone(), pause.clone())
        });
        Self { db, cache, cache_epoch, clock, port }
    }

    /// Returns the key with this secret.
    ///
    /// # Errors
    /// [`Error::KeyInvalid`] for unknown, revoked and expired keys and disabled accounts alike (contract.md, section 3).
    pub async fn authenticate(&self, secret: &Secret) -> Result<Arc<KeyRow>, Error> {
        let hash = secret.hash();
        let cached =
            self.cache.get(&hash).filter(|row| self.cache_epoch.is_current(row.key.user_id, row.epoch));
        let row = match cached {
            Some(row) => row,
            None => self.load_row(hash).await?.ok_or(Error::KeyInvalid)?,
        };
        match row.key.expires_at {
            Some(end) if end <= self.clock.now() => Err(Error::KeyInvalid),
            Some(_) | None => Ok(row),
        }
    }

    /// Reads the key with this hash for the cache; `None` if it is unknown or its owner is disabled.
    async fn load_row(&self, hash: SecretHash) -> Result<Option<Arc<KeyRow>>, Error> {
        // Before the read: a change meanwhile makes the row outdated, although it is inserted after that change.
        let epoch = self.cache_epoch.current();
        let Some((key, plan)) = find_key(&self.db, &hash).await? else { return Ok(None) };
        let (name, mcp_client) = (key.name.as_str().into(), key.mcp_client.as_deref().map(Arc::from));
        let row = Arc::new(KeyRow { key, plan, name, mcp_client, epoch });
        self.cache.insert(hash, row.clone());
        Ok(Some(row))
    }

    /// Creates a key. Its secret cannot be read again.
    ///
    /// # Errors
    /// The errors of [`changes::create`].
    pub async fn create(
        &self,
        user: UserId,
        plan: Plan,
        limits: &Limits,
        new: NewKey,
    ) -> Result<(api_key::Model, Secret), Error> {
        changes::create(&self.db, user, plan, limits, new, self.clock.now()).await
    }

    /// Changes a key. Requests that begin after this returns are checked against the changed key.
    ///
    /// # Errors
    /// The errors of [`changes::change`]; [`Error::Busy`] when too many changes are in progress.
    pub async fn change(
        &self,
        user: UserId,
        plan: Plan,
        key: KeyId,
        changes: KeyChanges,
    ) -> Result<api_key::Model, Error> {
        self.run_change(user, async move |db| changes::change(db, user, plan, key, changes).await).await
    }

    /// Gives a key a new secret. The old one no longer works when this returns.
    ///
    /// # Errors
    /// The errors of [`changes::regenerate`]; [`Error::Busy`] when too many changes are in progress.
    pub async fn regenerate(&self, user: UserId, key: KeyId) -> Result<(api_key::Model, Secret), Error> {
        self.run_change(user, async move |db| {
            let (changed, generation) = changes::regenerate(db, user, key).await?;
            Ok::<_, Error>((changed, Some(generation)))
        })
        .await
    }

    /// Revokes a key. Its secret no longer works when this returns.
    ///
    /// # Errors
    /// The errors of [`changes::revoke`]; [`Error::Busy`] when too many changes are in progress.
    pub async fn revoke(&self, user: UserId, key: KeyId) -> Result<(), Error> {
        self.run_change(user, async move |db| {
            let generation = changes::revoke(db, user, key).await?;
            Ok::<_, Error>(((), Some(generation)))
        })
        .await
    }

    /// Runs a change of a cached row of this user to its end, and advances the epoch once it is committed. Without this a caller that is
    /// dropped between the two would leave the former row current until the next check of the generation. `change` returns the generation
    /// that it raised; `None` if it changed nothing. It is one transaction of few statements, which the timeouts of the database bound:
    /// on SQLite 5 s to begin; on PostgreSQL 8 s to begin, 2 s for a lock and 30 s for a statement.
    async fn run_change<T: Send + 'static>(
        &self,
        user: UserId,
        change: impl AsyncFnOnce(&Db) -> Result<(T, Option<i64>), Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (db, cache_epoch) = (self.db.clone(), self.cache_epoch.clone());
        let changed = self.port.run_to_end(async move || {
            let (changed, generation) = change(&db).await?;
            if let Some(generation) = generation {
                cache_epoch.record_own_change(user, generation);
            }
            Ok::<T, Error>(changed)
        });
        changed.await?
    }

    /// Returns the epoch of cached keys, which cached access tokens share.
    pub(crate) fn cache_epoch(&self) -> Arc<CacheEpoch> {
        self.cache_epoch.clone()
    }

    /// Invalidates every cached row, after a change of the database that no operation of this process made.
    pub fn invalidate_cache(&self) {
        self.cache_epoch.bump();
    }

    /// Invalidates the cached rows of a user, after this process has changed the account and raised the generation to this number.
    pub(crate) fn record_account_change(&self, user: UserId, generation: i64) {
        self.cache_epoch.record_own_change(user, generation);
    }

    /// Notifies the first use of a key, once. While the actor is overloaded, nothing happens: the next use of the key does the same.
    pub fn notify_first_use(&self, used: FirstKeyUse) {
        self.port.tell(used);
    }

    /// Stores the name that the client of a user's key stated. Later calls have that name when this returns.
    ///
    /// # Errors
    /// [`Error::Busy`] when the actor does not answer in time.
    pub async fn record_client_name(&self, user: UserId, key: KeyId, name: Arc<str>) -> Result<(), Error> {
        self.port.ask(KeyClientName { key, stated: ClientName { user, name } }).await?
    }

    /// Invalidates every cached row if another process changed keys, users or plans since the last check.
    pub async fn catch_up(&self, db: &Db) -> Result<(), Error> {
        let generation = service_state::read_directly(db, ServiceStateKey::Generation).await?;
        self.cache_epoch.observe_generation(generation);
        Ok(())
    }

    /// Writes the names of clients that are in memory alone.
    ///
    /// # Errors
    /// [`Error::Busy`] when the actor does not answer in time.
    pub async fn flush(&self) -> Result<(), Error> {
        self.port.ask(Flush).await?
    }

    /// Returns the actor's port, for health checks and the drain.
    pub fn port(&self) -> &Port<KeyActor> {
        &self.port
    }
}
