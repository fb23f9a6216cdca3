//! How many calls a key or an app made on a UTC day. Triggers count the lines of the activity view.

use sea_orm::entity::prelude::*;
use values::id::UserId;
use values::kind::MeteredSurface;
use values::time::Day;

/// How many calls a key or an app made on a UTC day. Triggers count the lines of the activity view.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "activity_day")]
pub struct Model {
    /// The user whose library was called.
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    /// The UTC day of the calls.
    #[sea_orm(primary_key, auto_increment = false)]
    pub day: Day,
    /// The API that was called: REST or MCP.
    #[sea_orm(primary_key, auto_increment = false)]
    pub surface: MeteredSurface,
    /// The id of the key or the grant that authenticated the calls.
    #[sea_orm(primary_key, auto_increment = false)]
    pub credential_id: Uuid,
    /// Number of calls.
    pub calls: i64,
    /// Number of these calls that were answered with an error.
    pub refused: i64,
}

crate::owned::owned_table!();
