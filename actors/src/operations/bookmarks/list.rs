//! Lists bookmarks, with filters and in several orders (contract.md, section 6: GET /bookmarks).

use entity::{bookmark, bookmark_tag, collection, collection_bookmark, document};
use schemars::JsonSchema;
use sea_orm::sea_query::{Expr, ExprTrait, Func, LikeExpr, Query};
use sea_orm::{
    ColumnTrait, Condition, EntityTrait, JoinType, Order, QueryFilter, QueryOrder, QuerySelect, Select,
};
use serde::{Deserialize, Serialize};
use values::id::{BookmarkId, CollectionId, UserId};
use values::kind::ContentType;
use values::scope::Scope;
use values::time::Timestamp;

use super::view::{self, BookmarkView};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::page::{CursorText, ListName, ListPage, PageLimit, PageRequest};
use crate::target::Target;
use errors::Error;
use library::context::CoreContext;
use validation::{Choice, Flag, Id, Time, Words, choices, request};

const DEFAULT_LIMIT: u64 = 50;
/// Deletions in one response. A client that missed more repeats the request with the time of the last one.
const MAX_DELETED_ROWS: u64 = 1000;

/// Lists bookmarks that match all filters, in one of several orders.
#[derive(Debug)]
pub struct ListBookmarks(ListBookmarksRequest);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Ascending,
    Descending,
}

choices! {
    /// The order of a list of bookmarks.
    pub enum BookmarkSort {
        /// By the time of saving, oldest first.
        SavedAt = "savedAt",
        /// By the time of saving, newest first.
        SavedAtDescending = "-savedAt",
        /// By title, in ascending order.
        Title = "title",
        /// By the time of the last change, oldest first.
        UpdatedAt = "updatedAt",
        /// By the time of the last change, newest first.
        UpdatedAtDescending = "-updatedAt",
    }
}

request! {
    /// A page of bookmarks, with filters and an order.
    pub struct ListBookmarksRequest {
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Maximum number of bookmarks. Default 50.
        pub limit?: PageLimit,
        /// Returns bookmarks whose title or URL contains each of these words.
        pub words? as "q": Words<1, 500>,
        /// Returns bookmarks with this tag.
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
        Ok(Self(request))
    }
}

/// A page of bookmarks, in the requested order.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListBookmarksResponse {
    bookmarks: Vec<BookmarkView>,
    /// Cursor of the next page; null on the last page.
    next_cursor: Option<String>,
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

/// The last row of the page before: its sort key, and its id for rows with the same key.
#[derive(Serialize, Deserialize)]
struct BookmarkPosition {
    number: i64,
    title: String,
    id: BookmarkId,
}

impl Operation for ListBookmarks {
    type Reply = ListBookmarksResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadBookmarks];

    fn count(reply: &ListBookmarksResponse) -> Option<usize> {
        Some(reply.bookmarks.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListBookmarksResponse, Error> {
        let (user, Self(request)) = (caller.user, self);
        let sort = request.order();
        let page = PageRequest::new(request.limit, request.cursor.clone(), DEFAULT_LIMIT);
        let list = page.of_list(ctx, caller, request.list_name());
        let after: Option<BookmarkPosition> = list.position()?;
        // An unknown collection is answered with 404, not with an empty list.
        if let Some(id) = request.collection_id {
            let found = collection::Entity::one_of(user, id.into_inner()).one(ctx.core.db.read()).await?;
            found.ok_or_else(|| Error::not_found().of_item("collectionId"))?;
        }
        let mut query = bookmark::Entity::visible_to(user).filter(request.condition(user));
        // The title and the content type, by which the list is sorted and filtered, are columns of the document.
        query = query.join(JoinType::InnerJoin, document_of_bookmark());
        if let Some(after) = &after {
            query = query.filter(sort.is_after(after));
        }
        let query = sort.order(query).limit(list.fetch_limit());
        let rows: Vec<(bookmark::Model, Option<document::Model>)> =
            query.select_also(document::Entity).all(ctx.core.db.read()).await?;
        let rows: Vec<(bookmark::Model, String)> = rows
            .into_iter()
            .map(|(row, document)| (row, document.map(|document| document.title).unwrap_or_default()))
            .collect();
        let position = |(row, title): &(bookmark::Model, String)| sort.position(row, title);
        let ListPage { rows, next_cursor } = list.page(rows, position);
        let rows = rows.into_iter().map(|(row, _)| row).collect();
        let deleted = match request.updated_since.filter(|_| request.includes_deleted()) {
            Some(since) => Some(deleted(&ctx.core, user, since.into_inner()).await?),
            None => None,
        };
        Ok(ListBookmarksResponse {
            bookmarks: view::load_views(&ctx.core, ctx.core.db.read(), user, rows).await?,
            next_cursor,
            deleted,
        })
    }
}

fn document_of_bookmark() -> sea_orm::RelationDef {
    bookmark::Entity::belongs_to(document::Entity)
        .from(bookmark::Column::DocumentId)
        .to(document::Column::Id)
        .into()
}

async fn deleted(core: &CoreContext, user: UserId, since: Timestamp) -> Result<Vec<DeletedBookmark>, Error> {
    let rows = bookmark::Entity::with_deleted(user)
        .filter(bookmark::Column::DeletedAt.gte(since))
        .order_by_asc(bookmark::Column::DeletedAt)
        .limit(MAX_DELETED_ROWS)
        .all(core.db.read())
        .await?;
    let deleted = rows
        .into_iter()
        .filter_map(|row| Some(DeletedBookmark { bookmark_id: row.id, deleted_at: row.deleted_at? }));
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

    /// Returns the condition of the filters, on bookmarks of this user joined with their documents.
    fn condition(&self, user: UserId) -> Condition {
        use bookmark::Column as C;
        let with_tag = |tag: &Words<1, 100>| {
            let of_tag = Query::select()
                .column(bookmark_tag::Column::BookmarkId)
                .from(bookmark_tag::Entity)
                .and_where(bookmark_tag::Column::UserId.eq(user))
                .and_where(bookmark_tag::Column::Name.eq(tag.as_str()))
                .to_owned();
            C::Id.in_subquery(of_tag)
        };
        let in_collection = |collection: Id<CollectionId>| {
            let of_collection = Query::select()
                .column(collection_bookmark::Column::BookmarkId)
                .from(collection_bookmark::Entity)
                .and_where(collection_bookmark::Column::UserId.eq(user))
                .and_where(collection_bookmark::Column::CollectionId.eq(collection.into_inner()))
                .to_owned();
            C::Id.in_subquery(of_collection)
        };
        let is_unread =
            |unread: Flag| if unread.into_inner() { C::Progress.lt(1.0) } else { C::Progress.gte(1.0) };
        Condition::all()
            .add_option(self.words.as_ref().map(|words| contains_words(words.as_str())))
            .add_option(self.tag.as_ref().map(with_tag))
            .add_option(self.collection_id.map(in_collection))
            .add_option(self.archived.map(|archived| C::Archived.eq(archived.into_inner())))
            .add_option(self.favorite.map(|favorite| C::Favorite.eq(favorite.into_inner())))
            .add_option(self.unread.map(is_unread))
            .add_option(self.content_type.map(|kind| document::Column::ContentType.eq(kind.into_inner())))
            .add_option(self.saved_after.map(|after| C::SavedAt.gt(after.into_inner())))
            .add_option(self.saved_before.map(|before| C::SavedAt.lt(before.into_inner())))
            .add_option(self.updated_since.map(|since| C::UpdatedAt.gte(since.into_inner())))
    }
}

/// Selects bookmarks whose title or URL contains every word.
fn contains_words(words: &str) -> Condition {
    // Compared in lower case, because `LIKE` ignores case on SQLite, for ASCII letters only, and not on PostgreSQL.
    words.split_whitespace().fold(Condition::all(), |all, word| {
        let like = || LikeExpr::new(format!("%{}%", escape_like(&word.to_lowercase()))).escape('\\');
        let title = Expr::expr(Func::lower(document::Column::Title.into_expr())).like(like());
        let url = Expr::expr(Func::lower(bookmark::Column::Url.into_expr())).like(like());
        all.add(Condition::any().add(title).add(url))
    })
}

fn escape_like(word: &str) -> String {
    word.chars().flat_map(|c| matches!(c, '%' | '_' | '\\').then_some('\\').into_iter().chain([c])).collect()
}

impl BookmarkSort {
    fn column(self) -> Expr {
        match self {
            Self::SavedAt | Self::SavedAtDescending => bookmark::Column::SavedAt.into_expr(),
            Self::UpdatedAt | Self::UpdatedAtDescending => bookmark::Column::UpdatedAt.into_expr(),
            Self::Title => document::Column::Title.into_expr(),
        }
    }

    fn direction(self) -> Direction {
        match self {
            Self::SavedAt | Self::UpdatedAt | Self::Title => Direction::Ascending,
            Self::SavedAtDescending | Self::UpdatedAtDescending => Direction::Descending,
        }
    }

    fn order(self, query: Select<bookmark::Entity>) -> Select<bookmark::Entity> {
        let order = self.direction().order();
        query.order_by(self.column(), order.clone()).order_by(bookmark::Column::Id, order)
    }

    fn is_after(self, after: &BookmarkPosition) -> Condition {
        let key: sea_orm::Value = match self {
            Self::SavedAt | Self::SavedAtDescending | Self::UpdatedAt | Self::UpdatedAtDescending => {
                Timestamp::from_millis(after.number).into()
            }
            Self::Title => after.title.as_str().into(),
        };
        let direction = self.direction();
        let same = self.column().eq(Expr::value(key.clone()));
        let later = direction.is_after(self.column(), key);
        let later_id = direction.is_after(bookmark::Column::Id.into_expr(), after.id);
        Condition::any().add(later).add(Condition::all().add(same).add(later_id))
    }

    fn position(self, row: &bookmark::Model, title: &str) -> BookmarkPosition {
        // Only the key of this order is part of the cursor, so that cursors by time are short.
        let (number, title) = match self {
            Self::SavedAt | Self::SavedAtDescending => (row.saved_at.millis(), ""),
            Self::UpdatedAt | Self::UpdatedAtDescending => (row.updated_at.millis(), ""),
            Self::Title => (0, title),
        };
        BookmarkPosition { number, title: title.to_owned(), id: row.id }
    }
}

impl Direction {
    fn order(self) -> Order {
        match self {
            Direction::Ascending => Order::Asc,
            Direction::Descending => Order::Desc,
        }
    }

    fn is_after(self, column: Expr, value: impl Into<sea_orm::Value>) -> Expr {
        let value = Expr::value(value);
        match self {
            Direction::Ascending => column.gt(value),
            Direction::Descending => column.lt(value),
        }
    }
}
