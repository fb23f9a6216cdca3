//! Counts the calls of each day (contract.md, section 9). It needs no scope, because only the session of the web app reaches it.

use entity::activity_day;
use schemars::JsonSchema;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, DbErr, QueryFilter, QueryOrder, QuerySelect};
use serde::Serialize;
use uuid::Uuid;
use values::id::{GrantId, KeyId, UserId};
use values::kind::MeteredSurface;
use values::scope::Scope;
use values::time::Day;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use validation::{Id, Integer, request};

const DEFAULT_DAYS: u16 = 30;

/// Counts the calls of the last days, by UTC day and surface.
#[derive(Debug)]
pub struct CountActivity {
    days: u16,
    credential: Option<Uuid>,
}

impl CountActivity {
    /// Counts the calls of the last 30 days, of one key or app or of all.
    pub fn of_month(credential: Option<Uuid>) -> Self {
        Self { days: DEFAULT_DAYS, credential }
    }
}

request! {
    /// The days, and whose calls are counted.
    pub struct CountActivityRequest {
        /// Number of days, of which today is the last. Default 30.
        pub days?: Integer<1, 90>,
        /// Counts only calls that this API key authenticated.
        pub key_id?: Id<KeyId>,
        /// Counts only calls of this connected app.
        pub app_id?: Id<GrantId>,
    }
    "appId" excludes "keyId": "must not be sent together with keyId";
}

impl FromRequest for CountActivity {
    type Request = CountActivityRequest;

    fn from_request(_: &Target, request: CountActivityRequest) -> Result<Self, Error> {
        let key = request.key_id.map(|key| key.into_inner().0);
        let app = request.app_id.map(|app| app.into_inner().0);
        let days = request.days.and_then(Integer::convert).unwrap_or(DEFAULT_DAYS);
        Ok(Self { days, credential: key.or(app) })
    }
}

/// The calls of a day through one surface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CallCounts {
    /// Number of calls.
    pub calls: u64,
    /// Number of these that were answered with an error, such as a call beyond a limit or without a permission.
    pub refused: u64,
}

/// The calls of a UTC day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ActivityDayView {
    /// The UTC day, such as `2026-11-27`.
    #[schemars(with = "String")]
    pub day: Day,
    /// Requests of the REST API.
    pub rest: CallCounts,
    /// Tool calls of the MCP server.
    pub mcp: CallCounts,
}

impl ActivityDayView {
    /// The number of calls of the day, through both surfaces.
    pub fn calls(&self) -> u64 {
        self.rest.calls + self.mcp.calls
    }

    /// The number of calls of the day that were answered with an error.
    pub fn refused(&self) -> u64 {
        self.rest.refused + self.mcp.refused
    }
}

/// The days, oldest first. A day without calls is listed too.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CountActivityResponse {
    /// One for each day, of which today is the last.
    pub days: Vec<ActivityDayView>,
}

impl Operation for CountActivity {
    type Reply = CountActivityResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<CountActivityResponse, Error> {
        let today = ctx.core.clock.now().day();
        let first = today.days_before(self.days.saturating_sub(1));
        let counted = counts(ctx, caller.user, first, self.credential).await?;
        let mut days: Vec<ActivityDayView> =
            first.through(today).map(ActivityDayView::without_calls).collect();
        for (day, surface, calls, refused) in counted {
            let Some(view) = days.iter_mut().find(|view| view.day == day) else { continue };
            let counts = match surface {
                MeteredSurface::Rest => &mut view.rest,
                MeteredSurface::Mcp => &mut view.mcp,
            };
            let count = |number: i64| u64::try_from(number).unwrap_or_default();
            *counts = CallCounts { calls: count(calls), refused: count(refused) };
        }
        Ok(CountActivityResponse { days })
    }
}

impl ActivityDayView {
    fn without_calls(day: Day) -> Self {
        Self { day, rest: CallCounts::default(), mcp: CallCounts::default() }
    }
}

/// Reads the sums of each day and surface, from a day on.
async fn counts(
    ctx: &OperationContext,
    user: UserId,
    first: Day,
    credential: Option<Uuid>,
) -> Result<Vec<(Day, MeteredSurface, i64, i64)>, DbErr> {
    use activity_day::Column as C;
    // PostgreSQL sums BIGINT as NUMERIC.
    let sum = |column: &str| Expr::cust(format!("CAST(SUM(activity_day.{column}) AS BIGINT)"));
    let mut days = activity_day::Entity::owned_by(user).filter(C::Day.gte(first));
    if let Some(credential) = credential {
        days = days.filter(C::CredentialId.eq(credential));
    }
    days.select_only()
        .columns([C::Day, C::Surface])
        .expr_as(sum("calls"), "calls")
        .expr_as(sum("refused"), "refused")
        .group_by(C::Day)
        .group_by(C::Surface)
        .order_by_asc(C::Day)
        .into_tuple()
        .all(ctx.core.db.read())
        .await
}
