//! Changes the given fields of a bookmark (contract.md, section 6: PATCH).

use entity::bookmark;
use sea_orm::sea_query::LockType;
use sea_orm::{ActiveValue::Set, ConnectionTrait, IntoActiveModel, QuerySelect};
use values::id::{BookmarkId, CollectionId};
use values::scope::Scope;
use values::time::Timestamp;

use super::view::{self, BookmarkResponse};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::{Error, code};
use jobs::Priority;
use library::bookmarks::{self, BookmarkNotes, CollectionIds, TagNames, normalize_tags};
use library::library_quota::LibraryRoom;
use library::notes;
use library::owned_transaction::begin_request;
use validation::{DisplayName, Flag, Fraction, Id, PageTitle, Text, Time, request};

/// Changes the given fields of a bookmark; `None` keeps a field.
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

request! {
    /// The changes of a bookmark.
    pub struct ChangeBookmarkRequest {
        /// The new title. A later fetch of the page does not replace it.
        pub title?: PageTitle<1, 300>,
        /// The new tags. They replace all existing ones.
        pub tags?: TagNames,
        /// The new notes, as Markdown. They replace the existing ones; `null` removes them.
        pub notes~: BookmarkNotes,
        /// The new collections. They replace all existing ones.
        pub collection_ids?: CollectionIds,
        /// Whether the bookmark is a favourite.
        pub favorite?: Flag,
        /// Whether the bookmark is archived.
        pub archived?: Flag,
        /// Reading progress, from 0 to 1.
        pub progress?: Fraction,
        /// When the bookmark was saved, by which lists are sorted.
        pub saved_at?: Time,
    }
}

impl FromRequest for ChangeBookmark {
    type Request = ChangeBookmarkRequest;

    fn from_request(target: &Target, request: ChangeBookmarkRequest) -> Result<Self, Error> {
        Ok(Self::new(target.id(0)?, request))
    }
}

impl ChangeBookmark {
    /// Creates the operation from a bookmark and its changes, which a body or an operation of a batch contains.
    pub fn new(id: BookmarkId, request: ChangeBookmarkRequest) -> Self {
        Self {
            id,
            title: request.title.map(PageTitle::into_inner),
            tags: request.tags.map(|tags| normalize_tags(tags.map(DisplayName::into_inner))),
            notes: request.notes.map(Text::into_inner).into_change().map(Option::unwrap_or_default),
            collections: request.collection_ids.map(|ids| ids.map(Id::into_inner)),
            favorite: request.favorite.map(Flag::into_inner),
            archived: request.archived.map(Flag::into_inner),
            progress: request.progress.map(Fraction::into_inner),
            saved_at: request.saved_at.map(Time::into_inner),
        }
    }
}

impl Operation for ChangeBookmark {
    type Reply = BookmarkResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];
    const ERRORS: &'static [&'static str] = &[code::PLAN_LIMIT_REACHED];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<BookmarkResponse, Error> {
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        // Lock order: collections before bookmarks, as deleting a collection does.
        bookmarks::lock_own_collections(&txn, caller.user, self.collections.as_deref().unwrap_or_default())
            .await?;
        // Locked, so that of two transactions that write the first note the second finds it.
        let found = bookmark::Entity::one_visible_to(caller.user, self.id).lock(LockType::NoKeyUpdate);
        let row = found.one(&txn).await?.ok_or(Error::not_found())?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &caller.owner()).await?;
        // The former text of the notes does not count while it is kept for the index.
        let rewritten = match self.notes {
            Some(_) => notes::document_on_bookmark(&txn, caller.user, row.id).await?,
            None => None,
        };
        let room = room.rewriting(&txn, rewritten).await?;
        let row = self.apply(&txn, row, now).await?;
        room.must_hold(&txn).await?;
        let bookmark = view::load_view(&ctx.core, &txn, row).await?;
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
            bookmarks::retitle(txn, &row, &title, now).await?;
        }
        if let Some(notes) = self.notes {
            notes::write_on_bookmark(txn, &row, &notes, Priority::Now, now).await?;
        }
        if let Some(tags) = self.tags {
            bookmarks::replace_tags(txn, &row, &tags, now).await?;
        }
        if let Some(collections) = self.collections {
            bookmarks::replace_collections(txn, &row, &collections, now).await?;
        }
        // Titles, notes and tags are in other tables; the rest is one update, also if nothing in it changed, for `updatedAt`.
        let user = row.user_id;
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
        Ok(bookmark::Entity::update_owned_row(txn, user, changed).await?)
    }
}
