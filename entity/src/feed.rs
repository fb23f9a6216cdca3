//! A followed feed: each follower's own row.

use crate::id::{FeedId, UserId};
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// A followed feed: each follower's own row.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "feed")]
pub struct Model {
    /// The feed.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: FeedId,
    /// Who follows it.
    pub user_id: UserId,
    /// Its address.
    #[sea_orm(column_type = "Text")]
    pub url: String,
    /// Its title.
    pub title: String,
    /// When the person began to follow it.
    pub created_at: Timestamp,
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

    /// One row, if it is this user's.
    pub fn one_of(user: UserId, id: FeedId) -> Select<Entity> {
        Self::owned_by(user).filter(Column::Id.eq(id))
    }
}
