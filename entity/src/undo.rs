//! A change of bookmarks or tags that the user can undo for a short time. Its [steps](crate::undo_step) say how.

use sea_orm::entity::prelude::*;
use values::id::{UndoId, UserId};
use values::time::Timestamp;

/// A change of bookmarks or tags that the user can undo for a short time.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "undo")]
pub struct Model {
    /// The token by which the change is undone.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: UndoId,
    /// The user who made the change.
    pub user_id: UserId,
    /// Time from which it cannot be undone any more.
    pub expires_at: Timestamp,
}

crate::owned::owned_table!(UndoId);

impl Entity {
    /// Returns the expired rows of all users, for the clean-up.
    pub fn expired_of_every_user(now: Timestamp) -> sea_orm::DeleteMany<Entity> {
        Self::delete_many().filter(Column::ExpiresAt.lte(now))
    }
}
