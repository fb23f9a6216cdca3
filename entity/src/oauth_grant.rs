//! What one user gave one OAuth client (contract.md, section 8).

use sea_orm::entity::prelude::*;
use values::id::{ClientId, GrantId, UserId};
use values::kind::GrantState;
use values::scope::Scopes;
use values::time::Timestamp;

/// The grant of one user to one OAuth client. The pair of user and client is unique.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "oauth_grant")]
pub struct Model {
    /// The grant; the id does not change when the client is connected again.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: GrantId,
    /// The user who connected it.
    pub user_id: UserId,
    /// The client that the user connected.
    pub client_id: ClientId,
    /// Whether it is still connected.
    pub state: GrantState,
    /// Token family (RFC 9700): incremented when the client is connected or the grant ends. Tokens of an earlier family are
    /// invalid.
    pub token_family: i64,
    /// Scopes selected by the user; those that the plan does not include are ignored.
    pub scopes: Scopes,
    /// Resource for which its tokens are valid (RFC 8707).
    pub resource: String,
    /// Time when the user last connected the client.
    pub connected_at: Timestamp,
    /// Time of the last use.
    pub last_used_at: Option<Timestamp>,
    /// Client name and version from the latest MCP `initialize` request.
    pub mcp_client: Option<String>,
}

crate::owned::owned_table!(GrantId);

impl Entity {
    /// Returns the grants of all users, for clean-ups.
    pub fn of_all_users() -> Select<Entity> {
        Self::find()
    }

    /// Returns the grant of this user and this client.
    pub fn between(user: UserId, client: ClientId) -> Select<Entity> {
        Self::owned_by(user).filter(Column::ClientId.eq(client))
    }
}
