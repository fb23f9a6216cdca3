//! One call in the activity view (spec.md: Privacy rules). It has no column for queries or for content that was read.

use sea_orm::entity::prelude::*;
use values::id::{ActivityId, GrantId, KeyId, UserId};
use values::kind::MeteredSurface;
use values::time::Timestamp;

/// One call in the activity view (spec.md: Privacy rules). It has no column for queries or for content that was read.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "activity")]
pub struct Model {
    /// The activity row; ids sort by creation time.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: ActivityId,
    /// The user whose library was called.
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    /// Time of the call; the view lists the latest calls first.
    pub at: Timestamp,
    /// The API that was called: REST or MCP.
    pub surface: MeteredSurface,
    /// The key that authenticated the call; the row is kept when the key is deleted.
    pub key_id: Option<KeyId>,
    /// The grant that authenticated the call; the row is kept when the grant is deleted.
    pub grant_id: Option<GrantId>,
    /// Name of the key at the time of the call.
    pub key_name: Option<String>,
    /// Method and route pattern, never the path with its parameters.
    pub route: Option<String>,
    /// Name of the MCP tool.
    pub tool: Option<String>,
    /// HTTP status for REST; `ok` or the error code for MCP.
    pub status: String,
    /// Whether the call was answered with an error.
    pub refused: bool,
    /// Client name, as the client reports it.
    pub client: Option<String>,
    /// Number of results in the response.
    pub result_count: Option<i32>,
}

crate::owned::owned_table!();

/// Returns the condition that a call was refused, spelled out as in the partial index `activity_refused`.
pub fn is_refused() -> Expr {
    Expr::cust("activity.refused")
}
