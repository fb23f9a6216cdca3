//! Changes many bookmarks of the web app's library at once: those with some ids, or all that a query matches.

use schemars::JsonSchema;
use serde::Serialize;
use values::id::{BookmarkId, CollectionId};
use values::scope::{Scope, Scopes};

use super::filter::BookmarkFilter;
use super::find_page::find_page;
use super::many::{ChangePart, ManyChanges, UndoToken};
use super::order::BookmarkSort;
use super::query_request::parse_query;
use super::refetch::refetch_all;
use super::statements::PageBounds;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use library::bookmarks::{TagName, normalize_tag};
use library::query::LibraryQuery;
use library::undo::BookmarkChange;
use validation::{Choice, Id, Invalid, List, Text, choices, request};

/// Maximum number of bookmarks that one request changes. Above it a request takes longer than a client waits.
pub const MAX_BULK_BOOKMARKS: u64 = 20_000;

choices! {
    /// What is done with the bookmarks.
    pub enum BulkAction {
        /// Archives them.
        Archive = "archive",
        /// Takes them out of the archive.
        Unarchive = "unarchive",
        /// Makes them favourites.
        Favorite = "favorite",
        /// Makes them no favourites.
        Unfavorite = "unfavorite",
        /// Adds a tag.
        AddTag = "addTag",
        /// Removes a tag.
        RemoveTag = "removeTag",
        /// Adds them to a collection.
        AddToCollection = "addToCollection",
        /// Removes them from a collection.
        RemoveFromCollection = "removeFromCollection",
        /// Deletes them; they can be restored for 30 days.
        Delete = "delete",
        /// Makes their texts again.
        Refetch = "refetch",
    }
}

/// Changes many bookmarks.
#[derive(Debug)]
pub struct BulkChangeBookmarks {
    selection: BulkSelection,
    change: BulkChange,
}

/// The bookmarks that are changed.
#[derive(Debug)]
enum BulkSelection {
    Ids(Vec<BookmarkId>),
    Query(LibraryQuery),
}

#[derive(Debug)]
enum BulkChange {
    /// A change that can be undone.
    Undoable(BookmarkChange),
    Refetch,
}

request! {
    /// A change of many bookmarks.
    pub struct BulkChangeRequest {
        /// What is done.
        pub action: Choice<BulkAction>,
        /// The bookmarks; those that do not exist are left out.
        pub ids?: List<Id<BookmarkId>, 1, 1000>,
        /// In place of `ids`: the bookmarks that this query matches, the newest 20,000 of them. An empty one matches all.
        pub query? as "q": Text<500>,
        /// The tag that is added or removed.
        pub tag?: TagName,
        /// The collection to which they are added, or from which they are removed.
        pub collection_id?: Id<CollectionId>,
    }
}

impl FromRequest for BulkChangeBookmarks {
    type Request = BulkChangeRequest;

    fn from_request(_: &Target, request: BulkChangeRequest) -> Result<Self, Error> {
        let selection = match (request.ids, request.query) {
            // Also with an empty query, which is all bookmarks.
            (Some(_), Some(_)) => {
                return Err(Invalid::new("ids", "must not be given together with q").into());
            }
            (Some(ids), None) => BulkSelection::Ids(ids.map(Id::into_inner)),
            (None, Some(query)) => BulkSelection::Query(parse_query(&query.into_inner(), "q")?),
            (None, None) => return Err(Invalid::new("ids", "is required, or q").into()),
        };
        let tag = request.tag.map(|tag| normalize_tag(tag.as_str()));
        let collection = request.collection_id.map(Id::into_inner);
        let change = BulkChange::of(request.action.into_inner(), tag, collection)?;
        Ok(Self { selection, change })
    }
}

impl BulkChange {
    fn of(
        action: BulkAction,
        tag: Option<String>,
        collection: Option<CollectionId>,
    ) -> Result<Self, Invalid> {
        let tag = || tag.clone().ok_or_else(|| Invalid::new("tag", "is required for this action"));
        let collection =
            || collection.ok_or_else(|| Invalid::new("collectionId", "is required for this action"));
        Ok(Self::Undoable(match action {
            BulkAction::Archive => BookmarkChange::SetArchived(true),
            BulkAction::Unarchive => BookmarkChange::SetArchived(false),
            BulkAction::Favorite => BookmarkChange::SetFavorite(true),
            BulkAction::Unfavorite => BookmarkChange::SetFavorite(false),
            BulkAction::AddTag => BookmarkChange::AddTag(tag()?),
            BulkAction::RemoveTag => BookmarkChange::RemoveTag(tag()?),
            BulkAction::AddToCollection => BookmarkChange::PutIntoCollection(collection()?),
            BulkAction::RemoveFromCollection => BookmarkChange::TakeFromCollection(collection()?),
            BulkAction::Delete => BookmarkChange::Delete,
            BulkAction::Refetch => return Ok(Self::Refetch),
        }))
    }
}

/// What was changed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BulkChangeResponse {
    /// Number of bookmarks that were selected.
    pub selected: usize,
    /// Number of bookmarks that are different than before.
    pub changed: usize,
    /// Whether these are all that the query matches. If not, the request can be repeated.
    pub is_complete: bool,
    /// How the change is undone; null if nothing was changed, or if texts are made again.
    pub undo: Option<UndoToken>,
}

impl Operation for BulkChangeBookmarks {
    type Reply = BulkChangeResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    fn scopes(&self) -> Scopes {
        let scopes: Scopes = Self::SCOPES.into();
        match &self.change {
            BulkChange::Undoable(
                BookmarkChange::PutIntoCollection(_) | BookmarkChange::TakeFromCollection(_),
            ) => scopes.with(Scope::WriteCollections),
            BulkChange::Undoable(_) | BulkChange::Refetch => scopes,
        }
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<BulkChangeResponse, Error> {
        let _permit = ctx.user_slots.batches.acquire(caller.user).await?;
        let (ids, is_complete) = self.selection.find(caller, ctx).await?;
        let selected = ids.len();
        let (changed, undo) = match self.change {
            BulkChange::Undoable(change) => {
                let part = ChangePart { ids, changes: vec![change] };
                let many = ManyChanges { parts: vec![part], with_deleted: false };
                let done = many.run(caller, ctx).await?;
                (done.changed, done.undo)
            }
            BulkChange::Refetch => (refetch_all(caller, ctx, &ids).await?, None),
        };
        Ok(BulkChangeResponse { selected, changed, is_complete, undo })
    }
}

impl BulkSelection {
    /// Returns the selected bookmarks, and whether these are all.
    async fn find(self, caller: &Caller, ctx: &OperationContext) -> Result<(Vec<BookmarkId>, bool), Error> {
        let query = match self {
            Self::Ids(ids) => return Ok((ids, true)),
            Self::Query(query) => query,
        };
        let db = ctx.core.db.read();
        let filter = BookmarkFilter::all_of(caller.user).with_query(db, &query).await?;
        let bounds = PageBounds {
            sort: BookmarkSort::SavedAtDescending,
            after: None,
            until: None,
            limit: MAX_BULK_BOOKMARKS.saturating_add(1),
        };
        let rows = find_page(db, &filter, bounds).await?;
        let max = usize::try_from(MAX_BULK_BOOKMARKS).unwrap_or(usize::MAX);
        let is_complete = rows.len() <= max;
        Ok((rows.into_iter().take(max).map(|row| row.id).collect(), is_complete))
    }
}
