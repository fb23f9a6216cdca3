//! A tag on a bookmark.

use crate::id::{BookmarkId, UserId};
use sea_orm::entity::prelude::*;

/// A tag on a bookmark.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "bookmark_tag")]
pub struct Model {
    /// The bookmark.
    #[sea_orm(primary_key, auto_increment = false)]
    pub bookmark_id: BookmarkId,
    /// The tag as the person wrote it.
    #[sea_orm(primary_key, auto_increment = false)]
    pub name: String,
    /// Whose it is.
    pub user_id: UserId,
}

/// No relations are walked; finders name what they need.
#[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl Entity {
    /// The rows of one user.
    pub fn owned_by(user: UserId) -> Select<Entity> {
        Self::find().filter(Column::UserId.eq(user))
    }
}
