//! The sources whose last fetch failed, for the operator.

use entity::feed_source::{Column, Entity, Model};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbErr, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder, QuerySelect,
};

/// The state of the sources that all users follow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeedHealth {
    /// Number of sources, each counted once however many users follow it.
    pub feeds: u64,
    /// Number of sources whose last fetch failed.
    pub failing: u64,
    /// The failing sources with the most failures in a row.
    pub worst: Vec<Model>,
}

/// Counts the sources and those that fail, and returns at most `max_named` of the failing ones.
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
