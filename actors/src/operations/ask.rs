//! Answers questions from the library (spec.md: POST /ask): finds the best passages, lets a model answer, and verifies the
//! citations.

use entity::{bookmark, chunk, document};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, Condition, QueryFilter, QuerySelect};
use search::citation::{self, CitedAnswer};
use search::index::Filter;
use serde::Serialize;
use text::char_count;
use tracing::warn;
use values::id::{BookmarkId, ChunkId, DocumentId, EntryId};
use values::kind::ContentType;
use values::scope::Scope;

use crate::ai::{self, answers};
use crate::answerer::{self, Draft, Question};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::retrieval::passage::{self, Passage};
use crate::retrieval::{SearchHit, SearchQuery};
use crate::target::Target;
use errors::{Error, code};
use library::context::CoreContext;
use library::owned_transaction::begin_request;
use validation::{Id, List, Words, request};

/// The field `question`: 1 to 2,000 characters.
pub type QuestionText = Words<1, 2_000>;
/// The bookmarks to which an answer is limited (spec.md: Limits, rule 6). An empty list is invalid.
pub type AnswerSources = List<Id<BookmarkId>, 1, 50>;
/// Maximum number of passages that the model is given.
const MAX_PASSAGES: usize = 8;
/// Passages that are searched for beyond the maximum, to replace deleted ones and duplicates.
const EXTRA_PASSAGES: usize = 16;
/// Number of the best passages that are given with their neighbours if they are short.
const EXPANDED_PASSAGES: usize = 3;
/// A passage with fewer characters is short.
const SHORT_PASSAGE_CHARS: usize = 500;
/// The answer when no passage is found.
const NO_ANSWER: &str = "There is nothing about this in your library.";

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
    /// The answer as plain text with markers: `[n]` refers to `citations[n - 1]`.
    answer: String,
    /// The passages that the markers refer to.
    citations: Vec<Citation>,
    /// Number of passages that the model was given; 0 if nothing relevant was found.
    passages_read: usize,
    /// Name of the model that answered.
    model: String,
}

/// A passage that the answer cites (spec.md: Citation).
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Citation {
    /// Number in the marker `[n]`, from 1.
    n: usize,
    /// The document that contains the passage.
    document_id: DocumentId,
    /// The cited passage; `GET /documents/:id/chunks` lists it with its text.
    chunk_id: ChunkId,
    /// The bookmark whose text or note contains the passage; null for other documents.
    bookmark_id: Option<BookmarkId>,
    /// The feed entry whose text contains the passage; null for other documents.
    entry_id: Option<EntryId>,
    /// Title of the document that contains the passage.
    title: String,
    /// URL of the page or file; for uploads and notes their page in the web app.
    url: String,
    /// Type of the source from which the text was extracted.
    content_type: ContentType,
    /// The quoted text: what the document's text contains from `quoteStart` to `quoteEnd`.
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
        let documents = Some(documents.into_iter().map(|id| id.0).collect());
        Ok(Filter { documents, ..Filter::default() })
    }

    /// Returns the answer with the number of tokens that it cost.
    async fn answer(
        &self,
        caller: &Caller,
        ctx: &OperationContext,
        filter: Filter,
    ) -> Result<(AskResponse, u64), Error> {
        let limit = MAX_PASSAGES + EXTRA_PASSAGES;
        let query = SearchQuery { query: self.question.clone(), within: filter, limit };
        let ranked = ctx.retrieval.search(caller.user, query.clone()).await?;
        let found = passage::readable(&ctx.core, caller.user, &query, &ranked.hits).await?;
        let mut passages = distinct_passages(found);
        if passages.is_empty() {
            // It counts as an answer all the same (contract.md, section 5), but uses no tokens.
            return Ok((no_answer(ctx.answers.answerer.model().to_owned(), 0), 0));
        }
        let neighbours = find_neighbours(&passages, &ctx.core, caller).await?;
        passages.extend(neighbours);
        let passages_of_question = passages.iter().map(answerer_passage).collect();
        let question = Question { text: self.question.clone(), passages: passages_of_question };
        let Draft { text, model, tokens } =
            ctx.answers.answerer.answer(question).await.map_err(unavailable)?;
        let Some(text) = text else { return Ok((no_answer(model, passages.len()), tokens)) };
        let texts: Vec<&str> = passages.iter().map(|passage| passage.text.as_str()).collect();
        let cited = citation::cite(&text::clean(&text), &texts);
        if cited.is_empty() {
            // An error, so that the answer is not counted.
            warn!("the answer of the model contains only citation markers");
            return Err(Error::AiUnavailable);
        }
        let CitedAnswer { text, citations } = cited;
        let citations = citations.into_iter().zip(1..);
        let citations = citations
            .filter_map(|(cited, n)| Some(citation(&ctx.core, n, passages.get(cited.passage)?, cited)));
        let citations = citations.collect();
        Ok((AskResponse { answer: text, citations, passages_read: passages.len(), model }, tokens))
    }
}

/// Returns the first passages, without duplicates (a page may be saved twice) and without passages of former texts (citations have
/// offsets in the current text).
fn distinct_passages(passages: Vec<Passage>) -> Vec<Passage> {
    let mut distinct: Vec<Passage> = Vec::with_capacity(MAX_PASSAGES);
    for passage in passages {
        let is_current = passage.version == passage.document_version;
        let text = passage.text.trim();
        // The same text is often saved twice, such as an article and its copy in a feed, and would take two places.
        let is_new = is_current && !distinct.iter().any(|other| other.text.trim() == text);
        if distinct.len() < MAX_PASSAGES && is_new && !text.is_empty() {
            distinct.push(passage);
        }
    }
    distinct
}

/// Returns the passages before and after the best ones if these are short, as far as there is room. A heading, a caption or a
/// page of a PDF often means little without its neighbours.
async fn find_neighbours(
    passages: &[Passage],
    core: &CoreContext,
    caller: &Caller,
) -> Result<Vec<Passage>, Error> {
    let short: Vec<&Passage> =
        passages.iter().take(EXPANDED_PASSAGES).filter(|passage| is_short(passage)).collect();
    if short.is_empty() || passages.len() >= MAX_PASSAGES {
        return Ok(Vec::new());
    }
    let mut neighbours = Condition::any();
    for passage in &short {
        let ordinals = [passage.ordinal.saturating_sub(1), passage.ordinal.saturating_add(1)];
        let of_passage = Condition::all()
            .add(chunk::Column::DocumentId.eq(passage.document))
            .add(chunk::Column::Version.eq(passage.version))
            .add(chunk::Column::Ordinal.is_in(ordinals));
        neighbours = neighbours.add(of_passage);
    }
    let rows = chunk::Entity::owned_by(caller.user).filter(neighbours).all(core.db.read()).await?;
    let is_new = |row: &chunk::Model| passages.iter().all(|passage| passage.chunk != row.id);
    let mut found = Vec::new();
    for row in rows.into_iter().filter(|row| is_new(row) && !row.text.trim().is_empty()) {
        let best = short.iter().find(|passage| passage.document == row.document_id);
        if let Some(best) = best {
            found.push(neighbour(best, row));
        }
    }
    found.sort_by(|a, b| {
        let (one, other) = (a.ordinal, b.ordinal);
        b.found.score.total_cmp(&a.found.score).then(one.cmp(&other))
    });
    found.truncate(MAX_PASSAGES - passages.len());
    Ok(found)
}

/// Returns a passage before or after another one of its document.
fn neighbour(passage: &Passage, row: chunk::Model) -> Passage {
    Passage {
        chunk: row.id,
        version: row.version,
        ordinal: row.ordinal,
        start_offset: row.start_offset,
        page: row.page,
        start_seconds: row.start_seconds,
        end_seconds: row.end_seconds,
        text: row.text,
        // It has the score of the hit, to be listed after it, but was not compared with the question.
        found: SearchHit { chunk: row.id, cosine: None, ..passage.found },
        ..passage.clone()
    }
}

fn is_short(passage: &Passage) -> bool {
    char_count(&passage.text) < SHORT_PASSAGE_CHARS
}

fn answerer_passage(passage: &Passage) -> answerer::SourcePassage {
    answerer::SourcePassage {
        title: passage.title.clone(),
        text: passage.text.clone(),
        cosine: passage.found.cosine,
    }
}

/// Logs a failure and returns the error for the client. Neither contains the question.
fn unavailable(failure: answerer::AnswerError) -> Error {
    let error = Error::internal(failure);
    warn!(cause = error.chain(), "the model did not answer");
    Error::AiUnavailable
}

fn no_answer(model: String, passages_read: usize) -> AskResponse {
    AskResponse { answer: NO_ANSWER.to_owned(), citations: Vec::new(), passages_read, model }
}

fn citation(core: &CoreContext, n: usize, passage: &Passage, cited: citation::Citation) -> Citation {
    let start = usize::try_from(passage.start_offset).unwrap_or(0);
    Citation {
        n,
        document_id: passage.document,
        chunk_id: passage.chunk,
        bookmark_id: passage.bookmark,
        entry_id: passage.entry,
        title: passage.title.clone(),
        url: core.source_url(passage.source_url.clone(), passage.document),
        content_type: passage.content_type,
        quote: cited.quote,
        quote_start: start + cited.range.start,
        quote_end: start + cited.range.end,
        page: passage.page,
        start_seconds: passage.start_seconds,
        end_seconds: passage.end_seconds,
        score: passage::rounded_score(passage.found.score),
        verified: cited.verified,
    }
}
