//! An access or refresh token of a connection. Only its hash is kept.

use crate::id::GrantId;
use crate::kind::{TokenKind, TokenState};
use crate::scope::Scopes;
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// An access or refresh token of a connection.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "oauth_token")]
pub struct Model {
    /// SHA-256 of the token.
    #[sea_orm(primary_key, auto_increment = false)]
    pub hash: Vec<u8>,
    /// The connection.
    pub grant_id: GrantId,
    /// The connection's number when it was issued: it is dead once that has moved on.
    pub branch: i64,
    /// For calls, or for a new pair.
    pub kind: TokenKind,
    /// What it allows; an access token may have less than its connection.
    pub scopes: Scopes,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// From then on it is refused.
    pub expires_at: Timestamp,
    /// How far it has come.
    pub state: TokenState,
}

crate::owned::no_relations!();

impl Entity {
    /// The token with this hash, whoever's it is: how a caller or a client is recognised.
    pub fn by_hash(hash: &[u8]) -> Select<Entity> {
        Self::find().filter(Column::Hash.eq(hash))
    }
}
