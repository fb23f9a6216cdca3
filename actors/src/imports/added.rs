//! What an import adds to a bookmark that was there: tags and collections. Only what was new is written down, so that it can
//! be taken back.

use std::collections::HashSet;

use entity::id::{BookmarkId, CollectionId, UserId};
use entity::kind::ImportedKind;
use entity::time::Timestamp;
use entity::{bookmark, bookmark_tag, collection_bookmark};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter};
use serde::{Deserialize, Serialize};

use super::take::Became;
use crate::error::Error;
use crate::ops::bookmarks::{relabel, save};

/// What was new to a bookmark.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Added {
    tags: Vec<String>,
    collections: Vec<CollectionId>,
}

impl Added {
    /// As it is kept; nothing for nothing.
    pub fn kept(&self) -> Option<String> {
        (*self != Self::default()).then(|| serde_json::to_string(self).unwrap_or_default())
    }
}

/// Adds tags and collections to a bookmark.
///
/// # Errors
/// The database.
pub async fn to(
    txn: &impl ConnectionTrait,
    row: bookmark::Model,
    tags: &[String],
    collections: &[CollectionId],
    now: Timestamp,
) -> Result<Became, Error> {
    let user = row.user_id;
    if save::lock(txn, bookmark::Entity::one_of(user, row.id)).await?.is_empty() {
        return Ok(Became::Passed("was deleted meanwhile".to_owned()));
    }
    let had = bookmark_tag::Entity::owned_by(user).filter(bookmark_tag::Column::BookmarkId.eq(row.id));
    let had: HashSet<String> = had.all(txn).await?.into_iter().map(|tag| tag.name).collect();
    let was_in = collection_bookmark::Entity::owned_by(user)
        .filter(collection_bookmark::Column::BookmarkId.eq(row.id))
        .all(txn)
        .await?;
    let was_in: HashSet<CollectionId> = was_in.into_iter().map(|place| place.collection_id).collect();
    let added = Added {
        tags: tags.iter().filter(|tag| !had.contains(*tag)).cloned().collect(),
        collections: collections.iter().filter(|id| !was_in.contains(id)).copied().collect(),
    };
    save::add_tags(txn, &row, &added.tags).await?;
    for collection in &added.collections {
        save::put_in(txn, user, *collection, row.id, now).await?;
    }
    let id = row.id;
    changed(txn, row, &added, now).await?;
    Ok(Became::Updated(ImportedKind::Bookmark, id.0, added))
}

/// Takes back what was added.
///
/// # Errors
/// The database.
pub async fn take_back(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: BookmarkId,
    kept: &str,
    now: Timestamp,
) -> Result<(), Error> {
    let Ok(added) = serde_json::from_str::<Added>(kept) else { return Ok(()) };
    if save::lock(txn, bookmark::Entity::one_of(user, id)).await?.is_empty() {
        return Ok(());
    }
    bookmark_tag::Entity::delete_many()
        .filter(bookmark_tag::Column::UserId.eq(user))
        .filter(bookmark_tag::Column::BookmarkId.eq(id))
        .filter(bookmark_tag::Column::Name.is_in(added.tags.clone()))
        .exec(txn)
        .await?;
    collection_bookmark::Entity::delete_many()
        .filter(collection_bookmark::Column::UserId.eq(user))
        .filter(collection_bookmark::Column::BookmarkId.eq(id))
        .filter(collection_bookmark::Column::CollectionId.is_in(added.collections.clone()))
        .exec(txn)
        .await?;
    let Some(row) = bookmark::Entity::one_of(user, id).one(txn).await? else { return Ok(()) };
    changed(txn, row, &added, now).await
}

async fn changed(
    txn: &impl ConnectionTrait,
    row: bookmark::Model,
    added: &Added,
    now: Timestamp,
) -> Result<(), Error> {
    if *added == Added::default() {
        return Ok(());
    }
    let row = save::touch(txn, row, now).await?;
    if added.collections.is_empty() { Ok(()) } else { relabel(txn, &row, now).await }
}
