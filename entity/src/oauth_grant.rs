//! A connection: one person and one application (contract.md, section 8).

use crate::id::{ClientId, GrantId, UserId};
use crate::kind::GrantState;
use crate::scope::Scopes;
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// A connection: one person and one application. Person and application together are unique.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "oauth_grant")]
pub struct Model {
    /// Stays the same when the application is connected again.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: GrantId,
    /// Who connected it.
    pub user_id: UserId,
    /// What was connected.
    pub client_id: ClientId,
    /// Whether it still is.
    pub state: GrantState,
    /// How often it was connected or ended: tokens of an earlier number are dead.
    pub branch: i64,
    /// What the person ticked; the plan may hide some.
    pub scopes: Scopes,
    /// The resource that its tokens are for.
    pub resource: String,
    /// When it was last connected.
    pub connected_at: Timestamp,
    /// When it was last used.
    pub last_used_at: Option<Timestamp>,
    /// Name and version of the latest MCP `initialize`.
    pub mcp_client: Option<String>,
}

crate::owned::owned_table!(GrantId);

impl Entity {
    /// The connection of a token, whoever's it is: how a caller is recognised.
    pub fn of_token(id: GrantId) -> Select<Entity> {
        Self::find_by_id(id)
    }

    /// The connection of this user and this application.
    pub fn between(user: UserId, client: ClientId) -> Select<Entity> {
        Self::owned_by(user).filter(Column::ClientId.eq(client))
    }
}
