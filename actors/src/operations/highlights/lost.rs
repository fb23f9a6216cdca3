//! Counts the highlights whose words are not in the current text.

use entity::{bookmark, highlight};
use schemars::JsonSchema;
use sea_orm::sea_query::{Expr, ExprTrait, Query};
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::Serialize;
use values::id::{HighlightId, UserId};
use values::scope::Scope;

use super::across::is_lost;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::Operation;
use errors::Error;

/// Lost highlights that are counted.
const MAX_COUNTED_LOST: usize = 100;

/// Counts the lost highlights of the user, without those of deleted bookmarks.
#[derive(Debug)]
pub struct CountLostHighlights;

/// How many highlights are lost.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CountLostHighlightsResponse {
    /// Their number, at most 100.
    pub count: usize,
    /// Whether there are more than were counted.
    pub has_more: bool,
}

impl Operation for CountLostHighlights {
    type Reply = CountLostHighlightsResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadBookmarks];
    // A response of a few fixed fields needs no slot.
    const NEEDS_RESPONSE_SLOT: bool = false;

    async fn run(
        self,
        caller: &Caller,
        ctx: &OperationContext,
    ) -> Result<CountLostHighlightsResponse, Error> {
        let lost = highlight::Entity::owned_by(caller.user)
            .filter(is_lost())
            .filter(has_visible_bookmark(caller.user))
            .order_by_desc(highlight::Column::Id)
            .select_only()
            .column(highlight::Column::Id)
            // The ids alone, and one more, which shows that there are more.
            .limit(MAX_COUNTED_LOST as u64 + 1);
        let found: Vec<HighlightId> = lost.into_tuple().all(ctx.core.db.read()).await?;
        Ok(CountLostHighlightsResponse {
            count: found.len().min(MAX_COUNTED_LOST),
            has_more: found.len() > MAX_COUNTED_LOST,
        })
    }
}

/// Returns the condition that the bookmark of the highlight of the outer statement is not deleted.
fn has_visible_bookmark(user: UserId) -> Expr {
    use bookmark::Column as C;
    let bookmark = Query::select()
        .expr(Expr::cust("1"))
        .from(bookmark::Entity)
        .and_where(C::UserId.eq(user))
        .and_where(C::Id.into_expr().equals((highlight::Entity, highlight::Column::BookmarkId)))
        .and_where(C::DeletedAt.is_null())
        .take();
    Expr::exists(bookmark)
}
