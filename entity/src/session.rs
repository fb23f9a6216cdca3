//! A session of a signed-in browser.

use sea_orm::entity::prelude::*;
use values::id::{SessionId, UserId};
use values::time::Timestamp;

/// A session of a signed-in browser.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "session")]
pub struct Model {
    /// Id of the session; the cookie contains a secret instead.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: SessionId,
    /// The user who is signed in.
    pub user_id: UserId,
    /// SHA-256 of the secret in the cookie; unique.
    pub secret_hash: Vec<u8>,
    /// Time at which the user signed in.
    pub created_at: Timestamp,
    /// Expiry time, unless the session is used again.
    pub expires_at: Timestamp,
    /// The browser and the system from which the user signed in, such as `Firefox on Linux`, as far as the browser says.
    pub device: Option<String>,
    /// Time of the last use, to within an hour.
    pub last_used_at: Timestamp,
}

crate::owned::owned_table!();
crate::owned::newest_rows!(SessionId);
