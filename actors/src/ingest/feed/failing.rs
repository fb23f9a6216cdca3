//! The feeds whose last fetch failed, for the operator.

use entity::feed_source::{Column, Entity, Model};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbErr, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder, QuerySelect,
};

/// What is known of the feeds that all users follow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeedHealth {
    /// How many feeds there are, each once.
    pub feeds: u64,
    /// How many of them could not be fetched the last time.
    pub failing: u64,
    /// Those of them that failed most often in a row.
    pub worst: Vec<Model>,
}

/// Looks at every feed; names at most this many of those that fail.
///
/// # Errors
/// [`DbErr`] when the database fails.
pub async fn feed_health(db: &impl ConnectionTrait, max_named: u64) -> Result<FeedHealth, DbErr> {
    let failing = Entity::find().filter(Column::Failures.gt(0));
    Ok(FeedHealth {
        feeds: Entity::find().count(db).await?,
        failing: failing.clone().count(db).await?,
        worst: failing
            .order_by_desc(Column::Failures)
            .order_by_asc(Column::Url)
            .limit(max_named)
            .all(db)
            .await?,
    })
}
