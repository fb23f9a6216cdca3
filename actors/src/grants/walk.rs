//! Turns of walks that the service takes itself along the way of an assistant, to see whether it is open: one after the
//! other, with a pause, however often people ask for them. The client of a walk is known by its name, which nobody can
//! guess, and counts as nobody's registration; of its connection there is no notice.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use entity::id::ClientId;
use entity::oauth_client;
use entity::time::Timestamp;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Terms;
use crate::error::Error;
use crate::keys::secret::Secret;
use crate::state;

/// After a walk the next one waits so long.
const PAUSE: Duration = Duration::from_secs(5);
/// A walk that has taken longer has died.
const LONGEST: Duration = Duration::from_secs(600);
const NONCE_PREFIX: &str = "cn_";

/// Whose turn it is.
#[derive(Clone, Debug)]
pub(super) struct Walks {
    one: Arc<Semaphore>,
    /// What the client of the one walk calls itself.
    name: Arc<Mutex<Option<String>>>,
}

/// A turn, for as long as it is kept.
#[derive(Debug)]
pub struct WalkTurn {
    name: String,
    walks: Walks,
    permit: Option<OwnedSemaphorePermit>,
}

impl Walks {
    pub fn new() -> Self {
        Self { one: Arc::new(Semaphore::new(1)), name: Arc::default() }
    }

    /// The turn, where nobody has it.
    pub fn begin(&self) -> Result<WalkTurn, Error> {
        let permit = self.one.clone().try_acquire_owned().map_err(|_| Error::Busy(PAUSE))?;
        let nonce = Secret::new_token(NONCE_PREFIX).map_err(Error::internal)?;
        let name = format!("Connection test {}", nonce.expose());
        *self.name() = Some(name.clone());
        Ok(WalkTurn { name, walks: self.clone(), permit: Some(permit) })
    }

    /// Whether the client of a walk calls itself so.
    pub fn expect(&self, name: Option<&String>) -> bool {
        name.is_some() && self.name().as_ref() == name
    }

    fn name(&self) -> MutexGuard<'_, Option<String>> {
        self.name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WalkTurn {
    /// What the client of the walk is to call itself.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for WalkTurn {
    fn drop(&mut self) {
        *self.walks.name() = None;
        let permit = self.permit.take();
        tokio::spawn(async move {
            tokio::time::sleep(PAUSE).await;
            drop(permit);
        });
    }
}

/// Marks the client as that of a walk.
pub(super) async fn mark(db: &impl ConnectionTrait, client: ClientId) -> Result<(), DbErr> {
    oauth_client::Entity::update_many()
        .col_expr(oauth_client::Column::Walk, Expr::value(true))
        .filter(oauth_client::Column::Id.eq(client))
        .exec(db)
        .await
        .map(drop)
}

/// Removes the client of a walk with its connection and tokens.
pub(super) async fn end(terms: &Terms, client: ClientId) -> Result<(), Error> {
    let txn = terms.db.begin().await?;
    oauth_client::Entity::delete_by_id(client).filter(oauth_client::Column::Walk.eq(true)).exec(&txn).await?;
    state::raise_generation(&txn).await?;
    txn.commit().await?;
    terms.fresh.raise();
    Ok(())
}

/// Removes what walks have left that died.
pub(super) async fn forget_dead(db: &impl ConnectionTrait, now: Timestamp) -> Result<(), DbErr> {
    oauth_client::Entity::delete_many()
        .filter(oauth_client::Column::Walk.eq(true))
        .filter(oauth_client::Column::CreatedAt.lt(now - LONGEST))
        .exec(db)
        .await
        .map(drop)
}
