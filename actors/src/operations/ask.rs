//! Asks the library (spec.md: POST /ask): the best passages, an answerer, and citations that are checked.

use entity::id::{BookmarkId, ChunkId, DocumentId, EntryId};
use entity::kind::ContentType;
use entity::scope::Scope;
use entity::{bookmark, chunk, document};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, Condition, PaginatorTrait, QueryFilter, QuerySelect};
use search::citation::{self, CitedAnswer};
use search::index::Filter;
use serde::Serialize;
use text::char_count;
use tracing::warn;

use super::target::Target;
use crate::ai::{self, answers};
use crate::answerer::{self, Draft, Question};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use library::owned_transaction::begin_request;
use crate::pipeline::Operation;
use crate::retrieval::passage::{self, Passage};
use crate::retrieval::{SearchHit, SearchQuery};

/// What a question may be.
pub const QUESTION: Kind = Kind::Words { min: 1, max: 2_000 };
/// The bookmarks that an answer may be limited to.
pub const BOOKMARKS: Kind = Kind::List { of: &Kind::Id, min: 1, max: 50 };
/// Passages that an answerer is given.
const PASSAGES: usize = 8;
/// So many more are looked for: what is gone, or says the same as another, gives its place away.
const SPARE: usize = 16;
/// So many of the best are given with what stands beside them, where they are shorter than this, in scalar values.
const EXPANDED: usize = 3;
const SHORT: usize = 500;
/// What is said where nothing is found; not a text of anybody's.
const NOTHING: &str = "There is nothing about this in your library.";

/// A question.
#[derive(Debug)]
pub struct Ask {
    /// In the reader's words.
    pub question: String,
    /// Only these saves.
    pub bookmarks: Option<Vec<BookmarkId>>,
}

impl Ask {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[
        Field::required("question", QUESTION, "The question to answer from the library."),
        Field::optional("bookmarkIds", BOOKMARKS, "Answers only from these bookmarks."),
    ];

    /// Reads the body.
    pub fn read(_: &Target, mut values: Values) -> Result<Self, Error> {
        let bookmarks = values.ids("bookmarkIds").map(|ids| ids.into_iter().map(BookmarkId).collect());
        Ok(Self { question: values.text("question").unwrap_or_default(), bookmarks })
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
    /// Number of passages that the model was given.
    passages_read: usize,
    /// Name of the model.
    model: String,
}

/// A passage that the answer cites (spec.md: Citation).
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Citation {
    /// Number in the marker `[n]`, from 1.
    n: usize,
    /// The document.
    document_id: DocumentId,
    /// The cited passage.
    chunk_id: ChunkId,
    /// The bookmark whose text or note contains the passage; null for other documents.
    bookmark_id: Option<BookmarkId>,
    /// The feed entry whose text contains the passage; null for other documents.
    entry_id: Option<EntryId>,
    /// The document's title.
    title: String,
    /// URL of the source.
    url: String,
    /// Type of the original.
    content_type: ContentType,
    /// The quoted text: what the document's text contains from `quoteStart` to `quoteEnd`.
    quote: String,
    /// Offset of the first character of the quote, in Unicode scalar values. It lies within the cited passage.
    quote_start: usize,
    /// Offset after the last character of the quote.
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
    /// Its scope does not write to the library, but each answer is claimed and counted in rows.
    const NEEDS_SPACE: bool = true;
    const TAKES_TURN: bool = false;

    fn count(reply: &AskResponse) -> Option<usize> {
        Some(reply.citations.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<AskResponse, Error> {
        let within = self.within(caller, ctx).await?;
        let now = ctx.core.clock.now();
        if let Err(paused) = ai::check_not_paused(&ctx.core.db, now).await {
            // Search is not to know it later than its user does.
            ctx.retrieval.refresh_pause(&ctx.core.db).await?;
            return Err(paused);
        }
        let claim = answers::claim(&ctx.core.db, caller.user, ctx.core.plans.limits(caller.plan), now).await?;
        match self.answer(caller, ctx, within).await {
            Ok((answered, tokens)) => {
                let txn = begin_request(&ctx.core.db, caller).await?;
                let pauses = answers::settle(&txn, claim, tokens, ctx.daily_tokens, ctx.core.clock.now()).await?;
                txn.commit().await?;
                if pauses {
                    warn!("the daily allowance of tokens is spent: the AI pauses until midnight UTC");
                    ctx.retrieval.refresh_pause(&ctx.core.db).await?;
                }
                Ok(answered)
            }
            Err(error) => {
                if let Err(error) = answers::release(&ctx.core.db, claim).await {
                    warn!(
                        cause = error.chain(),
                        "could not give an answer back; it comes back when its lease ends"
                    );
                }
                Err(error)
            }
        }
    }
}

impl Ask {
    /// Where to look; a bookmark that is not the caller's is not found.
    async fn within(&self, caller: &Caller, ctx: &OperationContext) -> Result<Filter, Error> {
        let Some(ids) = &self.bookmarks else { return Ok(Filter::default()) };
        let mut ids = ids.clone();
        ids.sort_unstable();
        ids.dedup();
        let own = bookmark::Entity::owned_by(caller.user).filter(bookmark::Column::Id.is_in(ids.clone()));
        if usize::try_from(own.count(ctx.core.db.read()).await?).ok() != Some(ids.len()) {
            return Err(Error::not_found());
        }
        // The notes on a bookmark are documents of their own, and part of what was saved.
        let documents: Vec<DocumentId> = document::Entity::readable_by(caller.user)
            .filter(document::Column::BookmarkId.is_in(ids))
            .select_only()
            .column(document::Column::Id)
            .into_tuple()
            .all(ctx.core.db.read())
            .await?;
        let documents = Some(documents.into_iter().map(|id| id.0).collect());
        Ok(Filter { documents, ..Filter::default() })
    }

    /// The answer, and the tokens that it cost.
    async fn answer(&self, caller: &Caller, ctx: &OperationContext, within: Filter) -> Result<(AskResponse, u64), Error> {
        let wanted = SearchQuery { query: self.question.clone(), within, limit: PASSAGES + SPARE };
        let ranked = ctx.retrieval.search(caller.user, wanted.clone()).await?;
        let mut passages = distinct(passage::readable(&ctx.core, caller.user, &wanted, &ranked.found).await?);
        if passages.is_empty() {
            return Ok((nothing(ctx.answerer.model().to_owned(), 0), 0));
        }
        let beside = beside(&passages, ctx, caller).await?;
        passages.extend(beside);
        let question =
            Question { text: self.question.clone(), passages: passages.iter().map(given).collect() };
        let Draft { text, model, tokens } = ctx.answerer.answer(question).await.map_err(unavailable)?;
        let Some(text) = text else { return Ok((nothing(model, passages.len()), tokens)) };
        let texts: Vec<&str> = passages.iter().map(|passage| passage.chunk.text.as_str()).collect();
        let cited = citation::cite(&text::clean(&text), &texts);
        if cited.is_empty() {
            warn!("the model's answer holds nothing but markers");
            return Err(Error::AiUnavailable);
        }
        let CitedAnswer { text, citations } = cited;
        let citations = citations.into_iter().zip(1..);
        let citations =
            citations.filter_map(|(cited, n)| Some(citation(ctx, n, passages.get(cited.passage)?, cited)));
        let citations = citations.collect();
        Ok((AskResponse { answer: text, citations, passages_read: passages.len(), model }, tokens))
    }
}

/// The first passages. Left out are those whose text another one has, because a page that was saved twice is read once,
/// and those of a text that the document has no more, because citations point into the text that there is.
fn distinct(passages: Vec<Passage>) -> Vec<Passage> {
    let mut kept: Vec<Passage> = Vec::with_capacity(PASSAGES);
    for passage in passages {
        let is_current = passage.chunk.version == passage.document.version;
        let is_new =
            is_current && !kept.iter().any(|kept| kept.chunk.text.trim() == passage.chunk.text.trim());
        if kept.len() < PASSAGES && is_new && !passage.chunk.text.trim().is_empty() {
            kept.push(passage);
        }
    }
    kept
}

/// What stands before and behind the best passages where these are short, as far as there is room: a heading, a caption or
/// the page of a PDF says little alone.
async fn beside(passages: &[Passage], ctx: &OperationContext, caller: &Caller) -> Result<Vec<Passage>, Error> {
    let short: Vec<&Passage> = passages.iter().take(EXPANDED).filter(|passage| is_short(passage)).collect();
    if short.is_empty() || passages.len() >= PASSAGES {
        return Ok(Vec::new());
    }
    let mut near = Condition::any();
    for Passage { chunk, .. } in &short {
        let beside = [chunk.ordinal.saturating_sub(1), chunk.ordinal.saturating_add(1)];
        let of_one = Condition::all()
            .add(chunk::Column::DocumentId.eq(chunk.document_id))
            .add(chunk::Column::Version.eq(chunk.version))
            .add(chunk::Column::Ordinal.is_in(beside));
        near = near.add(of_one);
    }
    let rows = chunk::Entity::owned_by(caller.user).filter(near).all(ctx.core.db.read()).await?;
    let is_new = |row: &chunk::Model| passages.iter().all(|passage| passage.chunk.id != row.id);
    let mut found = Vec::new();
    for row in rows.into_iter().filter(|row| is_new(row) && !row.text.trim().is_empty()) {
        let of = short.iter().find(|passage| passage.document.id == row.document_id);
        let Some(Passage { document, found: hit, .. }) = of else { continue };
        let hit = SearchHit { chunk: row.id, cosine: None, ..*hit };
        found.push(Passage { document: document.clone(), chunk: row, found: hit });
    }
    found.sort_by(|a, b| {
        let (one, other) = (a.chunk.ordinal, b.chunk.ordinal);
        b.found.score.total_cmp(&a.found.score).then(one.cmp(&other))
    });
    found.truncate(PASSAGES - passages.len());
    Ok(found)
}

fn is_short(passage: &Passage) -> bool {
    char_count(&passage.chunk.text) < SHORT
}

fn given(passage: &Passage) -> answerer::SourcePassage {
    answerer::SourcePassage {
        title: passage.document.title.clone(),
        text: passage.chunk.text.clone(),
        cosine: passage.found.cosine,
    }
}

/// What the caller learns of a failure; the log learns why, and neither what was asked.
fn unavailable(failure: answerer::AnswerError) -> Error {
    let error = Error::internal(failure);
    warn!(cause = error.chain(), "no answer came from the model");
    Error::AiUnavailable
}

fn nothing(model: String, passages_read: usize) -> AskResponse {
    AskResponse { answer: NOTHING.to_owned(), citations: Vec::new(), passages_read, model }
}

fn citation(ctx: &OperationContext, n: usize, passage: &Passage, cited: citation::Citation) -> Citation {
    let Passage { document, chunk, found } = passage;
    let start = usize::try_from(chunk.start_offset).unwrap_or(0);
    Citation {
        n,
        document_id: document.id,
        chunk_id: chunk.id,
        bookmark_id: document.bookmark_id,
        entry_id: document.entry_id,
        title: document.title.clone(),
        url: ctx.core.url_of(document),
        content_type: document.content_type,
        quote: cited.quote,
        quote_start: start + cited.range.start,
        quote_end: start + cited.range.end,
        page: chunk.page,
        start_seconds: chunk.start_seconds,
        end_seconds: chunk.end_seconds,
        score: passage::rounded_score(found.score),
        verified: cited.verified,
    }
}
