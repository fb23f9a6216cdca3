//! Lists bookmarks, with filters and in several orders (contract.md, section 6: GET /bookmarks).

use entity::{bookmark, collection};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::Serialize;
use values::id::{BookmarkId, CollectionId, UserId};
use values::kind::ContentType;
use values::scope::Scope;
use values::time::Timestamp;

use super::filter::BookmarkFilter;
use super::find_page::find_page;
use super::order::{BookmarkPosition, BookmarkSort};
use super::query_request::parse_query;
use super::statements::PageBounds;
use super::view::{self, BookmarkView};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::page::{CursorText, ListName, ListPage, PageLimit, PageRequest};
use crate::target::Target;
use errors::Error;
use library::bookmarks::normalize_tag;
use library::context::CoreContext;
use library::query::LibraryQuery;
use validation::{Choice, Flag, Id, Time, Words, request};

const DEFAULT_LIMIT: u64 = 50;
/// Deletions in one response. A client that missed more repeats the request with the time of the last one.
const MAX_DELETED_ROWS: u64 = 1000;

/// Lists bookmarks that match all filters, in one of several orders.
#[derive(Debug)]
pub struct ListBookmarks {
    request: ListBookmarksRequest,
    query: LibraryQuery,
}

request! {
    /// A page of bookmarks, with filters and an order.
    pub struct ListBookmarksRequest {
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Maximum number of bookmarks. Default 50.
        pub limit?: PageLimit,
        /// Returns bookmarks whose title or URL contains each of these words. `"..."` is a text with spaces, `-` excludes what
        /// follows it, `or` stands between alternatives, and `tag:`, `is:`, `type:`, `site:`, `feed:`, `collection:`, `before:`,
        /// `after:` and `upto:` are further filters.
        pub words? as "q": Words<1, 500>,
        /// Returns bookmarks with this tag. Case counts.
        pub tag?: Words<1, 100>,
        /// Returns bookmarks in this collection.
        pub collection_id?: Id<CollectionId>,
        /// Returns archived bookmarks (`true`) or others (`false`).
        pub archived?: Flag,
        /// Returns favourites (`true`) or others (`false`).
        pub favorite?: Flag,
        /// Returns bookmarks with a progress below 1 (`true`) or of 1 (`false`).
        pub unread?: Flag,
        /// Returns bookmarks with this content type.
        pub content_type?: Choice<ContentType>,
        /// Returns bookmarks saved after this time.
        pub saved_after?: Time,
        /// Returns bookmarks saved before this time.
        pub saved_before?: Time,
        /// Returns bookmarks changed at or after this time.
        pub updated_since?: Time,
        /// Also returns the ids of bookmarks deleted since `updatedSince`, which is required then.
        pub include_deleted?: Flag,
        /// Sort order; `-` means descending. Default `-savedAt`.
        pub sort?: Choice<BookmarkSort>,
    }
    "includeDeleted" needs "updatedSince": "needs updatedSince";
}

impl FromRequest for ListBookmarks {
    type Request = ListBookmarksRequest;

    fn from_request(_: &Target, request: ListBookmarksRequest) -> Result<Self, Error> {
        let words = request.words.as_ref().map_or("", Words::as_str);
        let query = parse_query(words, "q")?;
        Ok(Self { request, query })
    }
}

/// A page of bookmarks, in the requested order.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListBookmarksResponse {
    /// The bookmarks of the page.
    pub bookmarks: Vec<BookmarkView>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
    /// Bookmarks deleted since `updatedSince`, at most 1,000, oldest deletion first; absent without `includeDeleted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted: Option<Vec<DeletedBookmark>>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DeletedBookmark {
    bookmark_id: BookmarkId,
    deleted_at: Timestamp,
}

impl Operation for ListBookmarks {
    type Reply = ListBookmarksResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadBookmarks];

    fn count(reply: &ListBookmarksResponse) -> Option<usize> {
        Some(reply.bookmarks.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListBookmarksResponse, Error> {
        let (user, Self { request, query }) = (caller.user, self);
        let sort = request.order();
        let page = PageRequest::new(request.limit, request.cursor.clone(), DEFAULT_LIMIT);
        let list = page.of_list(ctx, caller, request.list_name());
        let after: Option<BookmarkPosition> = list.position()?;
        // An unknown collection is answered with 404, not with an empty list.
        if let Some(id) = request.collection_id {
            let found = collection::Entity::one_of(user, id.into_inner()).one(ctx.core.db.read()).await?;
            found.ok_or_else(|| Error::not_found().of_item("collectionId"))?;
        }
        let bounds = PageBounds { sort, after: after.as_ref(), until: None, limit: list.fetch_limit() };
        let filter = request.filter(user).with_query(ctx.core.db.read(), &query).await?;
        let rows = find_page(ctx.core.db.read(), &filter, bounds).await?;
        let ListPage { rows, next_cursor } = list.page(rows, BookmarkPosition::clone);
        let ids: Vec<BookmarkId> = rows.into_iter().map(|row| row.id).collect();
        let deleted = match request.updated_since.filter(|_| request.includes_deleted()) {
            Some(since) => Some(deleted(&ctx.core, user, since.into_inner()).await?),
            None => None,
        };
        Ok(ListBookmarksResponse {
            bookmarks: view::load_views(&ctx.core, ctx.core.db.read(), user, &ids).await?,
            next_cursor,
            deleted,
        })
    }
}

async fn deleted(core: &CoreContext, user: UserId, since: Timestamp) -> Result<Vec<DeletedBookmark>, Error> {
    use bookmark::Column as C;
    let rows = bookmark::Entity::with_deleted(user)
        .filter(C::DeletedAt.gte(since))
        .select_only()
        .columns([C::Id, C::DeletedAt])
        .order_by_asc(C::DeletedAt)
        .order_by_asc(C::Id)
        .limit(MAX_DELETED_ROWS);
    let rows: Vec<(BookmarkId, Option<Timestamp>)> = rows.into_tuple().all(core.db.read()).await?;
    let deleted = rows.into_iter().filter_map(|(bookmark_id, deleted_at)| {
        Some(DeletedBookmark { bookmark_id, deleted_at: deleted_at? })
    });
    Ok(deleted.collect())
}

impl ListBookmarksRequest {
    fn order(&self) -> BookmarkSort {
        self.sort.map_or(BookmarkSort::SavedAtDescending, Choice::into_inner)
    }

    fn includes_deleted(&self) -> bool {
        self.include_deleted.is_some_and(Flag::into_inner)
    }

    fn list_name(&self) -> ListName {
        // Without `..`, so that a filter that is not part of the name does not compile.
        let Self {
            cursor: _,
            limit: _,
            words,
            tag,
            collection_id,
            archived,
            favorite,
            unread,
            content_type,
            saved_after,
            saved_before,
            updated_since,
            // Their defaults are part of the name.
            include_deleted: _,
            sort: _,
        } = self;
        ListName::new("bookmarks")
            .with("sort", Some(self.order()))
            .with("q", words.as_ref().map(Words::as_str))
            .with("tag", tag.as_ref().map(Words::as_str))
            .with("collectionId", *collection_id)
            .with("archived", *archived)
            .with("favorite", *favorite)
            .with("unread", *unread)
            .with("contentType", *content_type)
            .with("savedAfter", *saved_after)
            .with("savedBefore", *saved_before)
            .with("updatedSince", *updated_since)
            .with("includeDeleted", Some(self.includes_deleted()))
    }

    fn filter(&self, user: UserId) -> BookmarkFilter {
        BookmarkFilter {
            tag: self.tag.as_ref().map(|tag| normalize_tag(tag.as_str())),
            collection: self.collection_id.map(Id::into_inner),
            archived: self.archived.map(Flag::into_inner),
            favorite: self.favorite.map(Flag::into_inner),
            unread: self.unread.map(Flag::into_inner),
            content_type: self.content_type.map(Choice::into_inner),
            saved_after: self.saved_after.map(Time::into_inner),
            saved_before: self.saved_before.map(Time::into_inner),
            updated_since: self.updated_since.map(Time::into_inner),
            ..BookmarkFilter::all_of(user)
        }
    }
}
