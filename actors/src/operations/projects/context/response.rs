//! The context of a project, as the response shows it.

use schemars::JsonSchema;
use serde::Serialize;
use values::id::{BookmarkId, DocumentId, ProjectId};
use values::kind::{DecisionStatus, ItemRole};
use values::time::Timestamp;

use crate::retrieval::passage::SearchResult;

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
