//! Shows the state of the parts of the server.

use runtime::HealthReport;
use schemars::JsonSchema;
use serde::Serialize;
use values::scope::Scope;
use values::time::Timestamp;

use crate::ai::{self, budget};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::retrieval::{Completeness, IndexProbe};
use crate::target::Target;
use errors::Error;
use validation::NoFields;

/// Reads the state of each part of the server.
#[derive(Debug)]
pub struct ShowHealth;

impl FromRequest for ShowHealth {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// The state of the server.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthResponse {
    /// Version of Carrel.
    pub version: &'static str,
    /// When the process started.
    pub started_at: Timestamp,
    /// Public base URL of the server.
    pub base_url: String,
    /// The state of the database.
    pub database: DatabaseState,
    /// The state of the passage index.
    pub index: PassageIndexState,
    /// Number of passages in the index; null while it does not answer.
    pub passages: Option<u64>,
    /// Number of documents that the index does not have yet, or whose vectors are of a former model.
    pub documents_left: u64,
    /// The model by which passages are searched by meaning; null without one.
    pub search_model: Option<String>,
    /// Whether the search model can be used now.
    pub search_model_works: bool,
    /// Whether e-mail is sent.
    pub has_mailer: bool,
    /// The state of AI.
    pub ai: AiView,
    /// The supervised parts of the process.
    pub parts: Vec<PartView>,
}

/// The state of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DatabaseState {
    /// It takes reads and writes.
    Ok,
    /// A disk has no more than its floor: nothing is saved, reads continue.
    Full,
    /// It is damaged: writes are stopped.
    Damaged,
    /// Its file was removed or replaced: writes are stopped.
    Removed,
}

/// The state of the passage index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PassageIndexState {
    /// It answers, and contains everything.
    Ok,
    /// It answers, and is being compared with the database or restored.
    Repairing,
    /// It is being loaded again.
    Loading,
    /// It cannot be loaded.
    Failed,
    /// Its disk has no space for it.
    Full,
    /// Its server does not answer.
    Unreachable,
    /// Another server on the same database maintains its own index, and this one is not updated.
    Foreign,
}

/// The state of AI, and the tokens of all users on the UTC day.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AiView {
    /// The end of the pause; null if AI is not paused.
    pub paused_until: Option<Timestamp>,
    /// Tokens that were used today.
    pub tokens_today: u64,
    /// Tokens of a day, after which AI is paused; 0 means no limit.
    pub daily_tokens: u64,
}

/// A supervised part of the process.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PartView {
    /// Name of the part.
    pub name: &'static str,
    /// Whether it runs now.
    pub up: bool,
    /// Number of restarts since the start of the process.
    pub restarts: u64,
}

impl From<HealthReport> for PartView {
    fn from(report: HealthReport) -> Self {
        let HealthReport { name, up, restarts, refused: _ } = report;
        Self { name, up, restarts }
    }
}

impl Operation for ShowHealth {
    type Reply = HealthResponse;
    const SCOPES: &'static [Scope] = &[];
    const NEEDS_OPERATOR: bool = true;

    async fn run(self, _: &Caller, ctx: &OperationContext) -> Result<HealthResponse, Error> {
        let now = ctx.core.clock.now();
        let engine = ctx.retrieval.engine();
        let completeness = engine.completeness();
        // An index that does not answer in time is a state to show.
        let probed = engine.probe().await.ok();
        let embedder = engine.embedder();
        let tokens = budget::tokens_of_day(ctx.core.db.read(), now.day()).await?;
        Ok(HealthResponse {
            version: env!("CARGO_PKG_VERSION"),
            started_at: ctx.started_at,
            base_url: ctx.core.base_url.to_string(),
            database: database_state(ctx),
            index: index_state(probed, completeness),
            passages: passages(probed),
            documents_left: completeness.documents_left().max(engine.outdated_documents()),
            search_model: engine.model_names().searched,
            search_model_works: embedder.is_some_and(|embedder| embedder.fault().is_none()),
            has_mailer: ctx.auth.password_resets.has_mailer(),
            ai: AiView {
                paused_until: ai::paused_until(&ctx.core.db).await?.filter(|until| now < *until),
                tokens_today: u64::try_from(tokens).unwrap_or_default(),
                daily_tokens: ctx.answers.daily_tokens,
            },
            parts: parts(ctx),
        })
    }
}

fn database_state(ctx: &OperationContext) -> DatabaseState {
    let health = ctx.core.db.health();
    if !health.are_files_in_place() {
        DatabaseState::Removed
    } else if health.is_damaged() {
        DatabaseState::Damaged
    } else if ctx.disk.has_room() {
        DatabaseState::Ok
    } else {
        DatabaseState::Full
    }
}

fn index_state(probed: Option<IndexProbe>, completeness: Completeness) -> PassageIndexState {
    match probed {
        Some(IndexProbe::Available { .. }) => match completeness {
            Completeness::Complete => PassageIndexState::Ok,
            Completeness::Checking | Completeness::Rebuilding { .. } => PassageIndexState::Repairing,
            Completeness::MaintainedElsewhere => PassageIndexState::Foreign,
            Completeness::Unavailable => PassageIndexState::Full,
        },
        Some(IndexProbe::Reloading) => PassageIndexState::Loading,
        Some(IndexProbe::NoSpace | IndexProbe::Missing) => PassageIndexState::Full,
        Some(IndexProbe::Unreachable) => PassageIndexState::Unreachable,
        Some(IndexProbe::LoadFailed(_)) | None => PassageIndexState::Failed,
    }
}

fn passages(probed: Option<IndexProbe>) -> Option<u64> {
    match probed? {
        IndexProbe::Available { passages } => u64::try_from(passages).ok(),
        IndexProbe::Reloading
        | IndexProbe::LoadFailed(_)
        | IndexProbe::NoSpace
        | IndexProbe::Missing
        | IndexProbe::Unreachable => None,
    }
}

fn parts(ctx: &OperationContext) -> Vec<PartView> {
    let reports = [
        ctx.auth.keys.port().health().report(),
        ctx.auth.grants.port().health().report(),
        ctx.auth.limits.port().health().report(),
        ctx.requests.activity.health(),
        ctx.retrieval.port().health().report(),
    ];
    reports.into_iter().map(PartView::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_that_answers_is_judged_by_its_completeness() {
        let available = Some(IndexProbe::Available { passages: 7 });
        let rebuilding = Completeness::Rebuilding { documents_left: 1, documents_total: 3 };

        assert_eq!(index_state(available, Completeness::Complete), PassageIndexState::Ok);
        assert_eq!(index_state(available, rebuilding), PassageIndexState::Repairing);
        assert_eq!(index_state(Some(IndexProbe::NoSpace), Completeness::Complete), PassageIndexState::Full);
        assert_eq!(index_state(None, Completeness::Complete), PassageIndexState::Failed);
        assert_eq!((passages(available), passages(None)), (Some(7), None));
    }
}
