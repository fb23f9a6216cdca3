//! An API key (spec.md: API key; contract.md, section 3). Only the hash of its secret is stored.

use sea_orm::entity::prelude::*;
use values::id::{KeyId, UserId};
use values::kind::KeyKind;
use values::scope::Scopes;
use values::time::Timestamp;

/// An API key (spec.md: API key; contract.md, section 3). Only the hash of its secret is stored.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "api_key")]
pub struct Model {
    /// The key id; it does not change when the secret is rotated.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: KeyId,
    /// The user who owns it.
    pub user_id: UserId,
    /// Name given by the user.
    pub name: String,
    /// The API that the key is for.
    pub kind: KeyKind,
    /// SHA-256 of the secret; unique.
    pub secret_hash: Vec<u8>,
    /// Whether a connection test created the key. Such a key is not listed and does not count towards the limit of the plan. A test
    /// deletes its key, which expires after two minutes in case the test is interrupted.
    pub is_connection_test: bool,
    /// `pk_`, the first four characters, `...` and the last four characters, so that the user recognises the key.
    pub display: String,
    /// Scopes selected by the user; those that the plan does not include are ignored.
    pub scopes: Scopes,
    /// Requests per hour set by the user; `None` means the maximum of the plan.
    pub hourly_limit: Option<i32>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Expiry time; `None` means that the key does not expire.
    pub expires_at: Option<Timestamp>,
    /// Time of the first use; set once.
    pub first_used_at: Option<Timestamp>,
    /// Time of the last use.
    pub last_used_at: Option<Timestamp>,
    /// Name of the client that used it last.
    pub last_client: Option<String>,
    /// Client name and version from the latest MCP `initialize` request.
    pub mcp_client: Option<String>,
}

crate::owned::owned_table!(KeyId);

impl Entity {
    /// Returns the keys that a user has created, without keys of connection tests. They are listed, and count towards the limit of
    /// the plan.
    pub fn created_by(user: UserId) -> Select<Entity> {
        Self::owned_by(user).filter(Column::IsConnectionTest.eq(false))
    }

    /// Returns the expired keys of connection tests of all users, for the clean-up.
    pub fn expired_tests(now: Timestamp) -> Select<Entity> {
        // The column itself, not a comparison with `true`: SQLite uses a partial index only if the query repeats its condition.
        Self::find().filter(Column::IsConnectionTest.into_expr()).filter(Column::ExpiresAt.lte(now))
    }

    /// Returns the key with this id, whatever its owner: the operator identifies keys by id alone.
    pub fn for_operator(id: KeyId) -> Select<Entity> {
        Self::find_by_id(id)
    }
}
