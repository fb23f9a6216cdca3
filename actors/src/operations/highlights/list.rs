//! Lists the highlights of a bookmark, in the order of the text.

use database::compare_rows;
use entity::{bookmark, highlight};
use schemars::JsonSchema;
use sea_orm::sea_query::{BinOper, Expr};
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder};
use serde::Serialize;
use values::id::{BookmarkId, HighlightId};
use values::scope::Scope;

use super::view::HighlightView;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::page::{CursorText, ListName, ListPage, PageLimit, PageRequest};
use crate::target::Target;
use errors::Error;
use validation::request;

const DEFAULT_LIMIT: u64 = 50;

/// A page of the highlights of a bookmark.
#[derive(Debug)]
pub struct ListHighlights {
    bookmark: BookmarkId,
    page: PageRequest,
}

request! {
    /// A page of the highlights of a bookmark.
    pub struct ListHighlightsRequest {
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Maximum number of highlights. Default 50.
        pub limit?: PageLimit,
    }
}

impl FromRequest for ListHighlights {
    type Request = ListHighlightsRequest;

    fn from_request(target: &Target, request: ListHighlightsRequest) -> Result<Self, Error> {
        let page = PageRequest::new(request.limit, request.cursor, DEFAULT_LIMIT);
        Ok(Self { bookmark: target.id(0)?, page })
    }
}

/// A page of highlights, in the order of the text.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListHighlightsResponse {
    highlights: Vec<HighlightView>,
    /// Cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

impl Operation for ListHighlights {
    type Reply = ListHighlightsResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadBookmarks];

    fn count(reply: &ListHighlightsResponse) -> Option<usize> {
        Some(reply.highlights.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListHighlightsResponse, Error> {
        use highlight::Column as C;
        let (db, user) = (ctx.core.db.read(), caller.user);
        let list = self.page.of_list(ctx, caller, ListName::selected_by("highlights", self.bookmark));
        let after: Option<(i32, HighlightId)> = list.position()?;
        // The highlights of a deleted bookmark are still stored, but not listed.
        bookmark::Entity::one_visible_to(user, self.bookmark).one(db).await?.ok_or(Error::not_found())?;
        let mut own = highlight::Entity::owned_by(user).filter(C::BookmarkId.eq(self.bookmark));
        if let Some((start, id)) = after {
            let columns = [C::StartOffset.into_expr(), C::Id.into_expr()];
            let last = [Expr::value(start), Expr::value(id)];
            own = own.filter(compare_rows(columns, BinOper::GreaterThan, last));
        }
        let ordered = own.order_by_asc(C::StartOffset).order_by_asc(C::Id);
        let ListPage { rows, next_cursor } = list.fetch(ordered, |row| (row.start_offset, row.id)).await?;
        Ok(ListHighlightsResponse {
            highlights: rows.into_iter().map(HighlightView::from).collect(),
            next_cursor,
        })
    }
}
