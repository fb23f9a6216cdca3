//! Lists the activity of an account (contract.md, section 9). It needs no scope, because only the session of the web app
//! reaches it.

use database::padded;
use entity::activity;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, Condition, QueryFilter, QueryOrder, QuerySelect, SelectGetableTuple, Selector};
use serde::{Deserialize, Serialize};
use values::id::{ActivityId, GrantId, KeyId, UserId};
use values::kind::MeteredSurface;
use values::scope::Scope;
use values::time::Timestamp;

use super::page::{CursorText, ListName, ListPage, PageLimit, PageRequest};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use validation::{Choice, Flag, Id, request};

const DEFAULT_LIMIT: u64 = 50;

/// Lists the calls of the user's keys and connected apps, newest first.
#[derive(Debug)]
pub struct ListActivity(ListActivityRequest);

request! {
    /// A page of the activity, with filters that must all match.
    pub struct ListActivityRequest {
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Maximum number of calls. Default 50.
        pub limit?: PageLimit,
        /// Returns only calls that this API key authenticated.
        pub key_id?: Id<KeyId>,
        /// Returns only calls of this connected app.
        pub app_id?: Id<GrantId>,
        /// Returns only calls of this surface: `rest` or `mcp`.
        pub surface?: Choice<MeteredSurface>,
        /// `true` returns only calls that were answered with an error, `false` all.
        pub refused?: Flag,
    }
}

impl FromRequest for ListActivity {
    type Request = ListActivityRequest;

    fn from_request(_: &Target, request: ListActivityRequest) -> Result<Self, Error> {
        Ok(Self(request))
    }
}

/// A call of an API key or a connected app. Activity never contains queries, notes or texts of documents.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActivityView {
    /// Id of the call.
    pub id: ActivityId,
    /// Time of the call, by which calls are listed.
    pub at: Timestamp,
    /// The API that was called.
    pub surface: MeteredSurface,
    /// The API key that authenticated the call; null for calls of connected apps.
    pub key_id: Option<KeyId>,
    /// The connected app that called; null for calls with an API key.
    pub app_id: Option<GrantId>,
    /// Name of the key at the time of the call.
    pub key_name: Option<String>,
    /// Method and pattern of the route, such as `GET /documents/:id`; null for MCP.
    pub route: Option<String>,
    /// Name of the MCP tool; null for REST.
    pub tool: Option<String>,
    /// The HTTP status of a REST call, or the outcome of an MCP call.
    pub status: ActivityStatus,
    /// Whether the call was answered with an error.
    pub refused: bool,
    /// Name of the client, as it states it.
    pub client: Option<String>,
    /// Number of results in the response; null for calls that return no results.
    pub result_count: Option<i32>,
}

/// The HTTP status of a REST call, or the outcome of an MCP call as a word.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ActivityStatus {
    /// The HTTP status of a REST call.
    Number(u16),
    /// The outcome of an MCP call: `ok` or the code of an error.
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
            // The column is text, because it has the HTTP status of REST calls and the outcome of MCP calls (contract.md,
            // section 11: App).
            status: row.status.parse().map_or(ActivityStatus::Word(row.status), ActivityStatus::Number),
            refused: row.refused,
            client: row.client,
            result_count: row.result_count,
        }
    }
}

/// A page of calls, newest first.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListActivityResponse {
    /// The calls of the page.
    pub activity: Vec<ActivityView>,
    /// The cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct ActivityPosition {
    id: ActivityId,
}

impl Operation for ListActivity {
    type Reply = ListActivityResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListActivityResponse, Error> {
        use activity::Column as C;
        // Without `..`, so that a filter that is not part of the name does not compile.
        let ListActivityRequest { cursor, limit, key_id, app_id, surface, refused } = self.0;
        let only_refused = refused.is_some_and(Flag::into_inner);
        let name =
            ListName::new("activity").with("keyId", key_id).with("appId", app_id).with("surface", surface);
        let name = name.with("refused", only_refused.then_some(true));
        let page = PageRequest::new(limit, cursor, DEFAULT_LIMIT);
        let list = page.of_list(ctx, caller, name);
        let before: Option<ActivityPosition> = list.position()?;
        if key_id.is_some() && app_id.is_some() {
            // No call has both a key and an app.
            return Ok(ListActivityResponse::default());
        }
        let matches = Condition::all()
            // Ids sort by the time of the call.
            .add_option(before.map(|last| C::Id.lt(last.id)))
            .add_option(key_id.map(|key| C::KeyId.eq(key.into_inner())))
            .add_option(app_id.map(|grant| C::GrantId.eq(grant.into_inner())))
            .add_option(only_refused.then(activity::is_refused))
            .add_option(surface.map(|surface| C::Surface.eq(surface.into_inner())));
        let is_filtered = key_id.is_some() || app_id.is_some() || surface.is_some() || only_refused;
        let mut query = activity::Entity::owned_by(caller.user).order_by_desc(C::Id);
        if is_filtered {
            let ids = find_ids(caller.user, matches, list.fetch_limit()).all(ctx.core.db.read()).await?;
            if ids.is_empty() {
                return Ok(ListActivityResponse::default());
            }
            query = query.filter(C::Id.is_in(padded(&ids)));
        } else {
            query = query.filter(matches);
        }
        let position = |row: &activity::Model| ActivityPosition { id: row.id };
        let ListPage { rows, next_cursor } = list.fetch(query, position).await?;
        Ok(ListActivityResponse { activity: rows.into_iter().map(ActivityView::from).collect(), next_cursor })
    }
}

/// Selects the ids of the latest calls that match filters. The indexes of the filters have no other columns: for whole rows SQLite would
/// rather read all calls of the user by the primary key.
fn find_ids(user: UserId, matches: Condition, limit: u64) -> Selector<SelectGetableTuple<ActivityId>> {
    activity::Entity::owned_by(user)
        .filter(matches)
        .select_only()
        .column(activity::Column::Id)
        .order_by_desc(activity::Column::Id)
        .limit(limit)
        .into_tuple()
}
