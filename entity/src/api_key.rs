//! An API key (spec.md: API key; contract.md, section 3). Only the hash of its secret is kept.

use crate::id::{KeyId, UserId};
use crate::kind::KeyKind;
use crate::scope::Scopes;
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// An API key (spec.md: API key; contract.md, section 3). Only the hash of its secret is kept.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "api_key")]
pub struct Model {
    /// Stays the same when the secret is made anew.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: KeyId,
    /// Whose key it is.
    pub user_id: UserId,
    /// What the person calls it.
    pub name: String,
    /// For REST or for MCP.
    pub kind: KeyKind,
    /// SHA-256 of the secret; unique.
    pub secret_hash: Vec<u8>,
    /// `pk_`, four characters, `...`, four characters; empty for the key of a connection test, which is shown nowhere.
    pub display: String,
    /// What the person ticked; the plan may hide some.
    pub scopes: Scopes,
    /// Requests an hour that the person set; none is the plan's maximum.
    pub hourly_limit: Option<i32>,
    /// When the key was made.
    pub created_at: Timestamp,
    /// From then on the key is refused.
    pub expires_at: Option<Timestamp>,
    /// When it was used for the first time; set once.
    pub first_used_at: Option<Timestamp>,
    /// When it was last used.
    pub last_used_at: Option<Timestamp>,
    /// Who used it last.
    pub last_client: Option<String>,
    /// Name and version of the latest MCP `initialize`.
    pub mcp_client: Option<String>,
}

crate::owned::owned_table!(KeyId);

impl Entity {
    /// The keys that a user has created, without that of a connection test: those that are listed, and count towards the plan's limit.
    pub fn created_by(user: UserId) -> Select<Entity> {
        Self::owned_by(user).filter(Column::Display.ne(""))
    }

    /// The keys of connection tests, of every user, that expired before this time: what the clean-up removes.
    pub fn expired_tests(now: Timestamp) -> Select<Entity> {
        Self::find().filter(Column::Display.eq("")).filter(Column::ExpiresAt.lte(now))
    }

    /// The key of this id, whoever's it is: the operator names keys without their owners.
    pub fn for_operator(id: KeyId) -> Select<Entity> {
        Self::find_by_id(id)
    }

    /// The key with this secret, whoever's it is: how a caller is recognised.
    pub fn by_hash(secret_hash: &[u8]) -> Select<Entity> {
        Self::find().filter(Column::SecretHash.eq(secret_hash))
    }
}
