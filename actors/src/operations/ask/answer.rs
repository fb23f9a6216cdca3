//! Answers a question about a part of a library: the search, the model, the citations, and what the answer costs.

use std::time::Duration;

use database::Transaction;
use schemars::JsonSchema;
use search::citation::{self, CitedAnswer};
use search::index::Filter;
use search::query_syntax::ParsedQuery;
use serde::{Deserialize, Serialize};
use tracing::warn;
use values::id::{BookmarkId, ChunkId, DocumentId, EntryId, UserId};
use values::kind::{AnswerOutcome, ContentType};
use values::plan::Plan;

use super::context_packing::{self, PackedPassage};
use super::quoted_answer::QuotedAnswer;
use super::{found_passages, neighbours, textless_documents};
use crate::ai::answers::AnswerClaim;
use crate::ai::{self, answers};
use crate::answerer::{self, AnswerContext, Answerer, Draft, DraftAnswer, Question};
use crate::context::OperationContext;
use crate::retrieval::passage::{self, Passage};
use crate::retrieval::{Retrieval, SearchQuery};
use errors::Error;
use library::bookmarks::BookmarkConditions;
use library::context::CoreContext;

/// Passages that are searched for, more than the model is given, to replace deleted ones and duplicates.
pub const SEARCHED_PASSAGES: usize = 24;
/// The answer when the search finds nothing.
const NO_ANSWER: &str = "There is nothing about this in your library.";
/// Delay after which a question may be asked again that an incomplete index has nothing about.
const INDEX_RETRY_AFTER: Duration = Duration::from_secs(5);

/// What questions are answered with. Clones share it.
#[derive(Clone)]
pub struct AskContext {
    /// The database, the clock and the plans.
    pub core: CoreContext,
    /// Search, which finds the passages.
    pub retrieval: Retrieval,
    /// The answerer, and the limits of its use.
    pub answers: AnswerContext,
}

impl From<&OperationContext> for AskContext {
    fn from(ctx: &OperationContext) -> Self {
        Self { core: ctx.core.clone(), retrieval: ctx.retrieval.clone(), answers: ctx.answers.clone() }
    }
}

/// A question about a part of a library.
#[derive(Debug)]
pub struct LibraryQuestion {
    /// The question in the words of the user, which is also the query of the search for passages.
    pub text: String,
    /// The documents from which it is answered.
    pub within: Filter,
    /// Conditions on the bookmarks of these documents.
    pub bookmarks: BookmarkConditions,
    /// Maximum number of passages that are searched for.
    pub searched_passages: usize,
}

impl LibraryQuestion {
    /// Returns a question about these documents.
    pub fn within(text: String, within: Filter) -> Self {
        let bookmarks = BookmarkConditions::default();
        Self { text, within, bookmarks, searched_passages: SEARCHED_PASSAGES }
    }
}

/// An answer that counts, whose cost is not recorded yet.
pub struct UnsettledAnswer {
    /// The answer with its citations.
    pub response: AskResponse,
    claim: AnswerClaim,
    tokens: u64,
}

/// The answer, with its citations.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskResponse {
    /// The answer as plain text with markers: `[n]` behind a statement or a quotation refers to `citations[n - 1]`. Within a quotation it
    /// is part of the quoted text, which is not changed.
    pub answer: String,
    /// The passages that the markers refer to.
    pub citations: Vec<Citation>,
    /// Number of passages that the model was given; 0 if the library has no text about the question.
    pub passages_read: usize,
    /// Name of the model that answered.
    pub model: String,
    /// Whether the question is answered. Clients are not sent it: `carrel eval` counts it.
    #[serde(skip)]
    pub outcome: AnswerOutcome,
}

/// A passage that the answer cites (spec.md: Citation).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Citation {
    /// Number in the marker `[n]`, from 1.
    pub n: usize,
    /// The document that contains the passage.
    pub document_id: DocumentId,
    /// The cited passage; `GET /documents/:id/chunks` lists it with its text. Of a document without a text, its `documentId`.
    pub chunk_id: ChunkId,
    /// The bookmark whose text or note contains the passage; null for other documents.
    pub bookmark_id: Option<BookmarkId>,
    /// The feed entry whose text contains the passage; null for other documents.
    pub entry_id: Option<EntryId>,
    /// Title of the document that contains the passage.
    pub title: String,
    /// URL of the page or file; for uploads and notes their page in the web app.
    pub url: String,
    /// Type of the source from which the text was extracted.
    pub content_type: ContentType,
    /// The quoted text: what the document's text contains from `quoteStart` to `quoteEnd`. Empty for a document without a text.
    pub quote: String,
    /// Offset of the first character of the quote, in Unicode scalar values. It lies within the cited passage.
    pub quote_start: usize,
    /// Offset after the last character of the quote, in Unicode scalar values.
    pub quote_end: usize,
    /// Page of a PDF, from 1; null for other documents.
    pub page: Option<i32>,
    /// Start of the passage in a recording, in seconds; null for other documents.
    pub start_seconds: Option<f64>,
    /// End of the passage in a recording, in seconds; null for other documents.
    pub end_seconds: Option<f64>,
    /// Relevance of the passage, from 0 to 1.
    pub score: f64,
    /// Whether the answer quotes the passage and the quote was found in it.
    pub verified: bool,
    /// The version of the document's text that the offsets are in. Clients are not sent it: the web app keeps it with the answer.
    #[serde(skip)]
    pub document_version: i32,
}

impl AskContext {
    /// Answers a question for this user, and counts the answer towards the plan.
    ///
    /// # Errors
    /// [`Error::AiPaused`], [`Error::PlanLimit`] and [`Error::QuotaUsed`] before the model is asked; [`Error::AiUnavailable`] when it does
    /// not answer; [`Error::IndexIncomplete`] when nothing is found, and the index may lack what was asked for; the errors of
    /// [`Retrieval::search`]. After an error nothing is counted.
    pub async fn answer(
        &self,
        user: UserId,
        plan: Plan,
        question: &LibraryQuestion,
    ) -> Result<UnsettledAnswer, Error> {
        let now = self.core.clock.now();
        if let Err(paused) = ai::check_not_paused(&self.core.db, now).await {
            // Search must not learn of the pause later than the user does.
            self.retrieval.engine().refresh_pause(&self.core.db).await?;
            return Err(paused);
        }
        // Counted before the model is asked, so that simultaneous questions cannot exceed the plan's answers.
        let claim = answers::claim(&self.core.db, user, self.core.plans.limits(plan), now).await?;
        match question.answer(self, user).await {
            Ok((response, tokens)) => Ok(UnsettledAnswer { response, claim, tokens }),
            Err(error) => {
                // The client gets the error of the answer, not that of the release: a claim left behind expires with its lease.
                if let Err(error) = answers::release(&self.core.db, claim).await {
                    warn!(
                        cause = error.chain(),
                        "could not release the claim of an answer; it expires by itself"
                    );
                }
                Err(error)
            }
        }
    }

    /// Records what an answer cost, with the transaction that keeps or marks its result, and commits it. Returns the answer.
    ///
    /// # Errors
    /// The claim of the answer expires by itself then.
    pub async fn settle(&self, txn: Transaction, answer: UnsettledAnswer) -> Result<AskResponse, Error> {
        let UnsettledAnswer { response, claim, tokens } = answer;
        let now = self.core.clock.now();
        let pauses = answers::settle(&txn, claim, tokens, self.answers.daily_tokens, now).await?;
        txn.commit().await?;
        if pauses {
            warn!("the daily token limit is used up: the AI is paused until midnight UTC");
            self.retrieval.engine().refresh_pause(&self.core.db).await?;
        }
        Ok(response)
    }
}

impl LibraryQuestion {
    /// Returns the answer with the number of tokens that it cost.
    ///
    /// # Errors
    /// [`Error::IndexIncomplete`] when nothing is found, and the index may lack what was asked for.
    async fn answer(&self, ctx: &AskContext, user: UserId) -> Result<(AskResponse, u64), Error> {
        let query = SearchQuery {
            // Quotation marks and hyphens of a question are text.
            query: ParsedQuery::of_text(&self.text),
            within: self.within.clone(),
            bookmarks: self.bookmarks.clone(),
            limit: self.searched_passages,
        };
        let ranked = ctx.retrieval.search(user, query.clone()).await?;
        let found = found_passages::load(&ctx.core, user, &query, &ranked).await?;
        let textless = textless_documents::load(&ctx.core, user, &query, &ranked.hits, &found).await?;
        let neighbours = neighbours::load(&found, &ctx.core, user).await?;
        let passages = context_packing::pack(found, neighbours);
        let Draft { answer, model, tokens } = self.draft(&passages, &*ctx.answers.answerer).await?;
        let quoting = QuotedAnswer { passages: &passages, textless: &textless };
        let (CitedAnswer { text, citations }, outcome) = match answer {
            DraftAnswer::Written(text) => (cite_written(&text, &passages)?, AnswerOutcome::Answered),
            DraftAnswer::Quoted(sentences) => match quoting.direct(sentences) {
                Some(answer) => (answer, AnswerOutcome::Answered),
                None => (quoting.closest(Vec::new()), AnswerOutcome::Closest),
            },
            DraftAnswer::Closest(sentences) => (quoting.closest(sentences), AnswerOutcome::Closest),
            DraftAnswer::Nothing if textless.is_empty() && ranked.may_lack_passages => {
                return Err(Error::IndexIncomplete(INDEX_RETRY_AFTER));
            }
            DraftAnswer::Nothing if textless.is_empty() => return Ok((nothing_found(model), tokens)),
            DraftAnswer::Nothing => (quoting.closest(Vec::new()), AnswerOutcome::Closest),
        };
        let passages_read = passages.len();
        let documents = textless.into_iter().map(|document| document.passage);
        let sources: Vec<Passage> =
            passages.into_iter().map(|packed| packed.passage).chain(documents).collect();
        let citations = citations.into_iter().zip(1..).filter_map(|(cited, n)| {
            let passage = sources.get(cited.passage)?;
            Some(citation(&ctx.core, n, passage, cited))
        });
        let citations = citations.collect();
        Ok((AskResponse { answer: text, citations, passages_read, model, outcome }, tokens))
    }

    /// Returns the answer from these passages. Without any the model is not asked: the answer counts all the same (contract.md, section 5),
    /// but uses no tokens.
    async fn draft(&self, passages: &[PackedPassage], answerer: &dyn Answerer) -> Result<Draft, Error> {
        if passages.is_empty() {
            let model = answerer.model().to_owned();
            return Ok(Draft { answer: DraftAnswer::Nothing, model, tokens: 0 });
        }
        let passages = passages.iter().map(answerer_passage).collect();
        answerer.answer(Question { text: self.text.clone(), passages }).await.map_err(unavailable)
    }
}

/// Returns what a model wrote, in which `[n]` refers to the n-th of these passages, with its citations.
fn cite_written(answer: &str, passages: &[PackedPassage]) -> Result<CitedAnswer, Error> {
    let texts: Vec<&str> = passages.iter().map(|packed| packed.passage.row.text.as_str()).collect();
    let cited = citation::cite(&text::clean(answer), &texts);
    if cited.is_empty() {
        // An error, so that the answer is not counted.
        warn!("the answer of the model contains only citation markers");
        return Err(Error::AiUnavailable);
    }
    Ok(cited)
}

fn answerer_passage(packed: &PackedPassage) -> answerer::SourcePassage {
    let PackedPassage { passage, document_rank } = packed;
    answerer::SourcePassage {
        document_rank: *document_rank,
        title: passage.row.title.clone(),
        text: passage.row.text.clone(),
        score: passage.found.score,
        cosine: passage.found.cosine,
    }
}

/// Logs a failure and returns the error for the client. Neither contains the question.
fn unavailable(failure: answerer::AnswerError) -> Error {
    let error = Error::internal(failure);
    warn!(cause = error.chain(), "the model did not answer");
    Error::AiUnavailable
}

/// Returns the answer to a question about which the library has nothing.
fn nothing_found(model: String) -> AskResponse {
    AskResponse {
        answer: NO_ANSWER.to_owned(),
        citations: Vec::new(),
        passages_read: 0,
        model,
        outcome: AnswerOutcome::NothingFound,
    }
}

fn citation(core: &CoreContext, n: usize, passage: &Passage, cited: citation::Citation) -> Citation {
    let Passage { row, found } = passage;
    let start = usize::try_from(row.start_offset).unwrap_or(0);
    Citation {
        n,
        document_id: row.document_id,
        chunk_id: row.id,
        bookmark_id: row.bookmark_id,
        entry_id: row.entry_id,
        title: row.title.clone(),
        url: core.source_url(row.url.clone(), row.document_id),
        content_type: row.content_type,
        quote: cited.quote,
        quote_start: start + cited.range.start,
        quote_end: start + cited.range.end,
        page: row.page,
        start_seconds: row.start_seconds,
        end_seconds: row.end_seconds,
        score: passage::rounded_score(found.score),
        verified: cited.verified,
        document_version: row.version,
    }
}
