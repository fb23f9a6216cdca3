//! The stored response of an Idempotency-Key (contract.md, sections 2 and 11). It contains no secret.

use sea_orm::Condition;
use sea_orm::entity::prelude::*;
use values::id::{KeyId, UserId};
use values::time::Timestamp;

/// The stored response of an Idempotency-Key (contract.md, sections 2 and 11). It contains no secret.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "idempotency")]
pub struct Model {
    /// The API key of the caller, not the Idempotency-Key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub key_id: KeyId,
    /// SHA-256 of the value of the header.
    #[sea_orm(primary_key, auto_increment = false)]
    pub idempotency_key_hash: Vec<u8>,
    /// The user who owns the key.
    pub user_id: UserId,
    /// SHA-256 of method, path and body.
    pub request_hash: Vec<u8>,
    /// Status of the stored response; `None` while the request runs.
    pub status: Option<i16>,
    /// `data` or `error` of the stored response, as JSON; `None` while the request runs, and if the response was too large to
    /// store or was evicted for later ones.
    #[sea_orm(column_type = "Text", nullable)]
    pub body: Option<String>,
    /// Whether a change by the request was committed. Then the request is not executed again, even if its response is lost.
    pub is_committed: bool,
    /// Time at which the request was received.
    pub created_at: Timestamp,
    /// Time of the last heartbeat of the process that executes the request.
    pub heartbeat_at: Timestamp,
}

crate::owned::owned_table!();

impl Entity {
    /// Returns the row of this key and header, if it belongs to this user.
    pub fn one_of(user: UserId, key: KeyId, idempotency_key_hash: &[u8]) -> Select<Entity> {
        Self::owned_by(user).filter(Self::is_row(key, idempotency_key_hash))
    }

    /// Returns an update of the row of this key and header, if it belongs to this user.
    pub fn update_one_of(
        user: UserId,
        key: KeyId,
        idempotency_key_hash: &[u8],
    ) -> sea_orm::UpdateMany<Entity> {
        Self::update_owned(user).filter(Self::is_row(key, idempotency_key_hash))
    }

    /// Returns a deletion of the row of this key and header, if it belongs to this user.
    pub fn delete_one_of(
        user: UserId,
        key: KeyId,
        idempotency_key_hash: &[u8],
    ) -> sea_orm::DeleteMany<Entity> {
        Self::delete_owned(user).filter(Self::is_row(key, idempotency_key_hash))
    }

    fn is_row(key: KeyId, idempotency_key_hash: &[u8]) -> Condition {
        Condition::all().add(Column::KeyId.eq(key)).add(Column::IdempotencyKeyHash.eq(idempotency_key_hash))
    }

    /// Returns the rows of all users that were created before `time`, for the clean-up.
    pub fn created_before(time: Timestamp) -> Select<Entity> {
        Self::find().filter(Column::CreatedAt.lt(time))
    }
}
