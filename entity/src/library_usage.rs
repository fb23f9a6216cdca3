//! The bytes that a user's library takes up. The database keeps it: triggers count every change of a text (see
//! `migration::library_usage`), so nothing else writes it but a repair.

use crate::feed;
use crate::id::{FeedSourceId, UserId};
use sea_orm::entity::prelude::*;
use sea_orm::{QuerySelect, QueryTrait};

/// The bytes that a user's library takes up, and the part of its stored idempotent answers.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "library_usage")]
pub struct Model {
    /// Whose library.
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    /// Bytes of all counted texts, as UTF-8.
    pub bytes: i64,
    /// Idempotency-Keys that are kept.
    pub answers: i64,
    /// Bytes of the answers that are stored with them.
    pub answer_bytes: i64,
}

crate::owned::owned_changes!();

impl Entity {
    /// The row of one user.
    pub fn owned_by(user: UserId) -> Select<Entity> {
        Self::find_by_id(user)
    }

    /// The rows of all who follow a source: for the fetch that serves them all.
    pub fn of_followers(source: FeedSourceId) -> Select<Entity> {
        let followers = feed::Entity::followers_of(source).select_only().column(feed::Column::UserId);
        Self::find().filter(Column::UserId.in_subquery(followers.into_query()))
    }
}
