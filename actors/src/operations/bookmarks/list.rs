//! Lists bookmarks, with filters and in several orders (contract.md, section 6: GET /bookmarks).

use entity::id::{BookmarkId, CollectionId, UserId};
use entity::kind::ContentType;
use entity::scope::Scope;
use entity::time::Timestamp;
use entity::{bookmark, bookmark_tag, collection, collection_bookmark, document};
use schemars::JsonSchema;
use sea_orm::sea_query::{Expr, ExprTrait, Func, LikeExpr, Query};
use sea_orm::{
    ColumnTrait, Condition, EntityTrait, JoinType, Order, QueryFilter, QueryOrder, QuerySelect, Select,
};
use serde::{Deserialize, Serialize};

use super::view::{self, BookmarkView};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::page::{CursorText, ListName, ListPage, PageLimit, PageRequest};
use crate::target::Target;
use errors::Error;
use library::bookmarks::TagName;
use validation::{Choice, Flag, Id, Time, Words, choices, request};

const DEFAULT_LIMIT: u64 = 50;
/// Deletions in one response. A client that missed more repeats the request with the time of the last one.
const MAX_DELETED_ROWS: u64 = 1000;

/// Lists bookmarks that match all filters, in one of several orders.
#[derive(Debug)]
pub struct ListBookmarks {
    page: PageRequest,
    sort: Sort,
    filter: Filter,
}

#[derive(Debug, Default)]
struct Filter {
    words: Option<String>,
    tag: Option<String>,
    collection: Option<CollectionId>,
    archived: Option<bool>,
    favorite: Option<bool>,
    unread: Option<bool>,
    content_type: Option<&'static str>,
    saved_after: Option<Timestamp>,
    saved_before: Option<Timestamp>,
    updated_since: Option<Timestamp>,
    include_deleted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    SavedAt(Direction),
    UpdatedAt(Direction),
    Title,
}

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
        pub tag?: TagName,
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
}

impl FromRequest for ListBookmarks {
    type Request = ListBookmarksRequest;

    fn from_request(_: &Target, request: ListBookmarksRequest) -> Result<Self, Error> {
        let filter = Filter {
            words: request.words.map(Words::into_inner),
            tag: request.tag.map(Words::into_inner),
            collection: request.collection_id.map(Id::into_inner),
            archived: request.archived.map(Flag::into_inner),
            favorite: request.favorite.map(Flag::into_inner),
            unread: request.unread.map(Flag::into_inner),
            content_type: request.content_type.map(|kind| kind.into_inner().name()),
            saved_after: request.saved_after.map(Time::into_inner),
            saved_before: request.saved_before.map(Time::into_inner),
            updated_since: request.updated_since.map(Time::into_inner),
            include_deleted: request.include_deleted.is_some_and(Flag::into_inner),
        };
        if filter.include_deleted && filter.updated_since.is_none() {
            return Err(Error::invalid("includeDeleted", "needs updatedSince"));
        }
        let page = PageRequest::new(request.limit, request.cursor, DEFAULT_LIMIT);
        let sort = request.sort.map_or(BookmarkSort::SavedAtDescending, Choice::into_inner);
        Ok(Self { page, sort: sort.into(), filter })
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
        let user = caller.user;
        let list = self.page.of_list(ctx, caller, self.filter.list_name(self.sort));
        let after: Option<BookmarkPosition> = list.position()?;
        // An unknown collection is answered with 404, not with an empty list.
        if let Some(id) = self.filter.collection {
            collection::Entity::one_of(user, id).one(ctx.core.db.read()).await?.ok_or(Error::not_found())?;
        }
        let mut query = self.filter.apply(bookmark::Entity::visible_to(user), user);
        // The title and the content type, by which the list is sorted and filtered, are columns of the document.
        query = query.join(JoinType::InnerJoin, document_of_bookmark());
        if let Some(after) = &after {
            query = query.filter(self.sort.is_after(after));
        }
        let query = self.sort.order(query).limit(list.fetch_limit());
        let rows: Vec<(bookmark::Model, Option<document::Model>)> =
            query.select_also(document::Entity).all(ctx.core.db.read()).await?;
        let rows: Vec<(bookmark::Model, String)> = rows
            .into_iter()
            .map(|(row, document)| (row, document.map(|document| document.title).unwrap_or_default()))
            .collect();
        let position = |(row, title): &(bookmark::Model, String)| self.sort.position(row, title);
        let ListPage { rows, next_cursor } = list.page(rows, position);
        let rows = rows.into_iter().map(|(row, _)| row).collect();
        let deleted = match self.filter.updated_since.filter(|_| self.filter.include_deleted) {
            Some(since) => Some(deleted(ctx, user, since).await?),
            None => None,
        };
        Ok(ListBookmarksResponse {
            bookmarks: view::many(&ctx.core, ctx.core.db.read(), user, rows).await?,
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

async fn deleted(
    ctx: &OperationContext,
    user: UserId,
    since: Timestamp,
) -> Result<Vec<DeletedBookmark>, Error> {
    let rows = bookmark::Entity::owned_by(user)
        .filter(bookmark::Column::DeletedAt.gte(since))
        .order_by_asc(bookmark::Column::DeletedAt)
        .limit(MAX_DELETED_ROWS)
        .all(ctx.core.db.read())
        .await?;
    let deleted = rows
        .into_iter()
        .filter_map(|row| Some(DeletedBookmark { bookmark_id: row.id, deleted_at: row.deleted_at? }));
    Ok(deleted.collect())
}

impl Filter {
    fn list_name(&self, sort: Sort) -> ListName {
        // Without `..`, so that a filter that is not part of the name does not compile.
        let Self {
            words,
            tag,
            collection,
            archived,
            favorite,
            unread,
            content_type,
            saved_after,
            saved_before,
            updated_since,
            include_deleted,
        } = self;
        ListName::new("bookmarks")
            .with("sort", Some(sort.name()))
            .with("q", words.as_deref())
            .with("tag", tag.as_deref())
            .with("collectionId", *collection)
            .with("archived", *archived)
            .with("favorite", *favorite)
            .with("unread", *unread)
            .with("contentType", *content_type)
            .with("savedAfter", *saved_after)
            .with("savedBefore", *saved_before)
            .with("updatedSince", *updated_since)
            .with("includeDeleted", Some(*include_deleted))
    }

    fn apply(&self, query: Select<bookmark::Entity>, user: UserId) -> Select<bookmark::Entity> {
        use bookmark::Column as C;
        let mut all = Condition::all();
        if let Some(words) = &self.words {
            all = all.add(contains_words(words));
        }
        if let Some(tag) = &self.tag {
            let with_tag = Query::select()
                .column(bookmark_tag::Column::BookmarkId)
                .from(bookmark_tag::Entity)
                .and_where(bookmark_tag::Column::UserId.eq(user))
                .and_where(bookmark_tag::Column::Name.eq(tag.as_str()))
                .to_owned();
            all = all.add(C::Id.in_subquery(with_tag));
        }
        if let Some(collection) = self.collection {
            let in_collection = Query::select()
                .column(collection_bookmark::Column::BookmarkId)
                .from(collection_bookmark::Entity)
                .and_where(collection_bookmark::Column::UserId.eq(user))
                .and_where(collection_bookmark::Column::CollectionId.eq(collection))
                .to_owned();
            all = all.add(C::Id.in_subquery(in_collection));
        }
        let all = all
            .add_option(self.archived.map(|archived| C::Archived.eq(archived)))
            .add_option(self.favorite.map(|favorite| C::Favorite.eq(favorite)))
            .add_option(
                self.unread.map(|unread| if unread { C::Progress.lt(1.0) } else { C::Progress.gte(1.0) }),
            )
            .add_option(self.content_type.map(|kind| document::Column::ContentType.eq(kind)))
            .add_option(self.saved_after.map(|after| C::SavedAt.gt(after)))
            .add_option(self.saved_before.map(|before| C::SavedAt.lt(before)))
            .add_option(self.updated_since.map(|since| C::UpdatedAt.gte(since)));
        query.filter(all)
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

impl From<BookmarkSort> for Sort {
    fn from(sort: BookmarkSort) -> Self {
        match sort {
            BookmarkSort::SavedAt => Sort::SavedAt(Direction::Ascending),
            BookmarkSort::SavedAtDescending => Sort::SavedAt(Direction::Descending),
            BookmarkSort::Title => Sort::Title,
            BookmarkSort::UpdatedAt => Sort::UpdatedAt(Direction::Ascending),
            BookmarkSort::UpdatedAtDescending => Sort::UpdatedAt(Direction::Descending),
        }
    }
}

impl Sort {
    /// Returns the name of the order in requests ([`BookmarkSort`]).
    fn name(self) -> &'static str {
        match self {
            Sort::SavedAt(Direction::Ascending) => "savedAt",
            Sort::SavedAt(Direction::Descending) => "-savedAt",
            Sort::Title => "title",
            Sort::UpdatedAt(Direction::Ascending) => "updatedAt",
            Sort::UpdatedAt(Direction::Descending) => "-updatedAt",
        }
    }

    fn order(self, query: Select<bookmark::Entity>) -> Select<bookmark::Entity> {
        let (column, order) = match self {
            Sort::SavedAt(direction) => (bookmark::Column::SavedAt.into_expr(), direction.order()),
            Sort::UpdatedAt(direction) => (bookmark::Column::UpdatedAt.into_expr(), direction.order()),
            Sort::Title => (title(), Order::Asc),
        };
        query.order_by(column, order.clone()).order_by(bookmark::Column::Id, order)
    }

    fn is_after(self, after: &BookmarkPosition) -> Condition {
        use bookmark::Column as C;
        let (later, same, direction) = match self {
            Sort::SavedAt(direction) => {
                let at = Timestamp::from_millis(after.number);
                (direction.is_after(C::SavedAt.into_expr(), at), C::SavedAt.eq(at), direction)
            }
            Sort::UpdatedAt(direction) => {
                let at = Timestamp::from_millis(after.number);
                (direction.is_after(C::UpdatedAt.into_expr(), at), C::UpdatedAt.eq(at), direction)
            }
            Sort::Title => {
                let text = after.title.as_str();
                (Direction::Ascending.is_after(title(), text), title().eq(text), Direction::Ascending)
            }
        };
        let later_id = direction.is_after(C::Id.into_expr(), after.id);
        Condition::any().add(later).add(Condition::all().add(same).add(later_id))
    }

    fn position(self, row: &bookmark::Model, title: &str) -> BookmarkPosition {
        // Only the key of this order is part of the cursor, so that cursors by time are short.
        let number = match self {
            Sort::SavedAt(_) => row.saved_at.millis(),
            Sort::UpdatedAt(_) => row.updated_at.millis(),
            Sort::Title => 0,
        };
        let title = if self == Sort::Title { title.to_owned() } else { String::new() };
        BookmarkPosition { number, title, id: row.id }
    }
}

fn title() -> Expr {
    document::Column::Title.into_expr()
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
