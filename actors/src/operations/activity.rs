//! Reading the activity view (contract.md, section 9).

use entity::activity;
use entity::id::{ActivityId, GrantId, KeyId};
use entity::kind::Surface;
use entity::scope::Scope;
use entity::time::Timestamp;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, Condition, QueryFilter, QueryOrder, QuerySelect};
use serde::{Deserialize, Serialize};

use super::page::{CURSOR, PageOf};
use super::target::Target;
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use crate::pipeline::Operation;

const DEFAULT_LIMIT: u64 = 50;

/// A page of activity, newest first.
#[derive(Debug)]
pub struct ListActivity {
    page: PageOf,
    key: Option<KeyId>,
    app: Option<GrantId>,
    surface: Option<&'static str>,
}

impl ListActivity {
    /// The parameters of the route.
    pub const FIELDS: &'static [Field] = &[
        CURSOR,
        Field::optional("limit", Kind::Integer { min: 1, max: 100 }, "Lines at most; 50 when left out."),
        Field::optional("keyId", Kind::Id, "Of this key."),
        Field::optional("appId", Kind::Id, "Of this connected application."),
        Field::optional("surface", Kind::Choice(Surface::NAMES), "By this surface."),
    ];

    /// Reads the parameters.
    pub fn read(_: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self {
            page: PageOf::read(&mut values, DEFAULT_LIMIT),
            key: values.id("keyId").map(KeyId),
            app: values.id("appId").map(GrantId),
            surface: values.name("surface"),
        })
    }
}

/// One call.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActivityView {
    id: ActivityId,
    at: Timestamp,
    surface: Surface,
    key_id: Option<KeyId>,
    app_id: Option<GrantId>,
    key_name: Option<String>,
    route: Option<String>,
    tool: Option<String>,
    status: ActivityStatus,
    client: Option<String>,
    result_count: Option<i32>,
}

/// HTTP status for REST, a word for MCP.
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
            app_id: row.app_id,
            key_name: row.key_name,
            route: row.route,
            tool: row.tool,
            status: row.status.parse().map_or(ActivityStatus::Word(row.status), ActivityStatus::Number),
            client: row.client,
            result_count: row.result_count,
        }
    }
}

/// Calls, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListActivityResponse {
    activity: Vec<ActivityView>,
    next_cursor: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Position {
    at: Timestamp,
    id: ActivityId,
}

impl Operation for ListActivity {
    type Reply = ListActivityResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListActivityResponse, Error> {
        use activity::Column as C;
        let list = format!("activity:{:?}:{:?}:{:?}", self.key, self.app, self.surface);
        let before: Option<Position> = self.page.position(ctx, caller.user, &list)?;
        let older = before.map(|last| {
            let same = Condition::all().add(C::At.eq(last.at)).add(C::Id.lt(last.id));
            Condition::any().add(C::At.lt(last.at)).add(same)
        });
        let wanted = Condition::all()
            .add_option(older)
            .add_option(self.key.map(|key| C::KeyId.eq(key)))
            .add_option(self.app.map(|ctx| C::AppId.eq(ctx)))
            .add_option(self.surface.map(|surface| C::Surface.eq(surface)));
        let mut rows = activity::Entity::owned_by(caller.user)
            .filter(wanted)
            .order_by_desc(C::At)
            .order_by_desc(C::Id)
            .limit(self.page.limit + 1)
            .all(ctx.core.db.read())
            .await?;
        let position = |row: &activity::Model| Position { at: row.at, id: row.id };
        let next_cursor = self.page.cut(ctx, caller.user, &list, &mut rows, position);
        Ok(ListActivityResponse { activity: rows.into_iter().map(ActivityView::from).collect(), next_cursor })
    }
}
