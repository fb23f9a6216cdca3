//! The size of each user's library in bytes. Triggers of the database update it with every change of a counted row (see
//! `migration::library_usage`); only a repair writes it otherwise.

use sea_orm::entity::prelude::*;
use sea_orm::{QuerySelect, QueryTrait};
use values::id::{FeedSourceId, UserId};

use crate::feed;

/// The size of a user's library, and the part of it that stored responses take.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "library_usage")]
pub struct Model {
    /// The owner of the library.
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    /// Bytes of all counted texts, in UTF-8, and a constant number for each counted row.
    pub bytes: i64,
    /// Number of stored Idempotency-Keys, with or without a stored response.
    pub responses: i64,
    /// Bytes of the responses that are stored with them.
    pub response_bytes: i64,
}

crate::owned::owned_changes!();

impl Entity {
    /// Returns the row of a user.
    pub fn owned_by(user: UserId) -> Select<Entity> {
        Self::find_by_id(user)
    }

    /// Returns the rows of these users, for the operator's list of accounts.
    pub fn of_users(users: impl IntoIterator<Item = UserId>) -> Select<Entity> {
        Self::find().filter(Column::UserId.is_in(users))
    }

    /// Returns the rows of all users, for the sums that an operator sees.
    pub fn of_every_user() -> Select<Entity> {
        Self::find()
    }

    /// Returns the rows of all followers of a source, for the fetch that serves all of them.
    pub fn of_followers(source: FeedSourceId) -> Select<Entity> {
        let followers = feed::Entity::followers_of(source).select_only().column(feed::Column::UserId);
        Self::find().filter(Column::UserId.in_subquery(followers.into_query()))
    }
}
