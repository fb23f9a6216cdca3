//! Returns what an assistant has to know about a project before it works on it (spec.md: Project context).

mod fit;
mod gather;
mod passages;

use entity::id::{BookmarkId, DocumentId, ProjectId};
use entity::kind::{DecisionStatus, ItemRole};
use entity::scope::Scope;
use entity::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::search::QueryText;
use crate::retrieval::passage::SearchResult;
use crate::target::Target;
use errors::Error;
use library::projects;
use validation::{Integer, Words, request};

/// Maximum length of the response data, as compact JSON, in characters.
pub type ContextChars = Integer<1000, 32_000>;
const DEFAULT_MAX_CHARS: usize = 16_000;

/// A request for the context of a project.
#[derive(Debug)]
pub struct ReadContext {
    /// The project.
    pub project: ProjectId,
    /// Words by which passages are found; without them the response has no passages.
    pub query: Option<String>,
    /// Maximum length of the response's JSON, in characters.
    pub max_chars: Option<usize>,
    /// Whether notes that are not pinned are left out.
    pub pinned_notes: bool,
}

request! {
    /// The parameters of the context of a project.
    pub struct ReadContextRequest {
        /// Also returns the passages of the project's sources and notes that match best.
        pub query? as "q": QueryText,
        /// Maximum length of the response data, as compact JSON, in characters. Default 16000.
        pub max_chars?: ContextChars,
    }
}

impl FromRequest for ReadContext {
    type Request = ReadContextRequest;

    fn from_request(target: &Target, request: ReadContextRequest) -> Result<Self, Error> {
        Ok(Self {
            project: target.id(0)?,
            query: request.query.map(Words::into_inner),
            max_chars: request.max_chars.and_then(Integer::convert),
            pinned_notes: false,
        })
    }
}

/// Instructions, decisions, notes and sources of a project, as far as they fit into `maxChars`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadContextResponse {
    /// The project. It is never left out.
    pub project: ContextProject,
    /// Decisions in force, newest first.
    pub decisions: Vec<ContextDecision>,
    /// Notes: pinned ones first, then the newest first.
    pub notes: Vec<ContextNote>,
    /// Sources: pinned ones first, then the newest first.
    pub sources: Vec<ContextSource>,
    /// The passages that match `q` best; absent without `q`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passages: Option<Vec<SearchResult>>,
    /// Whether something was left out.
    pub truncated: bool,
}

/// The project that the context belongs to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ContextProject {
    /// The project.
    pub id: ProjectId,
    /// Its name.
    pub name: String,
    /// Instructions for assistants.
    pub instructions: String,
}

/// A decision in force.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextDecision {
    /// Title of the decision.
    pub title: String,
    /// Always `decided`.
    pub status: DecisionStatus,
    /// When it was decided.
    pub decided_at: Option<Timestamp>,
    /// What was decided, and why.
    pub body: String,
}

/// A note of the project.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ContextNote {
    /// Its title.
    pub title: String,
    /// Its text, as Markdown.
    pub body: String,
}

/// A source of the project.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextSource {
    /// The bookmark; null for an entry that is not bookmarked.
    pub bookmark_id: Option<BookmarkId>,
    /// The document with its text.
    pub document_id: DocumentId,
    /// Its title.
    pub title: String,
    /// URL of the source.
    pub url: String,
    /// Role of the source in the project.
    pub role: ItemRole,
    /// Whether it is listed first and left out last.
    pub pinned: bool,
}

impl Operation for ReadContext {
    type Reply = ReadContextResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadProjects];

    fn count(reply: &ReadContextResponse) -> Option<usize> {
        let passages = reply.passages.as_ref().map_or(0, Vec::len);
        Some(reply.decisions.len() + reply.notes.len() + reply.sources.len() + passages)
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ReadContextResponse, Error> {
        let max_chars = self.max_chars.unwrap_or(DEFAULT_MAX_CHARS);
        let project = projects::find(ctx.core.db.read(), caller.user, self.project).await?;
        let passages = match &self.query {
            Some(query) => Some(passages::find(ctx, &project, query).await?),
            None => None,
        };
        let mut context = ReadContextResponse {
            decisions: gather::decisions(ctx, &project, max_chars).await?,
            notes: gather::notes(ctx, &project, self.pinned_notes, max_chars).await?,
            sources: gather::sources(ctx, &project).await?,
            project: ContextProject {
                id: project.id,
                name: project.name,
                instructions: project.instructions,
            },
            passages,
            truncated: false,
        };
        fit::fit(&mut context, max_chars)?;
        Ok(context)
    }
}
