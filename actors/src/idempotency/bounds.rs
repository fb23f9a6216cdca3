//! The bounds of the storage of one account, and the removal of what exceeds them.

use database::{Db, Transaction};
use entity::idempotency::{Column, Entity};
use entity::library_usage;
use errors::Error;
use library::clock::Clock;
use library::owned_transaction::begin_owned;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder, QuerySelect, Select};
use values::id::{KeyId, UserId};
use values::time::Timestamp;

use super::row_state::is_finished;

/// Keys that one transaction expires, or bodies that it removes, of an account above its bounds. Other requests of the user
/// run between two such transactions.
const MAX_FREED_PER_TRANSACTION: u64 = 16;

/// Bounds of the stored responses of one account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredResponseBounds {
    /// Maximum bytes of a body that is stored.
    pub max_body_bytes: usize,
    /// Maximum bytes of all bodies of an account.
    pub max_account_bytes: i64,
    /// Maximum number of keys of an account.
    pub max_account_keys: i64,
}

impl Default for StoredResponseBounds {
    /// The keys suffice for every request of two days of the largest plan: a day of 24 hours touches two days of UTC.
    fn default() -> Self {
        Self { max_body_bytes: 256 << 10, max_account_bytes: 64 << 20, max_account_keys: 100_000 }
    }
}

impl StoredResponseBounds {
    /// Removes the oldest bodies and the oldest keys of an account that are above its bounds.
    pub(super) async fn enforce(self, db: &Db, clock: &dyn Clock, user: UserId) -> Result<(), Error> {
        while self.read_excess(db.read(), user).await?.is_some() {
            let txn = begin_owned(db, user).await?;
            let mut freed = 0;
            if let Some(excess) = self.read_excess(&txn, user).await? {
                freed += expire_oldest(&txn, user, excess.keys, clock.now()).await?;
                // A key that expires frees its body too, so bodies are removed only once there are few enough keys.
                if freed == 0 {
                    freed += remove_oldest_bodies(&txn, user, excess.bytes).await?;
                }
            }
            txn.commit().await?;
            // What is left belongs to running requests, which are not removed: without this the loop would not end.
            if freed == 0 {
                break;
            }
        }
        Ok(())
    }

    async fn read_excess(
        self,
        db: &impl ConnectionTrait,
        user: UserId,
    ) -> Result<Option<ExcessUsage>, Error> {
        let Some(usage) = library_usage::Entity::owned_by(user).one(db).await? else { return Ok(None) };
        let keys = usage.responses.saturating_sub(self.max_account_keys);
        let excess = ExcessUsage {
            keys: u64::try_from(keys).unwrap_or(0),
            bytes: usage.response_bytes.saturating_sub(self.max_account_bytes).max(0),
        };
        Ok((excess.keys > 0 || excess.bytes > 0).then_some(excess))
    }
}

/// The usage of an account above its bounds.
struct ExcessUsage {
    /// The number of keys above the maximum.
    keys: u64,
    /// The bytes of bodies above the maximum.
    bytes: i64,
}

/// Removes the oldest finished keys. Returns the number of removed keys.
async fn expire_oldest(txn: &Transaction, user: UserId, keys: u64, now: Timestamp) -> Result<u64, Error> {
    let finished = Entity::owned_by(user).filter(is_finished(now));
    let mut removed = 0;
    for (key, idempotency_key_hash, _) in
        find_oldest(txn, finished, keys.min(MAX_FREED_PER_TRANSACTION)).await?
    {
        // The condition is checked again: a heartbeat may have arrived since the row was read.
        let deleted = Entity::delete_one_of(user, key, &idempotency_key_hash)
            .filter(is_finished(now))
            .exec(txn)
            .await?;
        removed += deleted.rows_affected;
    }
    Ok(removed)
}

/// Removes the bodies of the oldest responses until `excess` bytes are freed. Returns the number of removed bodies.
async fn remove_oldest_bodies(txn: &Transaction, user: UserId, mut excess: i64) -> Result<u64, Error> {
    let mut removed = 0;
    let with_body = Entity::owned_by(user).filter(Column::Body.is_not_null());
    for (key, idempotency_key_hash, bytes) in find_oldest(txn, with_body, MAX_FREED_PER_TRANSACTION).await? {
        if excess <= 0 {
            break;
        }
        let update = Entity::update_one_of(user, key, &idempotency_key_hash)
            .col_expr(Column::Body, Expr::value(None::<String>))
            .exec(txn)
            .await?;
        excess -= bytes;
        removed += update.rows_affected;
    }
    Ok(removed)
}

/// Returns key, name and body length in bytes of the oldest rows.
async fn find_oldest(
    txn: &Transaction,
    rows: Select<Entity>,
    limit: u64,
) -> Result<Vec<(KeyId, Vec<u8>, i64)>, Error> {
    let oldest = rows
        .order_by_asc(Column::CreatedAt)
        .limit(limit)
        .select_only()
        .columns([Column::KeyId, Column::IdempotencyKeyHash])
        .column_as(Expr::cust("CAST(COALESCE(OCTET_LENGTH(body), 0) AS BIGINT)"), "bytes")
        .into_tuple();
    Ok(oldest.all(txn).await?)
}
