//! Idempotency-Key: the same request gets the same answer again (contract.md, sections 2 and 11).
//!
//! A claim is a row without an answer; it is settled with what was sent, or given up where the request may be tried
//! again. As long as its request runs it says so; a claim whose process died is free again after a minute. Stored
//! answers live for 24 hours.
//!
//! What an account keeps is bounded ([`AnswerBounds`]), and the promise that nothing is done twice goes last. An answer that is
//! too large is kept without its body, and so are the oldest ones of an account that keeps too many bytes: the same request is
//! refused then with 409, because it was carried out. Only keys beyond the largest number expire early, the oldest first.

use std::sync::Arc;
use std::time::Duration;

use entity::id::{KeyId, UserId};
use entity::idempotency::{ActiveModel, Column, Entity, Model};
use entity::library_usage;
use entity::time::Timestamp;
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Expr, OnConflict};
use sea_orm::{ColumnTrait, Condition, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Select};
use sha2::{Digest, Sha256};

use crate::clock::Clock;
use crate::db::Db;
use crate::error::{Error, Invalid};
use crate::kit::Beat;

const KEPT: Duration = Duration::from_secs(24 * 3600);
/// A claim that says nothing for so long has died. It speaks at a third of that.
const RUNNING: Duration = Duration::from_secs(60);

/// Rows that are bounded in one go.
const MAX_EXPIRED_PER_CLAIM: u64 = 16;

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
            return Err(Invalid::new("Idempotency-Key", "must be 1 to 255 visible characters"));
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
    row: ClaimRow,
    _beat: Beat,
}

#[derive(Clone, Debug)]
struct ClaimRow {
    user: UserId,
    key: KeyId,
    name_hash: Vec<u8>,
    at: Timestamp,
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
        let now = self.clock.now();
        self.free(key, &replay.name_hash, now).await?;
        let row = ActiveModel {
            key_id: Set(key),
            user_id: Set(user),
            name_hash: Set(replay.name_hash.clone()),
            request_hash: Set(replay.request_hash.clone()),
            status: Set(None),
            body: Set(None),
            created_at: Set(now),
            running_at: Set(now),
        };
        let taken = OnConflict::columns([Column::KeyId, Column::NameHash]).do_nothing().to_owned();
        let made = Entity::insert(row)
            .on_conflict(taken)
            .try_insert()
            .exec_without_returning(self.db.write())
            .await?;
        if matches!(made, sea_orm::TryInsertResult::Inserted(1)) {
            return Ok(Claimed::First(self.held(ClaimRow {
                user,
                key,
                name_hash: replay.name_hash,
                at: now,
            })));
        }
        let found = Entity::find_by_id((key, replay.name_hash)).one(self.db.write()).await?;
        answered(found, &replay.request_hash)
    }

    /// Looks whether the key stands for another request, and claims nothing.
    ///
    /// # Errors
    /// [`Error::Conflict`] where it does.
    pub async fn must_not_conflict(&self, key: KeyId, replay: &Replay) -> Result<(), Error> {
        let found = Entity::find_by_id((key, replay.name_hash.clone()))
            .filter(is_over(self.clock.now()).not())
            .one(self.db.read())
            .await?;
        found.map_or(Ok(()), |row| must_be_same(&row, &replay.request_hash))
    }

    fn held(&self, row: ClaimRow) -> Claim {
        let (this, of) = (self.clone(), row.clone());
        let beat = Beat::every(self.beat, "a request is being answered", move || {
            let (this, of) = (this.clone(), of.clone());
            async move { this.still_runs(&of).await }
        });
        Claim { row, _beat: beat }
    }

    async fn still_runs(&self, row: &ClaimRow) -> Result<(), Error> {
        Entity::update_many()
            .col_expr(Column::RunningAt, Expr::value(self.clock.now()))
            .filter(mine(row))
            .exec(self.db.write())
            .await?;
        Ok(())
    }

    /// Stores what was sent; of a large answer only that it was given.
    pub async fn settle(&self, claim: Claim, stored: Stored) -> Result<(), Error> {
        let body = Some(stored.body).filter(|body| body.len() <= self.bounds.max_body_bytes);
        Entity::update_many()
            .col_expr(Column::Status, Expr::value(i16::try_from(stored.status).unwrap_or(i16::MAX)))
            .col_expr(Column::Body, Expr::value(body))
            .filter(mine(&claim.row))
            .exec(self.db.write())
            .await?;
        self.make_room(claim.row.user).await
    }

    /// Lets the oldest bodies of an account go, and its oldest keys, as far as there are too many.
    async fn make_room(&self, user: UserId) -> Result<(), Error> {
        loop {
            let found = library_usage::Entity::owned_by(user).one(self.db.write()).await?;
            let Some(kept) = found else { return Ok(()) };
            let extra_keys = kept.answers.saturating_sub(self.bounds.max_account_keys);
            let freed = if extra_keys > 0 {
                self.expire_oldest(
                    user,
                    u64::try_from(extra_keys).unwrap_or_default().min(MAX_EXPIRED_PER_CLAIM),
                )
                .await?
            } else if kept.answer_bytes > self.bounds.max_account_bytes {
                self.empty_oldest(user, kept.answer_bytes - self.bounds.max_account_bytes).await?
            } else {
                0
            };
            if freed == 0 {
                return Ok(());
            }
        }
    }

    /// Removes the oldest answers; how many there were.
    async fn expire_oldest(&self, user: UserId, most: u64) -> Result<u64, Error> {
        let mut removed = 0;
        let finished = Entity::owned_by(user).filter(Column::Status.is_not_null());
        for (key, name_hash, _) in self.oldest(finished, most).await? {
            let gone =
                Entity::delete_many().filter(is_finished(key, &name_hash)).exec(self.db.write()).await?;
            removed += gone.rows_affected;
        }
        Ok(removed)
    }

    /// Removes the bodies of the oldest answers, at least so many bytes where there are; how many bodies there were.
    async fn empty_oldest(&self, user: UserId, mut excess: i64) -> Result<u64, Error> {
        let mut emptied = 0;
        let with_body = Entity::owned_by(user).filter(Column::Body.is_not_null());
        for (key, name_hash, bytes) in self.oldest(with_body, MAX_EXPIRED_PER_CLAIM).await? {
            if excess <= 0 {
                break;
            }
            let empty = Entity::update_many()
                .col_expr(Column::Body, Expr::value(None::<String>))
                .filter(is_finished(key, &name_hash))
                .exec(self.db.write())
                .await?;
            excess -= bytes;
            emptied += empty.rows_affected;
        }
        Ok(emptied)
    }

    /// Key, name and bytes of the body.
    async fn oldest(&self, of: Select<Entity>, most: u64) -> Result<Vec<(KeyId, Vec<u8>, i64)>, Error> {
        let answers = of
            .order_by_asc(Column::CreatedAt)
            .limit(most)
            .select_only()
            .columns([Column::KeyId, Column::NameHash])
            .column_as(Expr::cust("CAST(COALESCE(OCTET_LENGTH(body), 0) AS BIGINT)"), "bytes")
            .into_tuple();
        Ok(answers.all(self.db.write()).await?)
    }

    /// Gives the claim up: the same key may be tried again.
    pub async fn give_up(&self, claim: Claim) -> Result<(), Error> {
        Entity::delete_many().filter(mine(&claim.row)).exec(self.db.write()).await?;
        Ok(())
    }

    /// Removes answers that are past their day.
    pub async fn sweep(&self, now: Timestamp) -> Result<(), Error> {
        Entity::delete_many().filter(Column::CreatedAt.lt(now - KEPT)).exec(self.db.write()).await?;
        Ok(())
    }

    /// Frees the key where its answer is past its day, or its request died.
    async fn free(&self, key: KeyId, name_hash: &[u8], now: Timestamp) -> Result<(), Error> {
        Entity::delete_many()
            .filter(Column::KeyId.eq(key))
            .filter(Column::NameHash.eq(name_hash))
            .filter(is_over(now))
            .exec(self.db.write())
            .await?;
        Ok(())
    }
}

/// Past its day, or its request died.
fn is_over(now: Timestamp) -> Condition {
    let died = Condition::all().add(Column::Status.is_null()).add(Column::RunningAt.lt(now - RUNNING));
    Condition::any().add(Column::CreatedAt.lt(now - KEPT)).add(died)
}

fn mine(row: &ClaimRow) -> Condition {
    Condition::all()
        .add(Column::KeyId.eq(row.key))
        .add(Column::NameHash.eq(row.name_hash.clone()))
        .add(Column::CreatedAt.eq(row.at))
        .add(Column::Status.is_null())
}

/// The row of an answer that was given.
fn is_finished(key: KeyId, name_hash: &[u8]) -> Condition {
    Condition::all()
        .add(Column::KeyId.eq(key))
        .add(Column::NameHash.eq(name_hash.to_vec()))
        .add(Column::Status.is_not_null())
}

fn must_be_same(row: &Model, request_hash: &[u8]) -> Result<(), Error> {
    if row.request_hash == request_hash {
        Ok(())
    } else {
        Err(Error::Conflict("the Idempotency-Key stands for another request"))
    }
}

fn answered(found: Option<Model>, request_hash: &[u8]) -> Result<Claimed, Error> {
    let row = found.ok_or(Error::StillRunning)?;
    must_be_same(&row, request_hash)?;
    match (row.status.and_then(|status| u16::try_from(status).ok()), row.body) {
        (Some(status), Some(body)) => Ok(Claimed::Answered(Stored { status, body })),
        (Some(200..=299), None) => Err(Error::Conflict(
            "the request of this Idempotency-Key was carried out, and its answer is not kept",
        )),
        (Some(_), None) => Err(Error::Conflict(
            "the request of this Idempotency-Key was refused, and its answer is not kept",
        )),
        (None, _) => Err(Error::StillRunning),
    }
}
