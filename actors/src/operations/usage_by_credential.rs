//! Shows the calls of today by key and app, and when a daily limit would be reached at the present rate (contract.md, section 9).
//!
//! It needs no scope, because only the session of the web app reaches it.

use std::collections::HashMap;

use entity::activity_day;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, DbErr, QueryFilter};
use serde::Serialize;
use uuid::Uuid;
use values::id::UserId;
use values::kind::GrantState;
use values::scope::Scope;
use values::time::Timestamp;

use crate::auth::caller::{Caller, Principal};
use crate::auth::grants::client::shown_name;
use crate::auth::keys::{changes, rules};
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use validation::NoFields;

/// Before this share of the UTC day has passed nothing is forecast: the first calls of a day tell little about the others.
const MIN_FORECAST_SHARE: f64 = 1.0 / 24.0;
/// The length of a day in milliseconds.
const DAY_MILLIS: f64 = 86_400_000.0;

/// Reads the calls of today by key and app.
#[derive(Debug)]
pub struct ReadUsageByCredential;

impl FromRequest for ReadUsageByCredential {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// The calls of today by key and app, and the forecast of each surface.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageByCredentialResponse {
    /// When the daily limit of REST requests is reached if they go on as today; null if that is not before the next UTC day.
    pub rest_limit_reached_at: Option<Timestamp>,
    /// When the daily limit of MCP tool calls is reached if they go on as today; null if that is not before the next UTC day.
    pub mcp_limit_reached_at: Option<Timestamp>,
    /// The keys and connected apps, those with the most calls first.
    pub credentials: Vec<CredentialUsage>,
}

/// The use of a key or a connected app.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CredentialUsage {
    /// Id of the key or the app.
    pub id: Uuid,
    /// Name of the key, or the name that the app registered.
    pub name: String,
    /// Whether it is a key or an app.
    pub kind: CredentialKind,
    /// Number of calls of the UTC day, including refused ones.
    pub calls_today: u64,
    /// Number of calls that may still be made now.
    pub remaining: u32,
    /// Maximum number of calls within an hour.
    pub hourly_limit: u32,
}

/// Whether a credential is a key or a connected app.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CredentialKind {
    /// An API key.
    Key,
    /// An app that was connected by OAuth.
    App,
}

impl Operation for ReadUsageByCredential {
    type Reply = UsageByCredentialResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<UsageByCredentialResponse, Error> {
        let (user, now) = (caller.user, ctx.core.clock.now());
        let limits = ctx.core.plans.limits(caller.plan);
        let counts = ctx.auth.limits.today(user).await?;
        let calls = calls_today(ctx, user, now).await?;
        let mut credentials = Vec::new();
        for key in changes::list(&ctx.core.accounts_db, user).await? {
            let hourly_limit = rules::hourly_limit(key.hourly_limit, limits);
            let (principal, name) = (Principal::Key(key.id), key.name);
            credentials.push((principal, key.id.0, name, CredentialKind::Key, hourly_limit));
        }
        for (grant, client) in ctx.auth.grants.list_grants(user).await? {
            if grant.state == GrantState::Connected {
                let (principal, name) = (Principal::Grant(grant.id), shown_name(&client));
                credentials.push((principal, grant.id.0, name, CredentialKind::App, limits.hourly_per_key));
            }
        }
        let mut used = Vec::with_capacity(credentials.len());
        for (principal, id, name, kind, hourly_limit) in credentials {
            let remaining = ctx.auth.limits.remaining(user, principal, hourly_limit).await?;
            let calls_today = calls.get(&id).copied().unwrap_or_default();
            used.push(CredentialUsage { id, name, kind, calls_today, remaining, hourly_limit });
        }
        used.sort_by(|a, b| b.calls_today.cmp(&a.calls_today).then_with(|| a.id.cmp(&b.id)));
        Ok(UsageByCredentialResponse {
            rest_limit_reached_at: limit_reached_at(counts.rest, limits.rest_per_day, now),
            mcp_limit_reached_at: limit_reached_at(counts.mcp, limits.mcp_per_day, now),
            credentials: used,
        })
    }
}

/// Reads the calls of the UTC day of each key and app.
async fn calls_today(
    ctx: &OperationContext,
    user: UserId,
    now: Timestamp,
) -> Result<HashMap<Uuid, u64>, DbErr> {
    let today = activity_day::Entity::owned_by(user).filter(activity_day::Column::Day.eq(now.day()));
    let mut calls = HashMap::new();
    for row in today.all(ctx.core.db.read()).await? {
        *calls.entry(row.credential_id).or_default() += u64::try_from(row.calls).unwrap_or_default();
    }
    Ok(calls)
}

/// Returns the time at which a daily limit is reached at the mean rate of the UTC day so far; `None` if that is not before its end, if the
/// limit is reached already, or if the day has just begun.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a forecast is only shown")]
fn limit_reached_at(calls: u32, limit: u32, now: Timestamp) -> Option<Timestamp> {
    let start = now.day().start();
    let passed = now.since(start).as_millis() as f64;
    if calls == 0 || calls >= limit || passed < MIN_FORECAST_SHARE * DAY_MILLIS {
        return None;
    }
    let reached = passed * f64::from(limit) / f64::from(calls);
    (reached < DAY_MILLIS).then(|| Timestamp::from_millis(start.millis().saturating_add(reached as i64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: &str) -> Timestamp {
        Timestamp::parse(&format!("2026-11-27T{time}:00Z")).unwrap()
    }

    #[test]
    fn limit_is_forecast_at_the_rate_of_the_day() {
        assert_eq!(limit_reached_at(500, 1_000, at("06:00")), Some(at("12:00")));
        assert_eq!(limit_reached_at(750, 1_000, at("12:00")), Some(at("16:00")));
    }

    #[test]
    fn nothing_is_forecast_beyond_the_day_or_after_the_limit() {
        assert_eq!(limit_reached_at(400, 1_000, at("12:00")), None);
        assert_eq!(limit_reached_at(1_000, 1_000, at("12:00")), None);
        assert_eq!(limit_reached_at(0, 1_000, at("12:00")), None);
        assert_eq!(limit_reached_at(900, 1_000, at("00:30")), None);
    }
}
