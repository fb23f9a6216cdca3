//! Answers questions from the library (spec.md: POST /ask): finds the best passages, lets a model answer, and verifies the
//! citations.
//!
//! There are three outcomes: the library has nothing about the question; it has something, but no sentence answers the question; or there
//! is an answer. The answer that the library has nothing is given only while the index is complete: otherwise the question is refused for a
//! while.

mod context_packing;
mod found_passages;
mod neighbours;
mod quoted_answer;
mod textless_documents;

use std::time::Duration;

use entity::{bookmark, document};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect};
use search::citation::{self, CitedAnswer};
use search::index::{DocumentSet, Filter};
use search::query_syntax::ParsedQuery;
use serde::Serialize;
use tracing::warn;
use values::id::{BookmarkId, ChunkId, DocumentId, EntryId};
use values::kind::ContentType;
use values::scope::Scope;

use crate::ai::{self, answers};
use crate::answerer::{self, Answerer, Draft, DraftAnswer, Question};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::retrieval::SearchQuery;
use crate::retrieval::passage::{self, Passage};
use crate::target::Target;
use context_packing::PackedPassage;
use errors::{Error, code};
use library::bookmarks::BookmarkConditions;
use library::context::CoreContext;
use library::owned_transaction::begin_request;
use quoted_answer::QuotedAnswer;
use validation::{Id, List, Words, request};

/// The field `question`: 1 to 2,000 characters.
pub type QuestionText = Words<1, 2_000>;
/// The bookmarks to which an answer is limited (spec.md: Limits, rule 6). An empty list is invalid.
pub type AnswerSources = List<Id<BookmarkId>, 1, 50>;
/// Passages that are searched for, more than the model is given, to replace deleted ones and duplicates.
const SEARCHED_PASSAGES: usize = 24;
/// The answer when the search finds nothing.
const NO_ANSWER: &str = "There is nothing about this in your library.";
/// Delay after which a question may be asked again that an incomplete index has nothing about.
const INDEX_RETRY_AFTER: Duration = Duration::from_secs(5);

/// Answers a question with the model of the server. An answer counts towards the plan's answers of the month and its AI budget.
#[derive(Debug)]
pub struct Ask {
    /// The user's question, which is also the query of the search for passages.
    pub question: String,
    /// Answers only from the texts and notes of these bookmarks; `None` answers from the whole library.
    pub bookmarks: Option<Vec<BookmarkId>>,
}

request! {
    /// A question to answer from the library.
    pub struct AskRequest {
        /// The question to answer from the library.
        pub question: QuestionText,
        /// Answers only from these bookmarks and the notes on them. Default: the whole library.
        pub bookmark_ids?: AnswerSources,
    }
}

impl FromRequest for Ask {
    type Request = AskRequest;

    fn from_request(_: &Target, request: AskRequest) -> Result<Self, Error> {
        Ok(Self {
            question: request.question.into_inner(),
            bookmarks: request.bookmark_ids.map(|ids| ids.map(Id::into_inner)),
        })
    }
}

/// The answer, with its citations.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskResponse {
    /// The answer as plain text with markers: `[n]` behind a statement or a quotation refers to `citations[n - 1]`. Within a quotation it
    /// is part of the quoted text, which is not changed.
    answer: String,
    /// The passages that the markers refer to.
    pub citations: Vec<Citation>,
    /// Number of passages that the model was given; 0 if the library has no text about the question.
    passages_read: usize,
    /// Name of the model that answered.
    model: String,
    /// Whether the question is answered. Clients are not sent it: `carrel eval` counts it.
    #[serde(skip)]
    pub outcome: AnswerOutcome,
}

/// What became of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerOutcome {
    /// The library answers it.
    Answered,
    /// The library has something about it, but no sentence that answers it: the closest sentences or titles are quoted.
    Closest,
    /// The library has nothing about it, and the index is whole.
    NothingFound,
}

/// A passage that the answer cites (spec.md: Citation).
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Citation {
    /// Number in the marker `[n]`, from 1.
    n: usize,
    /// The document that contains the passage.
    document_id: DocumentId,
    /// The cited passage; `GET /documents/:id/chunks` lists it with its text. Of a document without a text, its `documentId`.
    chunk_id: ChunkId,
    /// The bookmark whose text or note contains the passage; null for other documents.
    pub bookmark_id: Option<BookmarkId>,
    /// The feed entry whose text contains the passage; null for other documents.
    entry_id: Option<EntryId>,
    /// Title of the document that contains the passage.
    title: String,
    /// URL of the page or file; for uploads and notes their page in the web app.
    url: String,
    /// Type of the source from which the text was extracted.
    content_type: ContentType,
    /// The quoted text: what the document's text contains from `quoteStart` to `quoteEnd`. Empty for a document without a text.
    quote: String,
    /// Offset of the first character of the quote, in Unicode scalar values. It lies within the cited passage.
    quote_start: usize,
    /// Offset after the last character of the quote, in Unicode scalar values.
    quote_end: usize,
    /// Page of a PDF, from 1; null for other documents.
    page: Option<i32>,
    /// Start of the passage in a recording, in seconds; null for other documents.
    start_seconds: Option<f64>,
    /// End of the passage in a recording, in seconds; null for other documents.
    end_seconds: Option<f64>,
    /// Relevance of the passage, from 0 to 1.
    score: f64,
    /// Whether the answer quotes the passage and the quote was found in it.
    verified: bool,
}

impl Operation for Ask {
    type Reply = AskResponse;
    const SCOPES: &'static [Scope] = &[Scope::AskLibrary];
    const ERRORS: &'static [&'static str] =
        &[code::PLAN_LIMIT_REACHED, code::AI_QUOTA_EXCEEDED, code::AI_PAUSED, code::AI_UNAVAILABLE];
    /// The scope writes nothing, but every answer is counted in rows.
    const NEEDS_SPACE: bool = true;
    // It waits for a search slot and for the model instead.
    const NEEDS_RESPONSE_SLOT: bool = false;

    fn count(reply: &AskResponse) -> Option<usize> {
        Some(reply.citations.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<AskResponse, Error> {
        // Before the pause and the counts: 404 comes before 402 (contract.md, section 2: order of checks).
        let filter = self.filter(caller, &ctx.core).await?;
        let now = ctx.core.clock.now();
        if let Err(paused) = ai::check_not_paused(&ctx.core.db, now).await {
            // Search must not learn of the pause later than the user does.
            ctx.retrieval.engine().refresh_pause(&ctx.core.db).await?;
            return Err(paused);
        }
        // Counted before the model is asked, so that simultaneous questions cannot exceed the plan's answers.
        let claim =
            answers::claim(&ctx.core.db, caller.user, ctx.core.plans.limits(caller.plan), now).await?;
        match self.answer(caller, ctx, filter).await {
            Ok((response, tokens)) => {
                // Begun only now: an open transaction would block the user's other writes while the model answers. It also marks
                // the Idempotency-Key, so that a repeated request neither asks nor counts again.
                let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
                let pauses =
                    answers::settle(&txn, claim, tokens, ctx.answers.daily_tokens, ctx.core.clock.now())
                        .await?;
                txn.commit().await?;
                if pauses {
                    warn!("the daily token limit is used up: the AI is paused until midnight UTC");
                    ctx.retrieval.engine().refresh_pause(&ctx.core.db).await?;
                }
                Ok(response)
            }
            Err(error) => {
                // The client gets the error of the answer, not that of the release: a claim left behind expires with its lease.
                if let Err(error) = answers::release(&ctx.core.db, claim).await {
                    warn!(
                        cause = error.chain(),
                        "could not release the claim of an answer; it expires by itself"
                    );
                }
                Err(error)
            }
        }
    }
}

impl Ask {
    /// Returns the filter of the search.
    ///
    /// # Errors
    /// [`Error::NotFound`] with the index of a bookmark that does not exist or belongs to another user.
    async fn filter(&self, caller: &Caller, core: &CoreContext) -> Result<Filter, Error> {
        let Some(ids) = &self.bookmarks else { return Ok(Filter::default()) };
        let own = bookmark::Entity::visible_to(caller.user)
            .filter(bookmark::Column::Id.is_in(ids.iter().copied()))
            .select_only()
            .column(bookmark::Column::Id);
        let own: Vec<BookmarkId> = own.into_tuple().all(core.db.read()).await?;
        if let Some(n) = ids.iter().position(|id| !own.contains(id)) {
            return Err(Error::not_found().of_item(&format!("bookmarkIds[{n}]")));
        }
        // Includes the notes on the bookmarks, which are documents too.
        let documents: Vec<DocumentId> = document::Entity::visible_to(caller.user)
            .filter(document::Column::BookmarkId.is_in(ids.iter().copied()))
            .select_only()
            .column(document::Column::Id)
            .into_tuple()
            .all(core.db.read())
            .await?;
        let documents = documents.into_iter().map(|id| id.0).collect();
        Ok(Filter { documents: DocumentSet::Only(documents), ..Filter::default() })
    }

    /// Returns the answer with the number of tokens that it cost.
    ///
    /// # Errors
    /// [`Error::IndexIncomplete`] when nothing is found, and the index may lack what was asked for.
    async fn answer(
        &self,
        caller: &Caller,
        ctx: &OperationContext,
        filter: Filter,
    ) -> Result<(AskResponse, u64), Error> {
        let query = SearchQuery {
            // Quotation marks and hyphens of a question are text.
            query: ParsedQuery::of_text(&self.question),
            within: filter,
            bookmarks: BookmarkConditions::default(),
            limit: SEARCHED_PASSAGES,
        };
        let ranked = ctx.retrieval.search(caller.user, query.clone()).await?;
        let found = found_passages::load(&ctx.core, caller.user, &query, &ranked).await?;
        let textless = textless_documents::load(&ctx.core, caller.user, &query, &ranked.hits, &found).await?;
        let neighbours = neighbours::load(&found, &ctx.core, caller).await?;
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
        answerer.answer(Question { text: self.question.clone(), passages }).await.map_err(unavailable)
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
    }
}
