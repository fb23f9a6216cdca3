//! One call in the activity view (spec.md: Privacy rules). It has no column for what was asked or read.

use crate::id::{ActivityId, GrantId, KeyId, UserId};
use crate::kind::Surface;
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// One call in the activity view (spec.md: Privacy rules). It has no column for what was asked or read.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "activity")]
pub struct Model {
    /// The line; lines sort by their making.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: ActivityId,
    /// Whose library was called.
    pub user_id: UserId,
    /// When the call came.
    pub at: Timestamp,
    /// By REST or by MCP.
    pub surface: Surface,
    /// The key that was used; the line outlives it.
    pub key_id: Option<KeyId>,
    /// The connected application that called.
    pub app_id: Option<GrantId>,
    /// What the key was called then.
    pub key_name: Option<String>,
    /// Method and pattern of the route, never the filled path.
    pub route: Option<String>,
    /// Name of the tool.
    pub tool: Option<String>,
    /// HTTP status for REST; `ok` or the error's code for MCP.
    pub status: String,
    /// Who called, as it names itself.
    pub client: Option<String>,
    /// How many results the answer held.
    pub result_count: Option<i32>,
}

crate::owned::owned_table!();
