//! A link to set a new password that was requested by e-mail.

use sea_orm::entity::prelude::*;
use values::id::{PasswordResetId, UserId};
use values::time::Timestamp;

/// A link to set a new password that was requested by e-mail.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "password_reset")]
pub struct Model {
    /// Id of the request; the link contains a secret instead.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: PasswordResetId,
    /// The user whose password may be set.
    pub user_id: UserId,
    /// SHA-256 of the secret in the link; `None` until its e-mail is sent.
    pub secret_hash: Option<Vec<u8>>,
    /// Time from which the link is refused.
    pub expires_at: Timestamp,
}

crate::owned::owned_table!(PasswordResetId);

impl Entity {
    /// Returns the row of the link whose secret has this hash: the secret proves who follows the link.
    pub fn by_hash(hash: &[u8]) -> Select<Entity> {
        Self::find().filter(Column::SecretHash.eq(hash))
    }
}
