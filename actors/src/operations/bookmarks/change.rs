//! Changing what is named of a bookmark, and nothing else (contract.md, section 6: PATCH).

use entity::id::{BookmarkId, CollectionId};
use entity::scope::Scope;
use entity::time::Timestamp;
use entity::{bookmark, bookmark_tag, collection_bookmark, document};
use sea_orm::sea_query::LockType;
use sea_orm::{
    ActiveModelTrait, ActiveValue::Set, ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel,
    QueryFilter, QuerySelect,
};

use super::view::{self, BookmarkResponse};
use super::{kinds, save};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use jobs::{Priority, JobKind};
use library::library_quota::LibraryRoom;
use crate::operations::notes;
use crate::operations::target::Target;
use library::owned_transaction::begin_request;
use crate::pipeline::Operation;

/// What is to be different.
#[derive(Debug)]
pub struct ChangeBookmark {
    id: BookmarkId,
    title: Option<String>,
    tags: Option<Vec<String>>,
    notes: Option<String>,
    collections: Option<Vec<CollectionId>>,
    favorite: Option<bool>,
    archived: Option<bool>,
    progress: Option<f64>,
    saved_at: Option<Timestamp>,
}

impl ChangeBookmark {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[
        Field::optional("title", Kind::Words { min: 1, max: 300 }, "The new title."),
        Field::optional("tags", kinds::TAGS, "The new tags. They replace all existing ones."),
        Field::optional("notes", kinds::NOTES, "The new notes. They replace the existing ones."),
        Field::optional(
            "collectionIds",
            kinds::COLLECTIONS,
            "The new collections. They replace all existing ones.",
        ),
        Field::optional("favorite", Kind::Flag, "Whether the bookmark is a favourite."),
        Field::optional("archived", Kind::Flag, "Whether the bookmark is archived."),
        Field::optional("progress", kinds::PROGRESS, "Reading progress, from 0 to 1."),
        Field::optional("savedAt", Kind::Time, "When the bookmark was saved."),
    ];

    /// Reads path and body.
    pub fn read(target: &Target, values: Values) -> Result<Self, Error> {
        Ok(Self::of(target.id(0)?, values))
    }

    /// Reads the fields of a change of this bookmark.
    pub fn of(id: BookmarkId, mut values: Values) -> Self {
        Self {
            id,
            title: values.text("title"),
            tags: values.texts("tags").map(save::tidy_tags),
            notes: values.change("notes").map(Option::unwrap_or_default),
            collections: values.ids("collectionIds").map(|ids| ids.into_iter().map(CollectionId).collect()),
            favorite: values.flag("favorite"),
            archived: values.flag("archived"),
            progress: values.number("progress"),
            saved_at: values.time("savedAt"),
        }
    }
}

impl Operation for ChangeBookmark {
    type Reply = BookmarkResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<BookmarkResponse, Error> {
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, caller).await?;
        // Collections are locked before bookmarks, as whoever removes one does.
        save::own_collections(&txn, caller.user, self.collections.as_deref().unwrap_or_default()).await?;
        // Held, so that of two who write the first note the second finds it.
        let found = bookmark::Entity::one_of(caller.user, self.id).lock(LockType::NoKeyUpdate);
        let row = found.one(&txn).await?.ok_or(Error::not_found())?;
        let room = LibraryRoom::of_caller(&txn, ctx, caller).await?;
        let rewritten = match self.notes {
            Some(_) => notes::document_on(&txn, caller.user, row.id).await?,
            None => None,
        };
        let room = room.rewriting(&txn, rewritten).await?;
        let row = self.apply(&txn, row, now).await?;
        room.must_hold(&txn).await?;
        let bookmark = view::one(ctx, &txn, row).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(BookmarkResponse { bookmark })
    }
}

impl ChangeBookmark {
    async fn apply(
        self,
        txn: &impl ConnectionTrait,
        row: bookmark::Model,
        now: Timestamp,
    ) -> Result<bookmark::Model, Error> {
        if let Some(title) = self.title {
            retitle(txn, &row, title, now).await?;
        }
        if let Some(notes) = self.notes {
            notes::write_on_bookmark(txn, &row, &notes, Priority::Now, now).await?;
        }
        if let Some(tags) = self.tags {
            let old =
                bookmark_tag::Entity::delete_many().filter(bookmark_tag::Column::UserId.eq(row.user_id));
            old.filter(bookmark_tag::Column::BookmarkId.eq(row.id)).exec(txn).await?;
            save::add_tags(txn, &row, &tags).await?;
        }
        if let Some(collections) = self.collections {
            refile(txn, &row, &collections, now).await?;
        }
        let mut changed = row.into_active_model();
        if let Some(favorite) = self.favorite {
            changed.favorite = Set(favorite);
        }
        if let Some(archived) = self.archived {
            changed.archived = Set(archived);
        }
        if let Some(progress) = self.progress {
            changed.progress = Set(progress);
        }
        if let Some(saved_at) = self.saved_at {
            changed.saved_at = Set(saved_at);
        }
        changed.updated_at = Set(now);
        Ok(changed.update(txn).await?)
    }
}

/// A title is part of what a passage is found by, so the index is told.
async fn retitle(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    title: String,
    now: Timestamp,
) -> Result<(), Error> {
    let own = document::Entity::of(row.user_id).filter(document::Column::BookmarkId.eq(row.id));
    for document in own.lock_exclusive().all(txn).await? {
        let (id, has_text) = (document.id, document.version > 0);
        let mut changed = document.into_active_model();
        changed.title = Set(title.clone());
        changed.title_given = Set(true);
        changed.update(txn).await?;
        if has_text {
            jobs::enqueue(txn, row.user_id, JobKind::Index, id.0, Priority::Now, now).await?;
        }
    }
    Ok(())
}

async fn refile(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    collections: &[CollectionId],
    now: Timestamp,
) -> Result<(), Error> {
    let old = collection_bookmark::Entity::delete_many()
        .filter(collection_bookmark::Column::UserId.eq(row.user_id));
    old.filter(collection_bookmark::Column::BookmarkId.eq(row.id)).exec(txn).await?;
    for collection in collections {
        save::put_in(txn, row.user_id, *collection, row.id, now).await?;
    }
    relabel(txn, row, now).await
}

/// Tells the index that the bookmark stands in other collections.
pub async fn relabel(txn: &impl ConnectionTrait, row: &bookmark::Model, now: Timestamp) -> Result<(), Error> {
    let own = document::Entity::of(row.user_id).filter(document::Column::BookmarkId.eq(row.id));
    for document in own.all(txn).await? {
        jobs::enqueue(txn, row.user_id, JobKind::UpdateLabels, document.id.0, Priority::Now, now).await?;
    }
    Ok(())
}
