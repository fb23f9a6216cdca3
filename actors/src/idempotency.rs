//! Idempotency-Key: the same request gets the same answer again (contract.md, sections 2 and 11).
//!
//! A claim is a row without an answer; it is settled with what was sent, or given up where the request may be tried
//! again. As long as its request runs it says so; a claim whose process died is free again after a minute. Stored
//! answers live for 24 hours.

use std::sync::Arc;
use std::time::Duration;

use entity::id::KeyId;
use entity::idempotency::{ActiveModel, Column, Entity, Model};
use entity::time::Timestamp;
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Expr, OnConflict};
use sea_orm::{ColumnTrait, Condition, EntityTrait, QueryFilter};
use sha2::{Digest, Sha256};

use crate::clock::Clock;
use crate::db::Db;
use crate::error::{Error, Invalid};
use crate::kit::Beat;

const KEPT: Duration = Duration::from_secs(24 * 3600);
/// A claim that says nothing for so long has died. It speaks at a third of that.
const RUNNING: Duration = Duration::from_secs(60);

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
}

impl Idempotency {
    /// Over this database.
    pub fn new(db: Db, clock: Arc<dyn Clock>) -> Self {
        Self { db, clock, beat: RUNNING / 3 }
    }

    /// Requests that run say so as often as this.
    #[must_use]
    pub fn beating_every(self, beat: Duration) -> Self {
        Self { beat, ..self }
    }

    /// Claims the right to answer, or finds the answer.
    pub async fn claim(&self, key: KeyId, replay: Replay) -> Result<Claimed, Error> {
        let now = self.clock.now();
        self.free(key, &replay.name_hash, now).await?;
        let row = ActiveModel {
            key_id: Set(key),
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
            return Ok(Claimed::First(self.held(ClaimRow { key, name_hash: replay.name_hash, at: now })));
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

    /// Stores what was sent.
    pub async fn settle(&self, claim: Claim, stored: Stored) -> Result<(), Error> {
        Entity::update_many()
            .col_expr(Column::Status, Expr::value(i16::try_from(stored.status).unwrap_or(i16::MAX)))
            .col_expr(Column::Body, Expr::value(stored.body))
            .filter(mine(&claim.row))
            .exec(self.db.write())
            .await?;
        Ok(())
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
        (Some(_) | None, _) => Err(Error::StillRunning),
    }
}
