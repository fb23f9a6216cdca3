//! Where a document's recording stands: with the entry of a feed, at an address of its own, or at that of its document.

use entity::id::{DocumentId, FeedId, UserId};
use entity::{document, entry};
use sea_orm::sea_query::{Expr, ExprTrait, Query, SelectStatement};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder};

/// The address that the document's recording has beside the document's own, if there is one.
///
/// # Errors
/// [`DbErr`] when the database fails.
pub async fn beside(db: &impl ConnectionTrait, document: &document::Model) -> Result<Option<String>, DbErr> {
    let entry = entry::Entity::owned_by(document.user_id)
        .filter(entry::Column::DocumentId.eq(document.id))
        .filter(entry::Column::EnclosureUrl.is_not_null())
        .order_by_asc(entry::Column::Id)
        .one(db)
        .await?;
    Ok(entry.and_then(|entry| entry.enclosure_url).or_else(|| document.recording_url.clone()))
}

/// The document's recording stands there from now on; none for its own address.
///
/// # Errors
/// [`DbErr`] when the database fails.
pub async fn set(
    db: &impl ConnectionTrait,
    user: UserId,
    document: DocumentId,
    address: Option<&str>,
) -> Result<(), DbErr> {
    document::Entity::update_many()
        .col_expr(document::Column::RecordingUrl, Expr::value(address))
        .filter(document::Column::UserId.eq(user))
        .filter(document::Column::Id.eq(document))
        .exec(db)
        .await?;
    Ok(())
}

/// The recordings of a feed's episodes go with their documents: the entries are about to go with the feed.
///
/// # Errors
/// [`DbErr`] when the database fails.
pub async fn keep_of_feed(db: &impl ConnectionTrait, user: UserId, feed: FeedId) -> Result<(), DbErr> {
    let address = episodes(user, feed)
        .column(entry::Column::EnclosureUrl)
        .and_where(entry_column(entry::Column::DocumentId).equals((document::Entity, document::Column::Id)))
        .order_by(entry::Column::Id, sea_orm::Order::Asc)
        .limit(1)
        .to_owned();
    let documents = episodes(user, feed).column(entry::Column::DocumentId).to_owned();
    document::Entity::update_many()
        .col_expr(document::Column::RecordingUrl, Expr::SubQuery(None, Box::new(address.into())))
        .filter(document::Column::UserId.eq(user))
        .filter(document::Column::Id.in_subquery(documents))
        .exec(db)
        .await?;
    Ok(())
}

fn entry_column(column: entry::Column) -> Expr {
    Expr::col((entry::Entity, column))
}

/// The entries of a feed that have a recording.
fn episodes(user: UserId, feed: FeedId) -> SelectStatement {
    Query::select()
        .from(entry::Entity)
        .and_where(entry_column(entry::Column::UserId).eq(user))
        .and_where(entry_column(entry::Column::FeedId).eq(feed))
        .and_where(entry_column(entry::Column::EnclosureUrl).is_not_null())
        .to_owned()
}
