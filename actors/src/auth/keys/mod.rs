//! Keys: who a secret belongs to, and everything that changes a key.
//!
//! [`Keys`] answers from its cache without a hop. A cached row counts only while nothing was changed since its read
//! began (one epoch for all keys) and while the last look at the database's generation is younger than a second; so a
//! revoked secret stops before the revocation is answered, and within a second where another process revoked it.

mod actor;
pub mod changes;
pub(crate) mod freshness;
pub mod rules;
pub mod secret;

use std::sync::Arc;
use std::time::Duration;

use actix::ArbiterHandle;
use database::Db;
use entity::api_key;
use entity::id::{KeyId, UserId};
use entity::kind::KeyKind;
use entity::plan::{Limits, Plan};
use entity::scope::Scopes;
use entity::time::Timestamp;
use moka::sync::Cache;
use runtime::{Flush, Port, SupervisorConfig, supervise};

use library::clock::Clock;
use errors::Error;
use crate::notices::Notices;
use crate::service_state::{self, ServiceStateKey};
use actor::{Change, Create, Introduced, KeyActor, Look, Regenerate, Revoke};
use freshness::Freshness;
use secret::{Secret, SecretHash};

pub use actor::Used;

const CACHED: u64 = 10_000;

/// What is known of a key whose secret was presented.
#[derive(Clone, Debug)]
pub struct KeyRow {
    /// The key.
    pub key: api_key::Model,
    /// Its owner's plan.
    pub plan: Plan,
    epoch: u64,
}

/// What a new key is to be.
#[derive(Clone, Debug)]
pub struct Wish {
    /// What the person calls it.
    pub name: String,
    /// For REST or MCP.
    pub kind: KeyKind,
    /// What it may do; none for the default of its kind.
    pub scopes: Option<Scopes>,
    /// Requests an hour; none for the plan's maximum.
    pub hourly_limit: Option<i32>,
    /// From then on it is refused.
    pub expires_at: Option<Timestamp>,
}

/// What is to change of a key; `None` leaves it as it is.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Another name.
    pub name: Option<String>,
    /// Other scopes.
    pub scopes: Option<Scopes>,
    /// Another hourly setting, or none.
    pub hourly_limit: Option<Option<i32>>,
    /// Another end, or none.
    pub expires_at: Option<Option<Timestamp>>,
}

/// The keys of everybody.
#[derive(Clone)]
pub struct Keys {
    cache: Cache<SecretHash, Arc<KeyRow>>,
    fresh: Arc<Freshness>,
    clock: Arc<dyn Clock>,
    port: Port<KeyActor>,
}

impl Keys {
    /// Starts the actor and begins to look at the database's generation.
    pub fn start(on: &ArbiterHandle, db: Db, clock: Arc<dyn Clock>, notices: Notices) -> Self {
        let cache = Cache::builder().max_capacity(CACHED).time_to_idle(Duration::from_secs(600)).build();
        let fresh = Arc::new(Freshness::new(clock.clone()));
        let config = SupervisorConfig { name: "keys", permits: 1024, timeout: Duration::from_secs(8) };
        let (kept_cache, kept_fresh, kept_clock) = (cache.clone(), fresh.clone(), clock.clone());
        let port = supervise(on, config, move || {
            KeyActor::new(
                db.clone(),
                kept_clock.clone(),
                kept_cache.clone(),
                kept_fresh.clone(),
                notices.clone(),
            )
        });
        Self { cache, fresh, clock, port }
    }

    /// The key with this secret. One answer for unknown, revoked, expired and disabled (contract.md, section 3).
    pub async fn authenticate(&self, secret: &Secret) -> Result<Arc<KeyRow>, Error> {
        let hash = secret.hash();
        let cached = self.cache.get(&hash).filter(|row| self.fresh.holds(row.epoch));
        let row = match cached {
            Some(row) => row,
            None => self.port.ask(Look(hash)).await??.ok_or(Error::KeyInvalid)?,
        };
        match row.key.expires_at {
            Some(end) if end <= self.clock.now() => Err(Error::KeyInvalid),
            Some(_) | None => Ok(row),
        }
    }

    /// Makes a key; the secret is never to be had again.
    pub async fn create(
        &self,
        user: UserId,
        plan: Plan,
        limits: &Limits,
        wish: Wish,
    ) -> Result<(api_key::Model, Secret), Error> {
        self.port.ask(Create { user, plan, limits: limits.clone(), wish }).await?
    }

    /// Changes a key.
    pub async fn change(
        &self,
        user: UserId,
        plan: Plan,
        key: KeyId,
        changes: Changes,
    ) -> Result<api_key::Model, Error> {
        self.port.ask(Change { user, plan, key, changes }).await?
    }

    /// Gives a key a new secret; the old one has stopped when this returns.
    pub async fn regenerate(&self, user: UserId, key: KeyId) -> Result<(api_key::Model, Secret), Error> {
        self.port.ask(Regenerate { user, key }).await?
    }

    /// Removes a key; its secret has stopped when this returns.
    pub async fn revoke(&self, user: UserId, key: KeyId) -> Result<(), Error> {
        self.port.ask(Revoke { user, key }).await?
    }

    /// The epoch under which keys are remembered; connections are too.
    pub(crate) fn freshness(&self) -> Arc<Freshness> {
        self.fresh.clone()
    }

    /// Drops all that is remembered: users or plans were changed.
    pub fn forget(&self) {
        self.fresh.raise();
    }

    /// Notes a use. What is lost when the actor has no room is one "last used".
    pub fn used(&self, used: Used) {
        self.port.tell(used);
    }

    /// Notes a use whose client said what it is called; that name holds when this returns.
    pub async fn introduced(&self, used: Used) -> Result<(), Error> {
        self.port.ask(Introduced(used)).await?
    }

    /// Drops what is remembered where another process changed keys, users or plans since the last look.
    pub async fn catch_up(&self, db: &Db) -> Result<(), Error> {
        let generation = service_state::read(db.read(), ServiceStateKey::Generation).await?;
        self.fresh.seen(generation);
        Ok(())
    }

    /// Writes what was noted.
    pub async fn flush(&self) -> Result<(), Error> {
        self.port.ask(Flush::default()).await?
    }

    /// The actor's port, for health and for draining.
    pub fn port(&self) -> &Port<KeyActor> {
        &self.port
    }
}
