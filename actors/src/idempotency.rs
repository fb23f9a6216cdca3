//! Idempotency-Key: the same request gets the same answer again (contract.md, sections 2 and 11).
//!
//! A claim is a row without an answer; it is settled with what was sent, or given up where the request may be tried
//! again. As long as its request runs it says so; a claim whose process died is free again after a minute. Stored
//! answers live for 24 hours.
//!
//! The answer is stored after its change was committed, so it can be lost: the process ends in between, or the storage fails.
//! Therefore the transaction that makes the change also marks the claim as committed
//! ([`library::owned_transaction::begin_request`]): both are kept or neither. A committed claim is never released and does not
//! expire before its 24 hours are over. Once its request has ended, the same request is refused with 409. An uncommitted claim has
//! changed nothing, and the request may be retried. A request of several transactions (a batch, a list of feeds) counts as
//! committed with the first of them.
//!
//! What an account keeps is bounded ([`AnswerBounds`]), and the promise that nothing is done twice goes last. An answer that is
//! too large is kept without its body, and so are the oldest ones of an account that keeps too many bytes: the same request is
//! refused then with 409, because it was carried out. Only keys beyond the largest number expire early, the oldest first.
//!
//! All ages are by the wall clock, which may be set. Where it jumps by more than a minute, either way, a request that runs counts
//! as dead until it says again that it runs. Nothing is done twice by that: an uncommitted claim that is freed can no longer be
//! committed, and a committed one is not freed. After a jump back, answers are kept longer by as much. A jump forward of more
//! than 24 hours ends them: the clean-up removes answers and marks of commits alike, and the same request is carried out again.

use std::sync::Arc;
use std::time::Duration;

use database::{Db, Transaction};
use entity::id::{KeyId, UserId};
use entity::idempotency::{ActiveModel, Column, Entity, Model};
use entity::library_usage;
use entity::time::Timestamp;
use runtime::Heartbeat;
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Expr, OnConflict};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Select,
};
use sha2::{Digest, Sha256};
use tracing::warn;

use library::clock::Clock;
use errors::{Error, Invalid};
use library::idempotency_claim::ClaimId;
use library::owned_transaction::begin_owned;

const KEPT: Duration = Duration::from_secs(24 * 3600);
/// A claim that says nothing for so long has died. It speaks at a third of that. The clocks of two nodes may differ by as much.
const RUNNING: Duration = Duration::from_secs(60);

/// Delay before the first retry to end a claim. It doubles with each retry; all retries take about a minute.
const FIRST_RETRY: Duration = Duration::from_millis(250);
const MAX_RETRIES: u32 = 8;

/// The value of `running_at` of a request that is known to have ended.
const ENDED: Timestamp = Timestamp::from_millis(0);

/// Keys that one transaction expires, or bodies that it removes, of an account that keeps too much. Between two such
/// transactions other requests of the user get their turn.
const MAX_FREED_PER_TRANSACTION: u64 = 16;

/// How much of stored answers is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerBounds {
    /// Bytes of the largest body that is kept.
    pub max_body_bytes: usize,
    /// Bytes of all bodies that are kept for an account.
    pub max_account_bytes: i64,
    /// Keys that are kept for an account.
    pub max_account_keys: i64,
}

impl Default for AnswerBounds {
    /// The keys suffice for every request of two days of the largest plan: a day of 24 hours touches two days of UTC.
    fn default() -> Self {
        Self { max_body_bytes: 256 << 10, max_account_bytes: 64 << 20, max_account_keys: 100_000 }
    }
}

/// An Idempotency-Key and the request that it stands for.
#[derive(Clone, Debug)]
pub struct Replay {
    name_hash: Vec<u8>,
    request_hash: Vec<u8>,
}

impl Replay {
    /// `name` is the header's value: 1 to 255 visible ASCII characters. Bodies compare byte for byte.
    ///
    /// # Errors
    /// The fault of another value.
    pub fn new(name: &[u8], method: &str, path: &str, body: &[u8]) -> Result<Self, Invalid> {
        if !(1..=255).contains(&name.len()) || !name.iter().all(u8::is_ascii_graphic) {
            return Err(Invalid::new("Idempotency-Key", "must have 1 to 255 visible ASCII characters"));
        }
        let mut request = Sha256::new();
        for part in [method.as_bytes(), path.as_bytes(), body] {
            request.update(part.len().to_be_bytes());
            request.update(part);
        }
        Ok(Self { name_hash: Sha256::digest(name).to_vec(), request_hash: request.finalize().to_vec() })
    }
}

/// The right to answer; whoever has it settles it or gives it up.
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

/// How a claim ends.
#[derive(Clone, Debug)]
enum ClaimEnd {
    /// With an answer; without its body where that is too large.
    Answer { status: i16, body: Option<String> },
    /// Without one: the request may be retried, unless a change of it was committed.
    Release,
}

/// An answer that was given before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The HTTP status.
    pub status: u16,
    /// `data` of a success, `error` of a failure, as JSON.
    pub body: String,
}

/// What a claim came to.
#[derive(Debug)]
pub enum Claimed {
    /// This request answers.
    First(Claim),
    /// It was answered before.
    Answered(Stored),
}

/// The stored answers.
#[derive(Clone)]
pub struct Idempotency {
    db: Db,
    clock: Arc<dyn Clock>,
    beat: Duration,
    bounds: AnswerBounds,
}

impl Idempotency {
    /// Over this database.
    pub fn new(db: Db, clock: Arc<dyn Clock>) -> Self {
        Self { db, clock, beat: RUNNING / 3, bounds: AnswerBounds::default() }
    }

    /// Keeps so much.
    #[must_use]
    pub fn bounded_by(self, bounds: AnswerBounds) -> Self {
        Self { bounds, ..self }
    }

    /// Requests that run say so as often as this.
    #[must_use]
    pub fn beating_every(self, beat: Duration) -> Self {
        Self { beat, ..self }
    }

    /// Claims the right to answer for a key of this user, or finds the answer.
    ///
    /// # Errors
    /// [`Error::Conflict`] where the name stands for another request, or the answer is not kept; [`Error::StillRunning`].
    pub async fn claim(&self, user: UserId, key: KeyId, replay: Replay) -> Result<Claimed, Error> {
        // Without a transaction first: a repetition does not wait for what the user writes.
        if let Some(stored) = self.find(user, key, &replay).await? {
            return Ok(Claimed::Answered(stored));
        }
        let now = self.clock.now();
        let txn = begin_owned(&self.db, user).await?;
        // Removes an expired answer, or the claim of a request whose process ended.
        Entity::delete_many()
            .filter(Entity::is_one_of(user, key, &replay.name_hash))
            .filter(is_over(now))
            .exec(&txn)
            .await?;
        let row = ActiveModel {
            key_id: Set(key),
            user_id: Set(user),
            name_hash: Set(replay.name_hash.clone()),
            request_hash: Set(replay.request_hash.clone()),
            status: Set(None),
            body: Set(None),
            committed: Set(false),
            created_at: Set(now),
            running_at: Set(now),
        };
        let taken = OnConflict::columns([Column::KeyId, Column::NameHash]).do_nothing().to_owned();
        let made = Entity::insert(row).on_conflict(taken).try_insert().exec_without_returning(&txn).await?;
        if matches!(made, sea_orm::TryInsertResult::Inserted(1)) {
            txn.commit().await?;
            let id = ClaimId { user, key, name_hash: replay.name_hash, at: now };
            return Ok(Claimed::First(self.held(id)));
        }
        // Another request claimed it since the look.
        let found = Entity::one_of(user, key, &replay.name_hash).one(&txn).await?;
        let row = found.ok_or(Error::StillRunning)?;
        answered(row, &replay.request_hash, now).map(Claimed::Answered)
    }

    /// Returns the stored answer of the key, or `None` if the key can be claimed. Claims nothing.
    ///
    /// # Errors
    /// As [`Self::claim`].
    pub async fn find(&self, user: UserId, key: KeyId, replay: &Replay) -> Result<Option<Stored>, Error> {
        let now = self.clock.now();
        let found = self.living(user, key, replay, now).await?;
        found.map(|row| answered(row, &replay.request_hash, now)).transpose()
    }

    /// Looks whether the key stands for another request, and claims nothing.
    ///
    /// # Errors
    /// [`Error::Conflict`] where it does.
    pub async fn must_not_conflict(&self, user: UserId, key: KeyId, replay: &Replay) -> Result<(), Error> {
        let found = self.living(user, key, replay, self.clock.now()).await?;
        found.map_or(Ok(()), |row| must_be_same(&row, &replay.request_hash))
    }

    /// The row of a key that is not free.
    async fn living(
        &self,
        user: UserId,
        key: KeyId,
        replay: &Replay,
        now: Timestamp,
    ) -> Result<Option<Model>, Error> {
        let row = Entity::one_of(user, key, &replay.name_hash).filter(is_over(now).not());
        Ok(row.one(self.db.read()).await?)
    }

    fn held(&self, id: ClaimId) -> Claim {
        let (this, of) = (self.clone(), id.clone());
        let heartbeat = Heartbeat::every(self.beat, "a request is being answered", move || {
            let (this, of) = (this.clone(), of.clone());
            async move { this.still_runs(&of).await }
        });
        Claim { id, _heartbeat: heartbeat }
    }

    async fn still_runs(&self, claim: &ClaimId) -> Result<(), Error> {
        Entity::update_many()
            .col_expr(Column::RunningAt, Expr::value(self.clock.now()))
            .filter(claim.is_unanswered())
            .exec(self.db.write())
            .await?;
        Ok(())
    }

    /// Stores the answer that was sent; of a large one only the status. If that fails, it is retried in the background for about a
    /// minute, during which the request counts as running.
    ///
    /// # Errors
    /// The error of the first attempt.
    pub async fn settle(&self, claim: Claim, stored: Stored) -> Result<(), Error> {
        let body = Some(stored.body).filter(|body| body.len() <= self.bounds.max_body_bytes);
        let status = i16::try_from(stored.status).unwrap_or(i16::MAX);
        let user = claim.id.user;
        self.end(claim, ClaimEnd::Answer { status, body }).await?;
        self.make_room(user).await
    }

    /// Ends a claim. If that fails, it is retried in the background.
    async fn end(&self, claim: Claim, end: ClaimEnd) -> Result<(), Error> {
        let ended = self.write_end(&claim.id, &end).await;
        if ended.is_err() {
            let this = self.clone();
            // A new task works for no account. Within the account's share of the connections (`database::on_behalf_of`) the retries would
            // be refused too: the share stays closed after a lock timeout as long as another request of the account writes.
            tokio::spawn(async move { this.end_later(claim, end).await });
        }
        ended
    }

    async fn write_end(&self, claim: &ClaimId, end: &ClaimEnd) -> Result<(), Error> {
        match end {
            ClaimEnd::Answer { status, body } => self.store(claim, *status, body.clone()).await,
            ClaimEnd::Release => self.release(claim).await,
        }
    }

    async fn store(&self, claim: &ClaimId, status: i16, body: Option<String>) -> Result<(), Error> {
        let txn = begin_owned(&self.db, claim.user).await?;
        Entity::update_many()
            .col_expr(Column::Status, Expr::value(status))
            .col_expr(Column::Body, Expr::value(body))
            .filter(claim.is_unanswered())
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
        warn!("could not store the answer of an Idempotency-Key, or release the key");
    }

    /// Lets the oldest bodies of an account go, and its oldest keys, as far as there are too many.
    async fn make_room(&self, user: UserId) -> Result<(), Error> {
        while self.excess(self.db.read(), user).await?.is_some() {
            let txn = begin_owned(&self.db, user).await?;
            let mut freed = 0;
            if let Some(excess) = self.excess(&txn, user).await? {
                freed += self.expire_oldest(&txn, user, excess.keys).await?;
                if freed == 0 {
                    freed += empty_oldest(&txn, user, excess.bytes).await?;
                }
            }
            txn.commit().await?;
            if freed == 0 {
                break;
            }
        }
        Ok(())
    }

    async fn excess(&self, db: &impl ConnectionTrait, user: UserId) -> Result<Option<Excess>, Error> {
        let Some(kept) = library_usage::Entity::owned_by(user).one(db).await? else { return Ok(None) };
        let keys = kept.answers.saturating_sub(self.bounds.max_account_keys);
        let excess = Excess {
            keys: u64::try_from(keys).unwrap_or(0),
            bytes: kept.answer_bytes.saturating_sub(self.bounds.max_account_bytes).max(0),
        };
        Ok((excess.keys > 0 || excess.bytes > 0).then_some(excess))
    }

    /// Removes the oldest answers; how many there were.
    async fn expire_oldest(&self, txn: &Transaction, user: UserId, keys: u64) -> Result<u64, Error> {
        let now = self.clock.now();
        let finished = Entity::owned_by(user).filter(is_finished(now));
        let mut removed = 0;
        for (key, name_hash, _) in oldest(txn, finished, keys.min(MAX_FREED_PER_TRANSACTION)).await? {
            let gone = Entity::delete_many()
                .filter(Entity::is_one_of(user, key, &name_hash))
                .filter(is_finished(now))
                .exec(txn)
                .await?;
            removed += gone.rows_affected;
        }
        Ok(removed)
    }

    /// Releases the claim, so that the same request can be retried, unless a change of the request was committed. The caller may
    /// not know whether it was: a commit that returned an error may have taken effect. If the release fails, it is retried in the
    /// background for about a minute, during which the request counts as running.
    ///
    /// # Errors
    /// The error of the first attempt.
    pub async fn give_up(&self, claim: Claim) -> Result<(), Error> {
        self.end(claim, ClaimEnd::Release).await
    }

    async fn release(&self, claim: &ClaimId) -> Result<(), Error> {
        // On PostgreSQL this waits for a commit that is in progress.
        let txn = begin_owned(&self.db, claim.user).await?;
        let uncommitted = claim.is_unanswered().add(Column::Committed.eq(false));
        let given_up = Entity::delete_many().filter(uncommitted).exec(&txn).await?;
        if given_up.rows_affected == 0 {
            Entity::update_many()
                .col_expr(Column::RunningAt, Expr::value(ENDED))
                .filter(claim.is_unanswered())
                .exec(&txn)
                .await?;
        }
        Ok(txn.commit().await?)
    }

    /// Removes answers that are past their day.
    ///
    /// # Errors
    /// The database fails.
    pub async fn sweep(&self, now: Timestamp) -> Result<(), Error> {
        let users = Entity::created_before(now - KEPT).select_only().column(Column::UserId).distinct();
        let users: Vec<UserId> = users.into_tuple().all(self.db.read()).await?;
        for user in users {
            let txn = begin_owned(&self.db, user).await?;
            let past = Column::CreatedAt.lt(now - KEPT);
            Entity::delete_many().filter(Column::UserId.eq(user)).filter(past).exec(&txn).await?;
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

/// Removes the bodies of the oldest answers until `excess` bytes are freed. Returns the number of removed bodies.
async fn empty_oldest(txn: &Transaction, user: UserId, mut excess: i64) -> Result<u64, Error> {
    let mut emptied = 0;
    let with_body = Entity::owned_by(user).filter(Column::Body.is_not_null());
    for (key, name_hash, bytes) in oldest(txn, with_body, MAX_FREED_PER_TRANSACTION).await? {
        if excess <= 0 {
            break;
        }
        let empty = Entity::update_many()
            .col_expr(Column::Body, Expr::value(None::<String>))
            .filter(Entity::is_one_of(user, key, &name_hash))
            .exec(txn)
            .await?;
        excess -= bytes;
        emptied += empty.rows_affected;
    }
    Ok(emptied)
}

/// Returns key, name and body length in bytes of the oldest answers.
async fn oldest(
    txn: &Transaction,
    of: Select<Entity>,
    most: u64,
) -> Result<Vec<(KeyId, Vec<u8>, i64)>, Error> {
    let answers = of
        .order_by_asc(Column::CreatedAt)
        .limit(most)
        .select_only()
        .columns([Column::KeyId, Column::NameHash])
        .column_as(Expr::cust("CAST(COALESCE(OCTET_LENGTH(body), 0) AS BIGINT)"), "bytes")
        .into_tuple();
    Ok(answers.all(txn).await?)
}

/// Whether a row has expired: it is older than 24 hours, or its process ended before its request changed anything.
fn is_over(now: Timestamp) -> Condition {
    let died =
        Condition::all().add(Column::Status.is_null()).add(Column::Committed.eq(false)).add(is_dead(now));
    Condition::any().add(Column::CreatedAt.lt(now - KEPT)).add(died)
}

/// The request of a row without an answer runs no more. One that says that it last ran in the future said so before the clock was
/// set back: it would count as running until the clock is there again.
fn is_dead(now: Timestamp) -> Condition {
    Condition::any().add(Column::RunningAt.lt(now - RUNNING)).add(Column::RunningAt.gt(now + RUNNING))
}

/// As [`is_dead`], of a row that was read.
fn has_died(running_at: Timestamp, now: Timestamp) -> bool {
    running_at < now - RUNNING || running_at > now + RUNNING
}

/// Whether a row has an answer, or was committed by a request that has ended.
fn is_finished(now: Timestamp) -> Condition {
    let without_answer = Condition::all().add(Column::Committed.eq(true)).add(is_dead(now));
    Condition::any().add(Column::Status.is_not_null()).add(without_answer)
}

fn must_be_same(row: &Model, request_hash: &[u8]) -> Result<(), Error> {
    if row.request_hash == request_hash {
        Ok(())
    } else {
        Err(Error::Conflict("this Idempotency-Key was already used for a different request; use a new one"))
    }
}

fn answered(row: Model, request_hash: &[u8], now: Timestamp) -> Result<Stored, Error> {
    must_be_same(&row, request_hash)?;
    match (row.status.and_then(|status| u16::try_from(status).ok()), row.body) {
        (Some(status), Some(body)) => Ok(Stored { status, body }),
        (Some(200..=299), None) => Err(Error::Conflict(
            "the request with this Idempotency-Key was carried out, and its answer is not kept; look at the result before you \
             send it again with a new key",
        )),
        (Some(_), None) => Err(Error::Conflict(
            "the request with this Idempotency-Key was refused, and its answer is not kept; send it with a new key",
        )),
        (None, _) if row.committed && has_died(row.running_at, now) => Err(Error::Conflict(
            "the request with this Idempotency-Key was carried out at least in part, and its answer is not kept; look at the \
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

    /// The primary key is read, and not all rows of the owner, although each statement names the owner first.
    #[actix::test]
    async fn row_of_a_key_is_found_by_the_primary_key() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = Db::open(&url).await.unwrap();
        let now = Timestamp::from_millis(1);
        let (user, key) = (UserId(Uuid::from_u128(7)), KeyId(Uuid::from_u128(8)));
        let id = ClaimId { user, key, name_hash: vec![1], at: now };

        let statements = [
            Entity::one_of(user, key, &[1]).filter(is_over(now).not()).build(DbBackend::Sqlite),
            Entity::delete_many()
                .filter(Entity::is_one_of(user, key, &[1]))
                .filter(is_over(now))
                .build(DbBackend::Sqlite),
            Entity::update_many()
                .col_expr(Column::RunningAt, Expr::value(now))
                .filter(id.is_unanswered())
                .build(DbBackend::Sqlite),
        ];

        for statement in statements {
            let explain = Statement { sql: format!("EXPLAIN QUERY PLAN {}", statement.sql), ..statement };
            let rows = db.read().query_all_raw(explain).await.unwrap();
            let plan: Vec<String> = rows.iter().map(|row| row.try_get("", "detail").unwrap()).collect();
            assert!(plan.iter().any(|step| step.contains("(key_id=? AND name_hash=?)")), "{plan:#?}");
        }
    }
}
