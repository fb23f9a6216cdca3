//! Claims: the right to respond to the first request with an Idempotency-Key, and its heartbeat.

use concurrency::Heartbeat;
use entity::idempotency::{ActiveModel, Column, Entity, Model};
use errors::Error;
use library::idempotency_claim::ClaimId;
use library::owned_transaction::begin_owned;
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Expr, OnConflict};
use sea_orm::{EntityTrait, QueryFilter};
use values::id::{KeyId, UserId};
use values::time::Timestamp;

use super::key::IdempotencyKey;
use super::row_state::is_expired;
use super::store::Idempotency;
use super::stored_response::{StoredResponse, check_same_request, stored_response};

/// The right to respond to a request. It ends with [`Idempotency::settle`] or [`Idempotency::give_up`].
#[derive(Debug)]
pub struct Claim {
    pub(super) id: ClaimId,
    _heartbeat: Heartbeat,
}

impl Claim {
    /// Returns the id of the claim, for the transaction that makes the change.
    pub fn id(&self) -> ClaimId {
        self.id.clone()
    }
}

/// The result of [`Idempotency::claim`]: whether to carry the request out or to replay its response.
#[derive(Debug)]
pub enum ClaimOutcome {
    /// This request is the first with the key, and is to be carried out.
    First(Claim),
    /// An earlier request got this response.
    Repeated(StoredResponse),
}

impl Idempotency {
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
}
