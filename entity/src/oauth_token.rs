//! An access or refresh token of a grant. Only its hash is stored.

use sea_orm::entity::prelude::*;
use sea_orm::{JoinType, QuerySelect, SelectTwo};
use values::id::GrantId;
use values::kind::{TokenKind, TokenState};
use values::scope::Scopes;
use values::time::Timestamp;

use crate::oauth_grant;

/// An access or refresh token of a grant.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "oauth_token")]
pub struct Model {
    /// SHA-256 of the token; the token itself is not stored.
    #[sea_orm(primary_key, auto_increment = false)]
    pub hash: Vec<u8>,
    /// The grant for which it was issued.
    pub grant_id: GrantId,
    /// Token family of the grant when it was issued; the token is invalid once the grant has a later one.
    pub token_family: i64,
    /// Whether it is an access or a refresh token.
    pub kind: TokenKind,
    /// Its scopes; an access token may have fewer than its grant.
    pub scopes: Scopes,
    /// Time at which it was issued.
    pub issued_at: Timestamp,
    /// Time after which it is refused.
    pub expires_at: Timestamp,
    /// Whether it was exchanged for the next pair of tokens.
    pub state: TokenState,
}

crate::owned::no_relations!();

impl Entity {
    /// Returns the token with this hash, whatever its owner: for authentication.
    pub fn by_hash(hash: &[u8]) -> Select<Entity> {
        Self::find().filter(Column::Hash.eq(hash))
    }

    /// Returns the token with this hash and its grant, whatever its owner: for authentication.
    pub fn with_grant(hash: &[u8]) -> SelectTwo<Entity, oauth_grant::Entity> {
        let grant =
            Self::belongs_to(oauth_grant::Entity).from(Column::GrantId).to(oauth_grant::Column::Id).into();
        Self::by_hash(hash).join(JoinType::InnerJoin, grant).select_also(oauth_grant::Entity)
    }
}
