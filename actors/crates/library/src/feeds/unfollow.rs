//! Ends following a feed. Its entries are deleted with it, and their documents except those that are bookmarked.

use entity::id::{FeedId, UserId};
use entity::time::Timestamp;
use entity::{document, entry, feed};
use errors::Error;
use jobs::{JobKind, Priority};
use sea_orm::sea_query::{Expr, ExprTrait, Query, SelectStatement};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, Order, QueryFilter, QuerySelect};
use uuid::Uuid;

use super::saved;

/// Removes a feed of the user, hides its documents and enqueues the job that deletes them.
///
/// # Errors
/// [`Error::NotFound`] when the user does not follow it; what [`DbErr`] converts to when the database fails.
pub async fn unfollow(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: FeedId,
    now: Timestamp,
) -> Result<(), Error> {
    // Lock order: the feed before its documents. A delivery that locked it first has committed its entries by now; a later one
    // finds no feed.
    let locked = feed::Entity::one_of(user, id).lock_exclusive().one(txn).await?;
    locked.ok_or(Error::not_found())?;
    copy_recording_urls(txn, user, id).await?;
    feed::Entity::delete_owned(user).filter(feed::Column::Id.eq(id)).exec(txn).await?;
    // A save of one of the entries has committed before the bookmarks are read below, or waits for this transaction.
    let documents = document::Entity::owned_by(user).filter(document::Column::FeedId.eq(id));
    documents
        .select_only()
        .column(document::Column::Id)
        .lock_exclusive()
        .into_tuple::<Uuid>()
        .all(txn)
        .await?;
    saved::detach_bookmarked(txn, user, id, now).await?;
    // Hidden here and deleted by a job: a feed may have thousands of documents, each with its passages and points in the index.
    document::Entity::update_owned(user)
        .col_expr(document::Column::HiddenAt, Expr::value(Some(now)))
        .col_expr(document::Column::EntryId, Expr::value(None::<Uuid>))
        .filter(document::Column::FeedId.eq(id))
        .exec(txn)
        .await?;
    jobs::enqueue(txn, user, JobKind::RemoveFeed, id.0, Priority::Now, now).await?;
    Ok(())
}

/// Copies the URLs of the recordings of a feed's entries to their documents, because the entries are deleted with the feed.
async fn copy_recording_urls(db: &impl ConnectionTrait, user: UserId, feed: FeedId) -> Result<(), DbErr> {
    let url = entries_with_recording(user, feed)
        .column(entry::Column::EnclosureUrl)
        .and_where(entry_column(entry::Column::DocumentId).equals((document::Entity, document::Column::Id)))
        .order_by(entry::Column::Id, Order::Asc)
        // A scalar subquery must return one row at most; PostgreSQL refuses more.
        .limit(1)
        .to_owned();
    let documents = entries_with_recording(user, feed).column(entry::Column::DocumentId).to_owned();
    document::Entity::update_owned(user)
        .col_expr(document::Column::RecordingUrl, Expr::SubQuery(None, Box::new(url.into())))
        .filter(document::Column::Id.in_subquery(documents))
        .exec(db)
        .await?;
    Ok(())
}

fn entry_column(column: entry::Column) -> Expr {
    Expr::col((entry::Entity, column))
}

fn entries_with_recording(user: UserId, feed: FeedId) -> SelectStatement {
    Query::select()
        .from(entry::Entity)
        .and_where(entry_column(entry::Column::UserId).eq(user))
        .and_where(entry_column(entry::Column::FeedId).eq(feed))
        .and_where(entry_column(entry::Column::EnclosureUrl).is_not_null())
        .to_owned()
}
