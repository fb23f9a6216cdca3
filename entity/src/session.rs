//! A signed-in browser.

use crate::id::{SessionId, UserId};
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// A signed-in browser.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "session")]
pub struct Model {
    /// The session.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: SessionId,
    /// Whose browser it is.
    pub user_id: UserId,
    /// SHA-256 of the cookie's secret; unique.
    pub secret_hash: Vec<u8>,
    /// When the person signed in.
    pub created_at: Timestamp,
    /// When it ends without further use.
    pub expires_at: Timestamp,
}

crate::owned::owned_table!();

impl Entity {
    /// The session with this secret, if it has not ended.
    pub fn living(secret_hash: &[u8], now: Timestamp) -> Select<Entity> {
        Self::find().filter(Column::SecretHash.eq(secret_hash)).filter(Column::ExpiresAt.gt(now))
    }
}
