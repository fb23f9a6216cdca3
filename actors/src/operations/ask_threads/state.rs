//! Shows whether a question can be asked now, and of what.

use entity::usage_month;
use errors::{Error, code};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter};
use serde::Serialize;
use validation::request;
use values::kind::BudgetGroup;
use values::scope::Scope;
use values::time::Timestamp;

use super::scope::{AskScope, AskScopeText, AskScopeView};
use crate::ai::{self, answers};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::ask::AskContext;
use crate::target::Target;

/// Shows what is left of the answers of the month, and the part of the library that a question would be asked of.
#[derive(Debug)]
pub struct ShowAskState {
    /// The part of the library.
    pub scope: AskScope,
}

request! {
    /// The part of the library that a question would be asked of.
    pub struct ShowAskStateRequest {
        /// `all`, `collection:ID`, `project:ID`, or `picked:ID,ID`. Default `all`.
        pub scope?: AskScopeText,
    }
}

impl FromRequest for ShowAskState {
    type Request = ShowAskStateRequest;

    fn from_request(_: &Target, request: ShowAskStateRequest) -> Result<Self, Error> {
        let scope = request.scope.map(|scope| scope.as_str().parse::<AskScope>());
        let scope = scope.transpose().map_err(|fault| Error::invalid("scope", fault.to_string()))?;
        Ok(Self { scope: scope.unwrap_or(AskScope::Library) })
    }
}

/// What is left of the answers of the month.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskStateResponse {
    /// The part of the library.
    pub scope: AskScopeView,
    /// Answers of this month, as they count.
    pub answers: i64,
    /// The plan's maximum number of answers per month.
    pub limit: u32,
    /// When the next month begins.
    pub resets_at: Timestamp,
    /// The end of the pause of the AI; null if it is not paused.
    pub paused_until: Option<Timestamp>,
    /// The code of the error with which a question would be refused now: `AI_PAUSED`, `PLAN_LIMIT_REACHED` or `AI_QUOTA_EXCEEDED`; else
    /// null.
    pub refusal: Option<&'static str>,
}

impl Operation for ShowAskState {
    type Reply = AskStateResponse;
    const SCOPES: &'static [Scope] = &[Scope::AskLibrary];
    const NEEDS_SPACE: bool = false;
    const NEEDS_RESPONSE_SLOT: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<AskStateResponse, Error> {
        let (db, now) = (&ctx.core.db, ctx.core.clock.now());
        let limits = ctx.core.plans.limits(caller.plan);
        let month = usage_month::Entity::owned_by(caller.user)
            .filter(usage_month::Column::Month.eq(now.month()))
            .filter(usage_month::Column::BudgetGroup.eq(BudgetGroup::Chat))
            .one(db.read())
            .await?;
        let counted = month.map_or(0, |month| month.times);
        let expired = answers::count_expired(db, caller.user, now).await?;
        let paused_until = ai::paused_until(db).await?.filter(|until| now < *until);
        let refusal = match paused_until {
            Some(_) => Some(code::AI_PAUSED),
            None => match answers::check_left(db, caller.user, limits, now).await {
                Ok(()) => None,
                Err(refused) if refused.spec().status == 402 => Some(refused.spec().code),
                Err(failure) => return Err(failure),
            },
        };
        Ok(AskStateResponse {
            scope: self.scope.view(&AskContext::from(ctx), caller.user).await?,
            answers: counted.saturating_sub(expired).max(0),
            limit: limits.answers_per_month,
            resets_at: now.month().end(),
            paused_until,
            refusal,
        })
    }
}
