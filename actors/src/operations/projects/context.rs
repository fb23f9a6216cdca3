//! Returns what an assistant has to know about a project before it works on it (spec.md: Project context).

mod fit;
mod gather;
mod passages;

use schemars::JsonSchema;
use serde::Serialize;
use values::id::{BookmarkId, DocumentId, ProjectId};
use values::kind::{DecisionStatus, ItemRole};
use values::scope::Scope;
use values::time::Timestamp;

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
    /// The project, which may be archived.
    pub project: ProjectId,
    /// Words by which passages are found; without them the response has no passages.
    pub query: Option<String>,
    /// Maximum length of the response's JSON, in characters; `None` means 16,000.
    pub max_chars: Option<usize>,
    /// Whether notes that are not pinned are left out, as for assistants (contract.md, section 11: Projects).
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
    /// Id of the project that was requested.
    pub id: ProjectId,
    /// Name that the user gave the project.
    pub name: String,
    /// The user's instructions for assistants; empty if there are none.
    pub instructions: String,
}

/// A decision of the project that is in force.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextDecision {
    /// What was decided, in one line.
    pub title: String,
    /// Always `decided`; other decisions are not returned.
    pub status: DecisionStatus,
    /// When the decision became `decided`.
    pub decided_at: Option<Timestamp>,
    /// What was decided, and why; may be empty.
    pub body: String,
}

/// A note of the project, or one that was added to it as an item.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ContextNote {
    /// Title of the note, in one line.
    pub title: String,
    /// Text of the note, as Markdown.
    pub body: String,
}

/// A source of the project.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextSource {
    /// The bookmark; null for an entry that is not bookmarked.
    pub bookmark_id: Option<BookmarkId>,
    /// The document with the text of the source.
    pub document_id: DocumentId,
    /// Title of the page, file or entry.
    pub title: String,
    /// URL of the page or file; for uploads and notes their page in the web app.
    pub url: String,
    /// `source` if the project is about it, or `background`.
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
