//! Lists the bookmarks that are deleted and can be restored.

use entity::bookmark;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::{Deserialize, Serialize};
use values::id::BookmarkId;
use values::scope::Scope;
use values::time::Timestamp;

use super::view::{self, BookmarkView};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::page::{CursorText, ListName, ListPage, PageLimit, PageRequest};
use crate::target::Target;
use database::compare_rows;
use errors::Error;
use sea_orm::sea_query::{BinOper, Expr};
use validation::request;

const DEFAULT_LIMIT: u64 = 50;

/// Lists the deleted bookmarks, the last deletion first.
#[derive(Debug)]
pub struct ListTrash(PageRequest);

request! {
    /// A page of the deleted bookmarks.
    pub struct ListTrashRequest {
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Maximum number of bookmarks. Default 50.
        pub limit?: PageLimit,
    }
}

impl FromRequest for ListTrash {
    type Request = ListTrashRequest;

    fn from_request(_: &Target, request: ListTrashRequest) -> Result<Self, Error> {
        Ok(Self(PageRequest::new(request.limit, request.cursor, DEFAULT_LIMIT)))
    }
}

/// A page of deleted bookmarks, the last deletion first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListTrashResponse {
    /// The deleted bookmarks.
    pub bookmarks: Vec<DeletedBookmarkView>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// A deleted bookmark.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeletedBookmarkView {
    /// The bookmark as it was.
    pub bookmark: BookmarkView,
    /// When it was deleted.
    pub deleted_at: Timestamp,
    /// When it is removed permanently: 30 days after the deletion.
    pub restorable_until: Timestamp,
}

/// The place of a bookmark in the list.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct DeletedPosition {
    deleted_at_millis: i64,
    id: BookmarkId,
}

impl Operation for ListTrash {
    type Reply = ListTrashResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadBookmarks];

    fn count(reply: &ListTrashResponse) -> Option<usize> {
        Some(reply.bookmarks.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListTrashResponse, Error> {
        use bookmark::Column as C;
        let list = self.0.of_list(ctx, caller, ListName::new("trash"));
        let after: Option<DeletedPosition> = list.position()?;
        let restorable = ctx.core.clock.now() - bookmark::RESTORE_PERIOD;
        let mut query = bookmark::Entity::with_deleted(caller.user)
            .filter(C::DeletedAt.is_not_null())
            .filter(C::DeletedAt.gt(restorable));
        if let Some(after) = after {
            let position =
                [Expr::value(Timestamp::from_millis(after.deleted_at_millis)), Expr::value(after.id)];
            let columns = [C::DeletedAt.into_expr(), C::Id.into_expr()];
            query = query.filter(compare_rows(columns, BinOper::SmallerThan, position));
        }
        let query = query.order_by_desc(C::DeletedAt).order_by_desc(C::Id).limit(list.fetch_limit());
        let rows = query.select_only().columns([C::Id, C::DeletedAt]);
        let rows: Vec<(BookmarkId, Option<Timestamp>)> = rows.into_tuple().all(ctx.core.db.read()).await?;
        let rows = rows.into_iter().filter_map(|(id, deleted_at)| Some((id, deleted_at?))).collect();
        let ListPage { rows, next_cursor } = list.page(rows, |(id, deleted_at): &(BookmarkId, Timestamp)| {
            DeletedPosition { deleted_at_millis: deleted_at.millis(), id: *id }
        });
        let ids: Vec<BookmarkId> = rows.iter().map(|(id, _)| *id).collect();
        let views = view::load_views(&ctx.core, ctx.core.db.read(), caller.user, &ids).await?;
        let bookmarks = views.into_iter().filter_map(|bookmark| {
            let (_, deleted_at) = *rows.iter().find(|(id, _)| *id == bookmark.bookmark_id)?;
            let restorable_until = deleted_at + bookmark::RESTORE_PERIOD;
            Some(DeletedBookmarkView { bookmark, deleted_at, restorable_until })
        });
        Ok(ListTrashResponse { bookmarks: bookmarks.collect(), next_cursor })
    }
}
