//! The changes of many bookmarks.

use std::collections::HashSet;

use database::{insert_all, padded, tested_only};
use entity::{bookmark, bookmark_tag, collection, collection_bookmark};
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect};
use values::id::{BookmarkId, CollectionId, UserId};
use values::time::Timestamp;

use super::step::UndoStep;
use crate::bookmarks::{delete_all, skip_existing_membership, skip_existing_tag, touch_many};
use crate::documents::mark_bookmarks_unindexed;
use errors::Error;
use jobs::Priority;

/// A change of bookmarks that can be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BookmarkChange {
    /// Archives them, or takes them out of the archive.
    SetArchived(bool),
    /// Makes them favourites, or not.
    SetFavorite(bool),
    /// Adds a normalised tag.
    AddTag(String),
    /// Removes a tag.
    RemoveTag(String),
    /// Adds them to a collection of the user, which the transaction has locked.
    PutIntoCollection(CollectionId),
    /// Removes them from a collection of the user, which the transaction has locked.
    TakeFromCollection(CollectionId),
    /// Deletes them, so that they can be restored.
    Delete,
}

impl BookmarkChange {
    /// Changes these bookmarks of a user, at most [`BATCH_ROWS`](crate::BATCH_ROWS), which the transaction has locked. Returns the step
    /// that undoes what was changed; `None` if nothing was.
    pub async fn apply(
        &self,
        txn: &impl ConnectionTrait,
        user: UserId,
        ids: &[BookmarkId],
        now: Timestamp,
    ) -> Result<Option<UndoStep>, Error> {
        if ids.is_empty() {
            return Ok(None);
        }
        let batch = ChangeBatch { txn, user, ids, now };
        let step = match self {
            Self::SetArchived(archived) => {
                let ids = batch.set_flag(bookmark::Column::Archived, *archived).await?;
                UndoStep::SetArchived { archived: !archived, ids }
            }
            Self::SetFavorite(favorite) => {
                let ids = batch.set_flag(bookmark::Column::Favorite, *favorite).await?;
                UndoStep::SetFavorite { favorite: !favorite, ids }
            }
            Self::AddTag(name) => UndoStep::RemoveTag { name: name.clone(), ids: batch.add_tag(name).await? },
            Self::RemoveTag(name) => {
                UndoStep::AddTag { name: name.clone(), ids: batch.remove_tag(name).await? }
            }
            Self::PutIntoCollection(id) => {
                UndoStep::TakeFromCollection { collection: *id, ids: batch.put_into(*id).await? }
            }
            Self::TakeFromCollection(id) => {
                UndoStep::PutIntoCollection { collection: *id, members: batch.take_from(*id).await? }
            }
            Self::Delete => UndoStep::Restore { ids: batch.delete().await? },
        };
        Ok((step.bookmarks() > 0).then_some(step))
    }
}

/// Bookmarks that are changed together.
struct ChangeBatch<'a, C> {
    txn: &'a C,
    user: UserId,
    ids: &'a [BookmarkId],
    now: Timestamp,
}

impl<C: ConnectionTrait> ChangeBatch<'_, C> {
    /// Sets a flag, and returns the bookmarks that had it not so.
    async fn set_flag(&self, flag: bookmark::Column, value: bool) -> Result<Vec<BookmarkId>, Error> {
        let changed = bookmark::Entity::with_deleted(self.user)
            .filter(bookmark::Column::Id.is_in(padded(self.ids)))
            .filter(flag.ne(value))
            .select_only()
            .column(bookmark::Column::Id);
        let changed: Vec<BookmarkId> = changed.into_tuple().all(self.txn).await?;
        if !changed.is_empty() {
            bookmark::Entity::update_owned(self.user)
                .col_expr(flag, Expr::value(value))
                .col_expr(bookmark::Column::UpdatedAt, Expr::value(self.now))
                .filter(bookmark::Column::Id.is_in(padded(&changed)))
                .exec(self.txn)
                .await?;
        }
        Ok(changed)
    }

    /// Adds a tag, and returns the bookmarks that had it not.
    async fn add_tag(&self, name: &str) -> Result<Vec<BookmarkId>, Error> {
        let tagged: HashSet<BookmarkId> = self.tagged(name).await?.into_iter().collect();
        let rows = self.rows_without(&tagged).await?;
        let changed: Vec<BookmarkId> = rows.iter().map(|row| row.id).collect();
        let tags = rows.iter().map(|row| bookmark_tag::Model::new(row, name.to_owned()));
        insert_all::<bookmark_tag::Entity>(self.txn, tags, Some(&skip_existing_tag())).await?;
        self.record_labels(&changed).await?;
        Ok(changed)
    }

    /// Removes a tag, and returns the bookmarks that had it.
    async fn remove_tag(&self, name: &str) -> Result<Vec<BookmarkId>, Error> {
        let tagged = self.tagged(name).await?;
        if !tagged.is_empty() {
            bookmark_tag::Entity::delete_owned(self.user)
                .filter(bookmark_tag::Column::Name.eq(name))
                .filter(bookmark_tag::Column::BookmarkId.is_in(padded(&tagged)))
                .exec(self.txn)
                .await?;
        }
        self.record_labels(&tagged).await?;
        Ok(tagged)
    }

    async fn tagged(&self, name: &str) -> Result<Vec<BookmarkId>, Error> {
        let tagged = bookmark_tag::Entity::owned_by(self.user)
            .filter(bookmark_tag::Column::BookmarkId.is_in(padded(self.ids)))
            .filter(bookmark_tag::Column::Name.eq(name))
            .select_only()
            .column(bookmark_tag::Column::BookmarkId);
        Ok(tagged.into_tuple().all(self.txn).await?)
    }

    /// Returns the bookmarks other than these.
    async fn rows_without(&self, others: &HashSet<BookmarkId>) -> Result<Vec<bookmark::Model>, Error> {
        let ids: Vec<BookmarkId> = self.ids.iter().filter(|id| !others.contains(id)).copied().collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let rows = bookmark::Entity::with_deleted(self.user).filter(bookmark::Column::Id.is_in(padded(&ids)));
        Ok(rows.all(self.txn).await?)
    }

    /// Records that the tags of bookmarks changed, which the index of passages has too.
    async fn record_labels(&self, changed: &[BookmarkId]) -> Result<(), Error> {
        touch_many(self.txn, self.user, changed, self.now).await?;
        mark_bookmarks_unindexed(self.txn, self.user, changed, self.now).await
    }

    /// Adds the bookmarks to a collection, and returns those that were not in it.
    async fn put_into(&self, id: CollectionId) -> Result<Vec<BookmarkId>, Error> {
        let members = self.members(id).await?.into_iter().map(|(id, _)| id).collect();
        let rows = self.rows_without(&members).await?;
        let changed: Vec<BookmarkId> = rows.iter().map(|row| row.id).collect();
        let members = rows.iter().map(|row| collection_bookmark::Model::new(row, id, self.now));
        let conflict = skip_existing_membership();
        insert_all::<collection_bookmark::Entity>(self.txn, members, Some(&conflict)).await?;
        self.record_contents(id, &changed).await?;
        Ok(changed)
    }

    /// Removes the bookmarks from a collection, and returns those that were in it, with the times when they were added.
    async fn take_from(&self, id: CollectionId) -> Result<Vec<(BookmarkId, Timestamp)>, Error> {
        let members = self.members(id).await?;
        let changed: Vec<BookmarkId> = members.iter().map(|(id, _)| *id).collect();
        if !changed.is_empty() {
            collection_bookmark::Entity::delete_owned(self.user)
                .filter(self.is_in_collection(id))
                .filter(collection_bookmark::Column::BookmarkId.is_in(padded(&changed)))
                .exec(self.txn)
                .await?;
        }
        self.record_contents(id, &changed).await?;
        Ok(members)
    }

    async fn members(&self, id: CollectionId) -> Result<Vec<(BookmarkId, Timestamp)>, Error> {
        use collection_bookmark::Column as C;
        let members = collection_bookmark::Entity::owned_by(self.user)
            .filter(self.is_in_collection(id))
            .filter(C::BookmarkId.is_in(padded(self.ids)))
            .select_only()
            .columns([C::BookmarkId, C::AddedAt]);
        Ok(members.into_tuple().all(self.txn).await?)
    }

    /// Tested on the collections of the bookmarks: without statistics SQLite would rather read all bookmarks of the collection.
    fn is_in_collection(&self, id: CollectionId) -> Expr {
        let collection = collection_bookmark::Column::CollectionId.into_expr();
        tested_only(collection, self.txn.get_database_backend()).eq(id)
    }

    async fn record_contents(&self, id: CollectionId, changed: &[BookmarkId]) -> Result<(), Error> {
        if changed.is_empty() {
            return Ok(());
        }
        collection::Entity::update_owned(self.user)
            .col_expr(collection::Column::UpdatedAt, Expr::value(self.now))
            .filter(collection::Column::Id.eq(id))
            .exec(self.txn)
            .await?;
        touch_many(self.txn, self.user, changed, self.now).await
    }

    /// Deletes the bookmarks, and returns those that were not deleted.
    async fn delete(&self) -> Result<Vec<BookmarkId>, Error> {
        let visible = bookmark::Entity::visible_to(self.user)
            .filter(bookmark::Column::Id.is_in(padded(self.ids)))
            .select_only()
            .column(bookmark::Column::Id);
        let visible: Vec<BookmarkId> = visible.into_tuple().all(self.txn).await?;
        delete_all(self.txn, self.user, &visible, Priority::Now, self.now).await?;
        Ok(visible)
    }
}
