//! Idempotency-Key: a repeated request gets the stored response of the first one (contract.md, sections 2 and 11).
//!
//! A claim is a row without a response. It is settled with the response that was sent, or given up if the request may be
//! retried. While its request runs, the claim has a heartbeat; a claim whose process crashed can be claimed again after a
//! minute. Responses are stored for 24 hours.
//!
//! A response is stored after its change was committed, so it can be lost: the process crashes in between, or the storage
//! fails. Therefore the transaction that makes the change also marks the claim as committed
//! ([`library::owned_transaction::begin_request`]): both are kept or neither. A committed claim is never released and does
//! not expire within its 24 hours. Once its request has ended, a repeated request is refused with 409. An uncommitted claim
//! has changed nothing, and the request may be retried. A request of several transactions (a batch, a list of feeds) counts
//! as committed with the first of them.
//!
//! The storage of an account is bounded ([`StoredResponseBounds`]), and the guarantee that no change is made twice is given up last.
//! A response that is too large is stored without its body, and so are the oldest ones of an account that uses too many
//! bytes: a repeated request is refused with 409 then, because it was carried out. Only keys beyond the maximum number expire
//! early, the oldest first.
//!
//! All ages are measured by the wall clock, which may be set. If it jumps by more than a minute in either direction, a
//! running request counts as crashed until its next heartbeat. No change is made twice by that: an uncommitted claim that is
//! claimed again can no longer be committed, and a committed one is not released. After a jump back, responses are stored
//! longer by as much. A jump forward of more than 24 hours expires them: the clean-up removes responses and commit marks
//! alike, and the same request is carried out again.

use std::sync::Arc;
use std::time::Duration;

use concurrency::Heartbeat;
use database::{Db, Transaction};
use entity::idempotency::{ActiveModel, Column, Entity, Model};
use entity::library_usage;
use errors::Error;
use library::clock::Clock;
use library::idempotency_claim::ClaimId;
use library::owned_transaction::begin_owned;
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Expr, OnConflict};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Select,
};
use sha2::{Digest, Sha256};
use tracing::warn;
use validation::Invalid;
use values::id::{KeyId, UserId};
use values::time::Timestamp;

/// Time for which responses are stored.
const RESPONSE_RETENTION: Duration = Duration::from_secs(24 * 3600);
/// A claim without a heartbeat for this long belongs to a crashed process. Heartbeats are three times as frequent. The clocks
/// of two nodes may differ by this much.
const CLAIM_TIMEOUT: Duration = Duration::from_secs(60);

/// Delay before the first retry to end a claim. It doubles with each retry; all retries take about a minute.
const FIRST_RETRY: Duration = Duration::from_millis(250);
/// Retries to end a claim, after which its heartbeat ends too.
const MAX_RETRIES: u32 = 8;

/// The value of `heartbeat_at` of a request that is known to have ended.
const ENDED_AT: Timestamp = Timestamp::from_millis(0);

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

/// An Idempotency-Key and the request that it was sent with.
#[derive(Clone, Debug)]
pub struct IdempotencyKey {
    key_hash: Vec<u8>,
    request_hash: Vec<u8>,
}

impl IdempotencyKey {
    /// Creates a key from the value of the header, `name`, and the request. Bodies are compared byte for byte.
    ///
    /// # Errors
    /// [`Invalid`] unless the name has 1 to 255 visible ASCII characters.
    pub fn new(name: &[u8], method: &str, path: &str, body: &[u8]) -> Result<Self, Invalid> {
        if !(1..=255).contains(&name.len()) || !name.iter().all(u8::is_ascii_graphic) {
            return Err(Invalid::new("Idempotency-Key", "must have 1 to 255 visible ASCII characters"));
        }
        let mut request = Sha256::new();
        for part in [method.as_bytes(), path.as_bytes(), body] {
            // The length separates the parts, so a path cannot pass for the start of a body.
            request.update(part.len().to_be_bytes());
            request.update(part);
        }
        // Only hashes are stored: the name is any text of the client, and the request may hold text of the library.
        Ok(Self { key_hash: Sha256::digest(name).to_vec(), request_hash: request.finalize().to_vec() })
    }
}

/// The right to respond to a request. It ends with [`Idempotency::settle`] or [`Idempotency::give_up`].
#[derive(Debug)]
pub struct Claim {
    id: ClaimId,
    _heartbeat: Heartbeat,
}

impl Claim {
    /// Returns the id of the claim, for the transaction that makes the change.
    pub fn id(&self) -> ClaimId {
        self.id.clone()
    }
}

#[derive(Clone, Debug)]
enum ClaimEnd {
    /// With a response; without its body if that is too large.
    Respond { status: i16, body: Option<String> },
    /// Without a response: the request may be retried, unless a change of it was committed.
    Release,
}

/// A response that was sent before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredResponse {
    /// The HTTP status that was sent.
    pub status: u16,
    /// `data` of a success, `error` of a failure, as JSON.
    pub body: String,
}

/// The result of [`Idempotency::claim`]: whether to carry the request out or to replay its response.
#[derive(Debug)]
pub enum ClaimOutcome {
    /// This request is the first with the key, and is to be carried out.
    First(Claim),
    /// An earlier request got this response.
    Repeated(StoredResponse),
}

/// The stored responses, and the claims of requests in progress. Clones are cheap.
#[derive(Clone)]
pub struct Idempotency {
    db: Db,
    clock: Arc<dyn Clock>,
    heartbeat_interval: Duration,
    bounds: StoredResponseBounds,
}

impl Idempotency {
    /// Stores responses in this database.
    pub fn new(db: Db, clock: Arc<dyn Clock>) -> Self {
        Self { db, clock, heartbeat_interval: CLAIM_TIMEOUT / 3, bounds: StoredResponseBounds::default() }
    }

    /// Replaces the bounds of stored responses.
    #[must_use]
    pub fn with_bounds(self, bounds: StoredResponseBounds) -> Self {
        Self { bounds, ..self }
    }

    /// Sets the interval of the heartbeats of running requests.
    #[must_use]
    pub fn with_heartbeat_interval(self, heartbeat_interval: Duration) -> Self {
        Self { heartbeat_interval, ..self }
    }

    /// Claims an Idempotency-Key of this user for a request, or returns the stored response.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the key was used for another request, or the response was not kept; [`Error::StillRunning`]
    /// when an earlier request with the key is in progress.
    pub async fn claim(
        &self,
        user: UserId,
        api_key: KeyId,
        idempotency_key: IdempotencyKey,
    ) -> Result<ClaimOutcome, Error> {
        // First without a transaction, so that a repeated request does not wait for what the user writes at the same time.
        if let Some(stored) = self.find(user, api_key, &idempotency_key).await? {
            return Ok(ClaimOutcome::Repeated(stored));
        }
        let now = self.clock.now();
        let txn = begin_owned(&self.db, user).await?;
        // Removes an expired response, or the claim of a crashed process.
        Entity::delete_one_of(user, api_key, &idempotency_key.key_hash)
            .filter(is_expired(now))
            .exec(&txn)
            .await?;
        let row = ActiveModel {
            key_id: Set(api_key),
            user_id: Set(user),
            idempotency_key_hash: Set(idempotency_key.key_hash.clone()),
            request_hash: Set(idempotency_key.request_hash.clone()),
            status: Set(None),
            body: Set(None),
            is_committed: Set(false),
            created_at: Set(now),
            heartbeat_at: Set(now),
        };
        let taken = OnConflict::columns([Column::KeyId, Column::IdempotencyKeyHash]).do_nothing().to_owned();
        // Of simultaneous requests with the key exactly one inserts its row and runs.
        let made = Entity::insert(row).on_conflict(taken).try_insert().exec_without_returning(&txn).await?;
        if matches!(made, sea_orm::TryInsertResult::Inserted(1)) {
            txn.commit().await?;
            let id = ClaimId { user, key: api_key, idempotency_key_hash: idempotency_key.key_hash, at: now };
            return Ok(ClaimOutcome::First(self.start_heartbeat(id)));
        }
        // Another request has claimed the key since `find`.
        let found = Entity::one_of(user, api_key, &idempotency_key.key_hash).one(&txn).await?;
        // Without a row the other request has released its claim in this moment: the client may repeat the request.
        let row = found.ok_or(Error::StillRunning)?;
        stored_response(row, &idempotency_key.request_hash, now).map(ClaimOutcome::Repeated)
    }

    /// Returns the stored response of the key, or `None` if the key can be claimed. Claims nothing.
    ///
    /// # Errors
    /// The same errors as [`Self::claim`].
    pub async fn find(
        &self,
        user: UserId,
        api_key: KeyId,
        idempotency_key: &IdempotencyKey,
    ) -> Result<Option<StoredResponse>, Error> {
        let now = self.clock.now();
        let found = self.find_row(user, api_key, idempotency_key, now).await?;
        found.map(|row| stored_response(row, &idempotency_key.request_hash, now)).transpose()
    }

    /// Checks that the key was not used for another request. Claims nothing.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the key was used for another request.
    pub async fn check_conflict(
        &self,
        user: UserId,
        api_key: KeyId,
        idempotency_key: &IdempotencyKey,
    ) -> Result<(), Error> {
        let found = self.find_row(user, api_key, idempotency_key, self.clock.now()).await?;
        found.map_or(Ok(()), |row| check_same_request(&row, &idempotency_key.request_hash))
    }

    /// Finds the row of a key that cannot be claimed.
    async fn find_row(
        &self,
        user: UserId,
        api_key: KeyId,
        idempotency_key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<Model>, Error> {
        let row = Entity::one_of(user, api_key, &idempotency_key.key_hash).filter(is_expired(now).not());
        Ok(row.one(self.db.read()).await?)
    }

    fn start_heartbeat(&self, id: ClaimId) -> Claim {
        let (this, of) = (self.clone(), id.clone());
        let heartbeat = Heartbeat::every(self.heartbeat_interval, "a request is being answered", move || {
            let (this, of) = (this.clone(), of.clone());
            async move { this.record_heartbeat(&of).await.map_err(|error| error.chain()) }
        });
        Claim { id, _heartbeat: heartbeat }
    }

    async fn record_heartbeat(&self, claim: &ClaimId) -> Result<(), Error> {
        claim
            .update_pending()
            .col_expr(Column::HeartbeatAt, Expr::value(self.clock.now()))
            .exec(self.db.write())
            .await?;
        Ok(())
    }

    /// Stores the response that was sent; only its status if it is large. If that fails, it is retried in the background for
    /// about a minute, during which the request counts as running.
    ///
    /// # Errors
    /// The error of the first attempt.
    pub async fn settle(&self, claim: Claim, stored: StoredResponse) -> Result<(), Error> {
        let body = Some(stored.body).filter(|body| body.len() <= self.bounds.max_body_bytes);
        let status = i16::try_from(stored.status).unwrap_or(i16::MAX);
        let user = claim.id.user;
        self.end(claim, ClaimEnd::Respond { status, body }).await?;
        self.enforce_bounds(user).await
    }

    /// Ends a claim. If that fails, it is retried in the background.
    async fn end(&self, claim: Claim, end: ClaimEnd) -> Result<(), Error> {
        let ended = self.write_end(&claim.id, &end).await;
        if ended.is_err() {
            let this = self.clone();
            // A new task works for no account. Within the account's share of the connections (`database::on_behalf_of`) the
            // retries would be refused too: the share stays closed after a lock timeout as long as another request of the
            // account writes.
            tokio::spawn(async move { this.end_later(claim, end).await });
        }
        ended
    }

    async fn write_end(&self, claim: &ClaimId, end: &ClaimEnd) -> Result<(), Error> {
        match end {
            ClaimEnd::Respond { status, body } => self.store(claim, *status, body.clone()).await,
            ClaimEnd::Release => self.release(claim).await,
        }
    }

    async fn store(&self, claim: &ClaimId, status: i16, body: Option<String>) -> Result<(), Error> {
        let txn = begin_owned(&self.db, claim.user).await?;
        claim
            .update_pending()
            .col_expr(Column::Status, Expr::value(status))
            .col_expr(Column::Body, Expr::value(body))
            .exec(&txn)
            .await?;
        Ok(txn.commit().await?)
    }

    async fn end_later(&self, claim: Claim, end: ClaimEnd) {
        let mut pause = FIRST_RETRY;
        for _ in 0..MAX_RETRIES {
            tokio::time::sleep(pause).await;
            pause *= 2;
            if self.write_end(&claim.id, &end).await.is_ok() {
                return;
            }
        }
        warn!("could not store the response of an Idempotency-Key, or release the key");
    }

    /// Removes the oldest bodies and the oldest keys of an account that are above its bounds.
    async fn enforce_bounds(&self, user: UserId) -> Result<(), Error> {
        while self.read_excess(self.db.read(), user).await?.is_some() {
            let txn = begin_owned(&self.db, user).await?;
            let mut freed = 0;
            if let Some(excess) = self.read_excess(&txn, user).await? {
                freed += self.expire_oldest(&txn, user, excess.keys).await?;
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

    async fn read_excess(&self, db: &impl ConnectionTrait, user: UserId) -> Result<Option<Excess>, Error> {
        let Some(usage) = library_usage::Entity::owned_by(user).one(db).await? else { return Ok(None) };
        let keys = usage.responses.saturating_sub(self.bounds.max_account_keys);
        let excess = Excess {
            keys: u64::try_from(keys).unwrap_or(0),
            bytes: usage.response_bytes.saturating_sub(self.bounds.max_account_bytes).max(0),
        };
        Ok((excess.keys > 0 || excess.bytes > 0).then_some(excess))
    }

    /// Removes the oldest finished keys. Returns the number of removed keys.
    async fn expire_oldest(&self, txn: &Transaction, user: UserId, keys: u64) -> Result<u64, Error> {
        let now = self.clock.now();
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

    /// Releases the claim, so that the same request can be retried, unless a change of the request was committed. The caller
    /// may not know whether it was: a commit that returned an error may have taken effect. If the release fails, it is
    /// retried in the background for about a minute, during which the request counts as running.
    ///
    /// # Errors
    /// The error of the first attempt.
    pub async fn give_up(&self, claim: Claim) -> Result<(), Error> {
        self.end(claim, ClaimEnd::Release).await
    }

    async fn release(&self, claim: &ClaimId) -> Result<(), Error> {
        // On PostgreSQL this waits for a commit that is in progress.
        let txn = begin_owned(&self.db, claim.user).await?;
        let released = claim.delete_pending().filter(Column::IsCommitted.eq(false)).exec(&txn).await?;
        // Committed: the row stays, and a repeated request gets 409. The time says that its request has ended.
        if released.rows_affected == 0 {
            claim.update_pending().col_expr(Column::HeartbeatAt, Expr::value(ENDED_AT)).exec(&txn).await?;
        }
        Ok(txn.commit().await?)
    }

    /// Removes responses that were stored for 24 hours.
    pub async fn sweep(&self, now: Timestamp) -> Result<(), Error> {
        let users =
            Entity::created_before(now - RESPONSE_RETENTION).select_only().column(Column::UserId).distinct();
        let users: Vec<UserId> = users.into_tuple().all(self.db.read()).await?;
        // One transaction for each user, because each locks its user's row and requests wait for it.
        for user in users {
            let txn = begin_owned(&self.db, user).await?;
            let past = Column::CreatedAt.lt(now - RESPONSE_RETENTION);
            Entity::delete_owned(user).filter(past).exec(&txn).await?;
            txn.commit().await?;
        }
        Ok(())
    }
}

/// By how much an account exceeds its bounds.
struct Excess {
    /// The number of keys above the maximum.
    keys: u64,
    /// The bytes of bodies above the maximum.
    bytes: i64,
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

/// Selects rows that have expired: they are older than 24 hours, or their process crashed before the request changed anything.
fn is_expired(now: Timestamp) -> Condition {
    let crashed = Condition::all()
        .add(Column::Status.is_null())
        .add(Column::IsCommitted.eq(false))
        .add(has_no_heartbeat(now));
    Condition::any().add(Column::CreatedAt.lt(now - RESPONSE_RETENTION)).add(crashed)
}

/// Selects rows without a response whose request has ended.
fn has_no_heartbeat(now: Timestamp) -> Condition {
    Condition::any()
        .add(Column::HeartbeatAt.lt(now - CLAIM_TIMEOUT))
        // A heartbeat in the future is from before the clock was set back. Without this condition the request would count as
        // running until the clock is there again.
        .add(Column::HeartbeatAt.gt(now + CLAIM_TIMEOUT))
}

/// As [`has_no_heartbeat`], for a row that was read.
fn is_heartbeat_missing(heartbeat_at: Timestamp, now: Timestamp) -> bool {
    heartbeat_at < now - CLAIM_TIMEOUT || heartbeat_at > now + CLAIM_TIMEOUT
}

/// Selects rows that have a response, or that were committed by a request that has ended.
fn is_finished(now: Timestamp) -> Condition {
    let without_response = Condition::all().add(Column::IsCommitted.eq(true)).add(has_no_heartbeat(now));
    Condition::any().add(Column::Status.is_not_null()).add(without_response)
}

fn check_same_request(row: &Model, request_hash: &[u8]) -> Result<(), Error> {
    if row.request_hash == request_hash {
        Ok(())
    } else {
        Err(Error::Conflict("this Idempotency-Key was already used for a different request; use a new one"))
    }
}

fn stored_response(row: Model, request_hash: &[u8], now: Timestamp) -> Result<StoredResponse, Error> {
    check_same_request(&row, request_hash)?;
    match (row.status.and_then(|status| u16::try_from(status).ok()), row.body) {
        (Some(status), Some(body)) => Ok(StoredResponse { status, body }),
        (Some(200..=299), None) => Err(Error::Conflict(
            "the request with this Idempotency-Key was carried out, and its response is not kept; look at the result before you \
             send it again with a new key",
        )),
        (Some(_), None) => Err(Error::Conflict(
            "the request with this Idempotency-Key was refused, and its response is not kept; send it with a new key",
        )),
        (None, _) if row.is_committed && is_heartbeat_missing(row.heartbeat_at, now) => Err(Error::Conflict(
            "the request with this Idempotency-Key was carried out at least in part, and its response is not kept; look at the \
             result before you send it again with a new key",
        )),
        (None, _) => Err(Error::StillRunning),
    }
}

#[cfg(test)]
mod tests {
    use sea_orm::{DbBackend, QueryTrait, Statement};
    use uuid::Uuid;

    use super::*;

    /// The database uses the primary key instead of reading all rows of the owner, although each statement names the owner first.
    #[actix::test]
    async fn row_of_a_key_is_found_by_the_primary_key() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = Db::open(&url).await.unwrap();
        let now = Timestamp::from_millis(1);
        let (user, key) = (UserId(Uuid::from_u128(7)), KeyId(Uuid::from_u128(8)));
        let id = ClaimId { user, key, idempotency_key_hash: vec![1], at: now };

        let statements = [
            Entity::one_of(user, key, &[1]).filter(is_expired(now).not()).build(DbBackend::Sqlite),
            Entity::delete_one_of(user, key, &[1]).filter(is_expired(now)).build(DbBackend::Sqlite),
            id.update_pending().col_expr(Column::HeartbeatAt, Expr::value(now)).build(DbBackend::Sqlite),
        ];

        for statement in statements {
            let explain = Statement { sql: format!("EXPLAIN QUERY PLAN {}", statement.sql), ..statement };
            let rows = db.read().query_all_raw(explain).await.unwrap();
            let plan: Vec<String> = rows.iter().map(|row| row.try_get("", "detail").unwrap()).collect();
            assert!(
                plan.iter().any(|step| step.contains("(key_id=? AND idempotency_key_hash=?)")),
                "{plan:#?}"
            );
        }
    }
}
