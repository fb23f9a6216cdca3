//! Lists the activity of an account (contract.md, section 9).

use entity::activity;
use entity::id::{ActivityId, GrantId, KeyId};
use entity::kind::MeteredSurface;
use entity::scope::Scope;
use entity::time::Timestamp;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, Condition, QueryFilter, QueryOrder};
use serde::{Deserialize, Serialize};

use super::page::{CursorText, ListName, ListPage, PageLimit, PageRequest};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use validation::{Choice, Id, request};

const DEFAULT_LIMIT: u64 = 50;

/// Lists the activity, newest first.
#[derive(Debug)]
pub struct ListActivity(ListActivityRequest);

request! {
    /// A page of the activity, and what it is restricted to.
    pub struct ListActivityRequest {
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Lines at most; 50 when left out.
        pub limit?: PageLimit,
        /// Of this key.
        pub key_id?: Id<KeyId>,
        /// Of this connected application.
        pub app_id?: Id<GrantId>,
        /// By this surface.
        pub surface?: Choice<MeteredSurface>,
    }
}

impl FromRequest for ListActivity {
    type Request = ListActivityRequest;

    fn from_request(_: &Target, request: ListActivityRequest) -> Result<Self, Error> {
        Ok(Self(request))
    }
}

/// A call of a key, a connected app or a session.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActivityView {
    id: ActivityId,
    at: Timestamp,
    surface: MeteredSurface,
    key_id: Option<KeyId>,
    app_id: Option<GrantId>,
    key_name: Option<String>,
    route: Option<String>,
    tool: Option<String>,
    status: ActivityStatus,
    client: Option<String>,
    result_count: Option<i32>,
}

/// The HTTP status of a REST call, or the outcome of an MCP call as a word.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum ActivityStatus {
    Number(u16),
    Word(String),
}

impl From<activity::Model> for ActivityView {
    fn from(row: activity::Model) -> Self {
        Self {
            id: row.id,
            at: row.at,
            surface: row.surface,
            key_id: row.key_id,
            app_id: row.grant_id,
            key_name: row.key_name,
            route: row.route,
            tool: row.tool,
            status: row.status.parse().map_or(ActivityStatus::Word(row.status), ActivityStatus::Number),
            client: row.client,
            result_count: row.result_count,
        }
    }
}

/// A page of calls, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListActivityResponse {
    activity: Vec<ActivityView>,
    next_cursor: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct ActivityPosition {
    at: Timestamp,
    id: ActivityId,
}

impl Operation for ListActivity {
    type Reply = ListActivityResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListActivityResponse, Error> {
        use activity::Column as C;
        // Without `..`, so that a filter that is not part of the name does not compile.
        let ListActivityRequest { cursor, limit, key_id, app_id, surface } = self.0;
        let name =
            ListName::new("activity").with("keyId", key_id).with("appId", app_id).with("surface", surface);
        let page = PageRequest::new(limit, cursor, DEFAULT_LIMIT);
        let list = page.of_list(ctx, caller, name);
        let before: Option<ActivityPosition> = list.position()?;
        let older = before.map(|last| {
            let same_time = Condition::all().add(C::At.eq(last.at)).add(C::Id.lt(last.id));
            Condition::any().add(C::At.lt(last.at)).add(same_time)
        });
        let filter = Condition::all()
            .add_option(older)
            .add_option(key_id.map(|key| C::KeyId.eq(key.into_inner())))
            .add_option(app_id.map(|grant| C::GrantId.eq(grant.into_inner())))
            .add_option(surface.map(|surface| C::Surface.eq(surface.into_inner())));
        let query =
            activity::Entity::owned_by(caller.user).filter(filter).order_by_desc(C::At).order_by_desc(C::Id);
        let position = |row: &activity::Model| ActivityPosition { at: row.at, id: row.id };
        let ListPage { rows, next_cursor } = list.fetch(query, position).await?;
        Ok(ListActivityResponse { activity: rows.into_iter().map(ActivityView::from).collect(), next_cursor })
    }
}
