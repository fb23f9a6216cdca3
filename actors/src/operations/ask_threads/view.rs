//! What is shown of threads, their questions and their citations.

use std::collections::HashMap;

use entity::{ask_question, ask_thread, document};
use errors::Error;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::Serialize;
use values::id::{AskQuestionId, AskThreadId, DocumentId, UserId};
use values::kind::{AnswerOutcome, QuestionState};
use values::time::Timestamp;

use super::scope::{AskScope, AskScopeView};
use super::stored_answer::{StoredAnswer, StoredCitation};
use crate::operations::ask::{AskContext, Citation};
use crate::operations::text_positions::TextPosition;
use library::context::CoreContext;

/// A thread with its questions and their answers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadView {
    /// Id of the thread.
    pub thread_id: AskThreadId,
    /// The first question.
    pub title: String,
    /// The part of the library that is asked.
    pub scope: AskScopeView,
    /// The questions in their order.
    pub questions: Vec<QuestionView>,
    /// When the first question was asked.
    pub created_at: Timestamp,
    /// When the last question was asked.
    pub asked_at: Timestamp,
}

/// A thread, as it is after the request.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ThreadResponse {
    /// The thread.
    pub thread: ThreadView,
}

/// A question with its answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuestionView {
    /// Id of the question.
    pub question_id: AskQuestionId,
    /// Number in the thread, from 1.
    pub number: i32,
    /// The question in the words of the user.
    pub question: String,
    /// `waiting` until it is answered or has failed.
    pub state: QuestionState,
    /// The answer; null unless the state is `answered`.
    pub answer: Option<AnswerView>,
    /// The code of the error; null unless the state is `failed`.
    pub error: Option<String>,
    /// When it was asked, or asked again.
    pub asked_at: Timestamp,
    /// When it was answered or failed; null while it waits.
    pub ended_at: Option<Timestamp>,
}

/// An answer with its citations.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnswerView {
    /// The answer as plain text with markers, as for `POST /ask`.
    pub answer: String,
    /// Whether the library answers the question, has only something close to it, or has nothing.
    pub outcome: AnswerOutcome,
    /// What the markers refer to.
    pub citations: Vec<CitationView>,
    /// Number of passages that the model was given.
    pub passages_read: usize,
    /// Name of the model that answered.
    pub model: String,
}

/// A citation with the position of its quote.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CitationView {
    /// The citation as it was when the question was answered.
    #[serde(flatten)]
    pub citation: Citation,
    /// Where the quote is in the text that was cited.
    pub position: TextPosition,
    /// Whether the document still has the text that was cited.
    pub source: SourceState,
}

/// Whether a cited document still has the text that was cited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SourceState {
    /// It has.
    Current,
    /// Another text has replaced it.
    Changed,
    /// It was deleted, or its feed was unfollowed.
    Gone,
}

impl SourceState {
    /// Returns the state of a document that is cited in one version and visible in another; `None` if it is not visible.
    fn of(cited: i32, current: Option<i32>) -> Self {
        match current {
            Some(version) if version == cited => Self::Current,
            Some(_) => Self::Changed,
            None => Self::Gone,
        }
    }
}

/// Returns a thread of this user with all its questions.
///
/// # Errors
/// [`Error::NotFound`] when it does not exist or belongs to another user.
pub(super) async fn load_thread(
    ctx: &AskContext,
    user: UserId,
    id: AskThreadId,
) -> Result<ThreadView, Error> {
    let db = ctx.core.db.read();
    let thread = ask_thread::Entity::one_of(user, id).one(db).await?.ok_or(Error::not_found())?;
    let rows = ask_question::Entity::owned_by(user)
        .filter(ask_question::Column::ThreadId.eq(id))
        .order_by_asc(ask_question::Column::Number)
        .all(db)
        .await?;
    let mut answers = Vec::with_capacity(rows.len());
    for row in &rows {
        answers.push(row.answer.as_deref().map(StoredAnswer::read).transpose()?);
    }
    let cited = answers.iter().flatten().flat_map(|answer| &answer.citations);
    let versions = current_versions(&ctx.core, user, cited).await?;
    let questions = rows.into_iter().zip(answers).map(|(row, answer)| QuestionView {
        question_id: row.id,
        number: row.number,
        question: row.question,
        state: row.state,
        answer: answer.map(|answer| AnswerView::of(answer, &versions)),
        error: row.error,
        asked_at: row.asked_at,
        ended_at: row.ended_at,
    });
    Ok(ThreadView {
        thread_id: thread.id,
        title: thread.title,
        scope: scope_view(ctx, user, &thread.scope).await?,
        questions: questions.collect(),
        created_at: thread.created_at,
        asked_at: thread.asked_at,
    })
}

/// Returns what a thread shows of its scope.
pub(super) async fn scope_view(ctx: &AskContext, user: UserId, scope: &str) -> Result<AskScopeView, Error> {
    let scope: AskScope = scope.parse().map_err(Error::internal)?;
    scope.view(ctx, user).await
}

impl AnswerView {
    fn of(stored: StoredAnswer, versions: &HashMap<DocumentId, i32>) -> Self {
        let citations = stored.citations.into_iter().map(|stored| CitationView::of(stored, versions));
        Self {
            answer: stored.answer,
            outcome: stored.outcome,
            citations: citations.collect(),
            passages_read: stored.passages_read,
            model: stored.model,
        }
    }
}

impl CitationView {
    /// Returns a citation whose document has one of these versions, or is not visible.
    pub(super) fn of(stored: StoredCitation, versions: &HashMap<DocumentId, i32>) -> Self {
        let current = versions.get(&stored.citation.document_id).copied();
        let source = SourceState::of(stored.version, current);
        Self { citation: stored.citation, position: stored.position, source }
    }
}

/// Returns the versions of the texts of the cited documents that the user sees.
pub(super) async fn current_versions(
    core: &CoreContext,
    user: UserId,
    citations: impl Iterator<Item = &StoredCitation>,
) -> Result<HashMap<DocumentId, i32>, Error> {
    let mut documents: Vec<DocumentId> = citations.map(|stored| stored.citation.document_id).collect();
    documents.sort_unstable();
    documents.dedup();
    if documents.is_empty() {
        return Ok(HashMap::new());
    }
    let rows: Vec<(DocumentId, i32)> = document::Entity::visible_to(user)
        .filter(document::Column::Id.is_in(documents))
        .select_only()
        .columns([document::Column::Id, document::Column::Version])
        .into_tuple()
        .all(core.db.read())
        .await?;
    Ok(rows.into_iter().collect())
}
