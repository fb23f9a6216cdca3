//! The answer that an Idempotency-Key stands for (contract.md, sections 2 and 11). It holds no secret.

use crate::id::{KeyId, UserId};
use crate::time::Timestamp;
use sea_orm::Condition;
use sea_orm::entity::prelude::*;

/// The answer that an Idempotency-Key stands for (contract.md, sections 2 and 11). It holds no secret.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "idempotency")]
pub struct Model {
    /// The key of the caller.
    #[sea_orm(primary_key, auto_increment = false)]
    pub key_id: KeyId,
    /// SHA-256 of the header's value.
    #[sea_orm(primary_key, auto_increment = false)]
    pub name_hash: Vec<u8>,
    /// Whose key it is.
    pub user_id: UserId,
    /// SHA-256 of method, path and body.
    pub request_hash: Vec<u8>,
    /// Status of the stored answer; none while the request runs.
    pub status: Option<i16>,
    /// `data` or `error` of the stored answer, as JSON; none while the request runs, and where the answer was too large to be
    /// kept or made room for later ones.
    #[sea_orm(column_type = "Text", nullable)]
    pub body: Option<String>,
    /// Whether a change of the request was committed. Then the request is not executed again, even if its answer is lost.
    pub committed: bool,
    /// When the request came.
    pub created_at: Timestamp,
    /// When it was last known to run: whoever answers it says so again and again.
    pub running_at: Timestamp,
}

crate::owned::owned_table!();

impl Entity {
    /// One row, if it is this user's.
    pub fn one_of(user: UserId, key: KeyId, name_hash: &[u8]) -> Select<Entity> {
        Self::find().filter(Self::is_one_of(user, key, name_hash))
    }

    /// Whether a row is this one and this user's: for updates and deletes.
    pub fn is_one_of(user: UserId, key: KeyId, name_hash: &[u8]) -> Condition {
        Condition::all()
            .add(Column::UserId.eq(user))
            .add(Column::KeyId.eq(key))
            .add(Column::NameHash.eq(name_hash))
    }

    /// The rows of every user that were made before this: for the clean-up.
    pub fn made_before(time: Timestamp) -> Select<Entity> {
        Self::find().filter(Column::CreatedAt.lt(time))
    }
}
