//! Shows the usage of an account (spec.md: GET /usage).

use entity::usage_month;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter};
use serde::Serialize;
use values::id::KeyId;
use values::kind::{BudgetGroup, KeyKind};
use values::plan::Plan;
use values::scope::{Scope, Scopes};
use values::time::Timestamp;

use crate::ai::answers;
use crate::auth::caller::Caller;
use crate::auth::limits::RateLimits;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use library::library_quota::used_bytes;
use library::transfer_quota;
use library::uploads::stored_bytes;
use validation::NoFields;

/// Reads the usage of today and of this month.
#[derive(Debug)]
pub struct ReadUsage;

impl FromRequest for ReadUsage {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// Usage and limits of the account, including this request.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadUsageResponse {
    /// The plan of the account.
    pub plan: Plan,
    /// REST requests of the UTC day.
    pub rest: DayUsage,
    /// MCP tool calls of the UTC day.
    pub mcp: DayUsage,
    /// The key of this request; null in the web app.
    pub key: Option<KeyUsage>,
    /// Answers of `POST /ask` in the UTC month.
    pub answers: MonthUsage,
    /// Shares of the AI budget of the UTC month that are used.
    pub ai_budget: AiBudget,
    /// Uploaded files.
    pub uploads: UploadUsage,
    /// The library.
    pub library: LibraryUsage,
    /// Files of imports and exports.
    pub transfers: TransferUsage,
}

/// The calls of a UTC day through one surface.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DayUsage {
    /// Number of counted calls since midnight UTC. A REST request for the usage counts itself.
    pub today: u32,
    /// The plan's maximum number of calls per day.
    pub limit: u32,
    /// When the next day begins.
    pub resets_at: Timestamp,
}

/// The key of a request, with what it may still do.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyUsage {
    /// Id of the key.
    pub id: KeyId,
    /// Name of the key.
    pub name: String,
    /// Whether the key is for the REST API or for the MCP server.
    pub kind: KeyKind,
    /// Scopes of the key.
    pub scopes: Scopes,
    /// Maximum number of requests per hour.
    pub hourly_limit: u32,
    /// Number of requests that the key may still send now, after this one.
    pub remaining: u32,
}

/// The answers of a UTC month.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MonthUsage {
    /// Number of answers in this month.
    pub this_month: i64,
    /// The plan's maximum number of answers per month.
    pub limit: u32,
    /// When the next month begins.
    pub resets_at: Timestamp,
}

/// The AI budget of a UTC month.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AiBudget {
    /// When the next month begins.
    pub resets_at: Timestamp,
    /// The shares of the kinds of use.
    pub groups: Vec<BudgetShare>,
}

/// Bytes of uploaded files, including those of announced uploads.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UploadUsage {
    /// Bytes of uploaded files.
    pub stored_bytes: u64,
    /// The plan's maximum of `storedBytes`.
    pub limit: u64,
    /// The plan's maximum length of one file in bytes.
    pub largest: u64,
}

/// Bytes of the library: its texts and a constant number for each of its rows, including notes, import rows and stored responses of
/// idempotency keys.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LibraryUsage {
    /// Bytes that are used.
    pub bytes: u64,
    /// The plan's maximum of `bytes`.
    pub limit: u64,
}

/// Bytes of the files of imports and exports, including those that are arriving.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TransferUsage {
    /// Bytes that are used.
    pub bytes: u64,
    /// The plan's maximum of `bytes`.
    pub limit: u64,
}

/// The share of a kind of use in the AI budget.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BudgetShare {
    /// The kind of use.
    pub group: BudgetGroup,
    /// Used share of the plan's tokens, from 0 to 1.
    pub share: f64,
}

impl Operation for ReadUsage {
    type Reply = ReadUsageResponse;
    // Any valid key may read its usage (spec.md: GET /usage).
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ReadUsageResponse, Error> {
        let now = ctx.core.clock.now();
        let limits = ctx.core.plans.limits(caller.plan);
        let counts = ctx.auth.limits.today(caller.user).await?;
        let day = |today, limit| DayUsage { today, limit, resets_at: now.day().end() };
        let month = usage_month::Entity::owned_by(caller.user)
            .filter(usage_month::Column::Month.eq(now.month()))
            .all(ctx.core.db.read())
            .await?;
        // Answers that a crash interrupted are still counted in the row until the clean-up.
        let expired = answers::count_expired(&ctx.core.db, caller.user, now).await?;
        let row_of = |group| month.iter().find(move |row| row.budget_group == group);
        let share = |group| BudgetShare {
            group,
            share: share(row_of(group).map_or(0, |row| row.tokens), limits.ai_tokens_per_month),
        };
        Ok(ReadUsageResponse {
            plan: caller.plan,
            rest: day(counts.rest, limits.rest_per_day),
            mcp: day(counts.mcp, limits.mcp_per_day),
            key: key_usage(caller, &ctx.auth.limits).await?,
            answers: MonthUsage {
                this_month: row_of(BudgetGroup::Chat).map_or(0, |row| row.times - expired).max(0),
                limit: limits.answers_per_month,
                resets_at: now.month().end(),
            },
            uploads: UploadUsage {
                stored_bytes: stored_bytes(ctx.core.db.read(), caller.user, now).await?,
                limit: limits.stored_bytes,
                largest: limits.upload_bytes,
            },
            library: LibraryUsage {
                bytes: used_bytes(ctx.core.db.read(), caller.user).await?,
                limit: limits.library_bytes,
            },
            transfers: TransferUsage {
                bytes: transfer_quota::used_bytes(ctx.core.db.read(), caller.user, now).await?,
                limit: limits.transfer_bytes,
            },
            ai_budget: AiBudget {
                resets_at: now.month().end(),
                groups: [BudgetGroup::Chat, BudgetGroup::Embedding, BudgetGroup::Transcription]
                    .map(share)
                    .into(),
            },
        })
    }
}

async fn key_usage(caller: &Caller, limits: &RateLimits) -> Result<Option<KeyUsage>, Error> {
    let Some(key) = caller.key.clone() else { return Ok(None) };
    let remaining = limits.remaining(caller.user, caller.principal, key.hourly_limit).await?;
    let (id, name, kind) = (key.id, key.name.to_string(), key.kind);
    Ok(Some(KeyUsage { id, name, kind, scopes: key.scopes, hourly_limit: key.hourly_limit, remaining }))
}

/// Returns the share of the budget that is spent, at most 1.
#[expect(clippy::cast_precision_loss, reason = "the share is only shown")]
fn share(tokens: i64, budget: u64) -> f64 {
    if tokens <= 0 {
        return 0.0;
    }
    if budget == 0 { 1.0 } else { (tokens as f64 / budget as f64).min(1.0) }
}
