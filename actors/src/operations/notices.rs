//! Lists notices and marks them as read (contract.md, section 9).
//!
//! They need no scope, because only the session of the web app reaches them.

use entity::{api_key, notice, oauth_client, oauth_grant};
use schemars::JsonSchema;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, PaginatorTrait, QueryFilter, QueryOrder, QueryTrait};
use serde::Serialize;
use uuid::Uuid;
use values::id::{NoticeId, UserId};
use values::kind::{GrantState, NoticeKind};
use values::scope::{Scope, Scopes};
use values::time::Timestamp;

use super::page::{CursorText, ListName, ListPage, PageLimit, PageRequest};
use crate::auth::caller::Caller;
use crate::auth::grants::client::shown_name;
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
    /// Id of the notice.
    pub id: NoticeId,
    /// Kind of the event.
    pub kind: NoticeKind,
    /// Title in one line of plain text.
    pub title: String,
    /// Text of the notice: what happened, and what the user can do.
    pub body: String,
    /// Name of the client that was connected or used the key; null if it is not known.
    pub client: Option<String>,
    /// Time of the event, by which notices are listed.
    pub created_at: Timestamp,
    /// When the notice was marked as read; null while it is unread.
    pub read_at: Option<Timestamp>,
    /// What the user can do about it; null in notices of earlier versions.
    pub action: Option<NoticeAction>,
}

/// The key or app that a notice reports, which the user can end at once.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NoticeAction {
    /// Id of the key or of the connected app, by the kind of the notice: `DELETE /keys/:id` or `DELETE /connected-apps/:id` ends it.
    pub subject_id: Uuid,
    /// Name of the key or of the app; null once the key is revoked or the app is forgotten.
    pub name: Option<String>,
    /// Whether it still has access to the library.
    pub is_active: bool,
    /// The permissions that it has, whether the plan includes them or not; empty once it has none.
    pub scopes: Scopes,
}

impl NoticeView {
    fn from_row(row: notice::Model, subjects: &Subjects) -> Self {
        Self {
            action: row.subject_id.map(|id| subjects.action(row.kind, id)),
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

/// The keys and the connected apps of a user, of which there are a few.
struct Subjects {
    keys: Vec<api_key::Model>,
    grants: Vec<(oauth_grant::Model, oauth_client::Model)>,
}

impl Subjects {
    async fn load(ctx: &OperationContext, user: UserId) -> Result<Self, Error> {
        let keys = api_key::Entity::created_by(user).order_by_asc(api_key::Column::Id);
        let keys = keys.all(ctx.core.db.read()).await?;
        Ok(Self { keys, grants: ctx.auth.grants.list_grants(user).await? })
    }

    fn action(&self, kind: NoticeKind, subject: Uuid) -> NoticeAction {
        let found = match kind {
            NoticeKind::KeyFirstUse => self
                .keys
                .iter()
                .find(|key| key.id.0 == subject)
                .map(|key| (Some(key.name.clone()), true, key.scopes.clone())),
            NoticeKind::AppConnected => {
                self.grants.iter().find(|(grant, _)| grant.id.0 == subject).map(|(grant, client)| {
                    let is_connected = grant.state == GrantState::Connected;
                    (Some(shown_name(client)), is_connected, grant.scopes.clone())
                })
            }
        };
        let (name, is_active, scopes) = found.unwrap_or_default();
        let scopes = if is_active { scopes } else { Scopes::default() };
        NoticeAction { subject_id: subject, name, is_active, scopes }
    }
}

/// Returns the views of notices of one user, in their order.
pub async fn load_notices(
    ctx: &OperationContext,
    user: UserId,
    rows: Vec<notice::Model>,
) -> Result<Vec<NoticeView>, Error> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let subjects = Subjects::load(ctx, user).await?;
    Ok(rows.into_iter().map(|row| NoticeView::from_row(row, &subjects)).collect())
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
    /// The notices of the page.
    pub notices: Vec<NoticeView>,
    /// Number of all unread notices, on this page or not.
    pub unread: u64,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
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
        Ok(ListNoticesResponse { notices: load_notices(ctx, caller.user, rows).await?, unread, next_cursor })
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
    /// Number of all unread notices.
    pub unread: u64,
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
