//! Pauses and resumes AI for all users (contract.md, section 4).

use schemars::JsonSchema;
use serde::Serialize;
use values::scope::Scope;
use values::time::Timestamp;

use crate::ai;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use validation::NoFields;

/// Pauses AI until midnight UTC.
#[derive(Debug)]
pub struct PauseAi;

/// Ends the pause of AI.
#[derive(Debug)]
pub struct ResumeAi;

impl FromRequest for PauseAi {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

impl FromRequest for ResumeAi {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// Whether AI is paused.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AiPauseResponse {
    /// The end of the pause; null if AI is not paused.
    pub paused_until: Option<Timestamp>,
}

impl Operation for PauseAi {
    type Reply = AiPauseResponse;
    const SCOPES: &'static [Scope] = &[];
    const NEEDS_OPERATOR: bool = true;

    async fn run(self, _: &Caller, ctx: &OperationContext) -> Result<AiPauseResponse, Error> {
        let until = ai::pause(&ctx.core.db, ctx.core.clock.now()).await?;
        Ok(AiPauseResponse { paused_until: Some(until) })
    }
}

impl Operation for ResumeAi {
    type Reply = AiPauseResponse;
    const SCOPES: &'static [Scope] = &[];
    const NEEDS_OPERATOR: bool = true;

    async fn run(self, _: &Caller, ctx: &OperationContext) -> Result<AiPauseResponse, Error> {
        ai::resume(&ctx.core.db).await?;
        Ok(AiPauseResponse { paused_until: None })
    }
}
