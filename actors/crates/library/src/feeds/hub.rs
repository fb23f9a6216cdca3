//! The row of the hub that a feed names (WebSub).

use entity::feed_push::{Column, Entity, Model};
use parse::feed::Feed;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, IntoActiveModel, QueryFilter};
use values::id::FeedSourceId;
use values::kind::PushState;
use values::time::Timestamp;

/// Stores the hub and topic that a feed names. A subscription to a new hub or topic is due now. The row of a feed that
/// names no hub is deleted.
pub(super) async fn store_offer(
    txn: &impl ConnectionTrait,
    source: FeedSourceId,
    feed: &Feed,
    now: Timestamp,
) -> Result<(), DbErr> {
    let existing = Entity::find_by_id(source).one(txn).await?;
    let (Some(hub), Some(topic)) = (&feed.hub, &feed.own) else {
        let withdrawn = Entity::delete_many().filter(Column::SourceId.eq(source));
        return if existing.is_some() { withdrawn.exec(txn).await.map(drop) } else { Ok(()) };
    };
    // An unchanged offer keeps its subscription, which the row records.
    if existing.is_some_and(|row| row.hub == *hub && row.topic == *topic) {
        return Ok(());
    }
    Entity::delete_many().filter(Column::SourceId.eq(source)).exec(txn).await?;
    let row = Model {
        source_id: source,
        hub: hub.clone(),
        topic: topic.clone(),
        state: PushState::Offered,
        ends_at: None,
        renew_at: now,
    };
    Entity::insert(row.into_active_model()).exec_without_returning(txn).await.map(drop)
}
