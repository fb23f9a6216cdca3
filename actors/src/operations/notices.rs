//! Lists notices and marks them as read (contract.md, section 9).
//!
//! They need no scope, because only the session of the web app reaches them.

use entity::notice;
use schemars::JsonSchema;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, PaginatorTrait, QueryFilter, QueryOrder, QueryTrait};
use serde::Serialize;
use values::id::NoticeId;
use values::kind::NoticeKind;
use values::scope::Scope;
use values::time::Timestamp;

use super::page::{CursorText, ListName, ListPage, PageLimit, PageRequest};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use library::context::CoreContext;
use validation::{NoFields, request};

const DEFAULT_LIMIT: u64 = 50;

/// A notice to the user: an app was connected, or a key was used for the first time (spec.md: Events).
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NoticeView {
    id: NoticeId,
    kind: NoticeKind,
    /// Title in one line of plain text.
    title: String,
    /// Text of the notice: what happened, and what the user can do.
    body: String,
    /// Name of the client that was connected or used the key; null if it is not known.
    client: Option<String>,
    /// Time of the event, by which notices are listed.
    created_at: Timestamp,
    /// When the notice was marked as read; null while it is unread.
    read_at: Option<Timestamp>,
}

impl From<notice::Model> for NoticeView {
    fn from(row: notice::Model) -> Self {
        Self {
            id: row.id,
            kind: row.kind,
            title: row.title,
            body: row.body,
            client: row.client,
            created_at: row.created_at,
            read_at: row.read_at,
        }
    }
}

/// Lists the notices of the user, newest first.
#[derive(Debug)]
pub struct ListNotices(PageRequest);

request! {
    /// A page of the notices.
    pub struct ListNoticesRequest {
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Maximum number of notices. Default 50.
        pub limit?: PageLimit,
    }
}

impl FromRequest for ListNotices {
    type Request = ListNoticesRequest;

    fn from_request(_: &Target, request: ListNoticesRequest) -> Result<Self, Error> {
        Ok(Self(PageRequest::new(request.limit, request.cursor, DEFAULT_LIMIT)))
    }
}

/// A page of notices, with the number of unread ones.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListNoticesResponse {
    notices: Vec<NoticeView>,
    /// Number of all unread notices, on this page or not.
    unread: u64,
    /// Cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

impl Operation for ListNotices {
    type Reply = ListNoticesResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListNoticesResponse, Error> {
        let list = self.0.of_list(ctx, caller, ListName::new("notices"));
        // Ids sort by creation time, so the id alone is the position.
        let before: Option<NoticeId> = list.position()?;
        let query = notice::Entity::owned_by(caller.user)
            .apply_if(before, |query, before| query.filter(notice::Column::Id.lt(before)))
            .order_by_desc(notice::Column::Id);
        let ListPage { rows, next_cursor } = list.fetch(query, |row| row.id).await?;
        let unread = notice::Entity::owned_by(caller.user).filter(notice::Column::ReadAt.is_null());
        let unread = unread.count(ctx.core.db.read()).await?;
        Ok(ListNoticesResponse {
            notices: rows.into_iter().map(NoticeView::from).collect(),
            unread,
            next_cursor,
        })
    }
}

/// Marks a notice as read.
#[derive(Debug)]
pub struct MarkNoticeRead(NoticeId);

impl FromRequest for MarkNoticeRead {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// Marks all notices as read.
#[derive(Debug)]
pub struct MarkAllNoticesRead;

impl FromRequest for MarkAllNoticesRead {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// The number of notices that are still unread.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MarkReadResponse {
    unread: u64,
}

impl Operation for MarkNoticeRead {
    type Reply = MarkReadResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<MarkReadResponse, Error> {
        notice::Entity::one_of(caller.user, self.0)
            .one(ctx.core.db.read())
            .await?
            .ok_or(Error::not_found())?;
        mark_read(caller, &ctx.core, Some(self.0)).await
    }
}

impl Operation for MarkAllNoticesRead {
    type Reply = MarkReadResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<MarkReadResponse, Error> {
        mark_read(caller, &ctx.core, None).await
    }
}

/// Marks one notice as read, or all.
async fn mark_read(
    caller: &Caller,
    core: &CoreContext,
    one: Option<NoticeId>,
) -> Result<MarkReadResponse, Error> {
    let mut marked = notice::Entity::update_owned(caller.user)
        .col_expr(notice::Column::ReadAt, Expr::value(core.clock.now()))
        .filter(notice::Column::ReadAt.is_null());
    if let Some(id) = one {
        marked = marked.filter(notice::Column::Id.eq(id));
    }
    marked.exec(core.db.write()).await?;
    let unread = notice::Entity::owned_by(caller.user).filter(notice::Column::ReadAt.is_null());
    Ok(MarkReadResponse { unread: unread.count(core.db.write()).await? })
}
