//! Searches the library for the web app: the results by document, each passage with its exact position.

mod operators;

use std::collections::HashMap;
use std::ops::Range;

use entity::{chunk, document};
use library::highlights::find_text;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect};
use search::snippet::SnippetMatcher;
use serde::Serialize;
use values::id::{BookmarkId, ChunkId, DocumentId, EntryId, UserId};
use values::kind::{ContentType, DocumentStatus};
use values::scope::Scope;
use values::time::Timestamp;

use super::find_text::find_words;
use super::search::{LibrarySearch, Search, SearchMode, SearchRequest, SearchResponse};
use super::text_positions::{TextPosition, load_passages, number_paragraphs, position_within};
use crate::ai;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::retrieval::passage::SearchResult;
use crate::target::Target;
use errors::Error;
use library::context::CoreContext;
use validation::Choice;

pub use operators::{OperatorFault, QueryWordFault, SearchOperators};

/// Searches the library by words and by meaning, for the web app. The query may have operators ([`SearchOperators`]).
#[derive(Debug)]
pub struct SearchPassages(LibrarySearch);

impl FromRequest for SearchPassages {
    type Request = SearchRequest;

    fn from_request(_: &Target, request: SearchRequest) -> Result<Self, Error> {
        let mode = request.mode.map_or(SearchMode::Auto, Choice::into_inner);
        let operators = SearchOperators::parse(request.query.as_str());
        let operators = operators.map_err(|fault| Error::invalid("q", fault.fault.reason()))?;
        let mut search = LibrarySearch::from(request);
        operators.apply(&mut search, mode);
        Ok(Self(search))
    }
}

/// The documents with passages that match the query.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchPassagesResponse {
    /// The documents, the one with the best passage first.
    pub documents: Vec<FoundDocument>,
    /// Number of all passages.
    pub passage_count: usize,
    /// `lexical` if the results come from keyword matching only, as for `GET /search`; else null.
    #[schemars(extend("enum" = ["lexical", null]))]
    pub degraded: Option<&'static str>,
    /// The end of the pause of the AI, if that is why `degraded` is `lexical`; else null.
    pub paused_until: Option<Timestamp>,
    /// The query whose results these are, as for `GET /search`; else null.
    pub corrected_query: Option<String>,
}

/// A document with the passages that match.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundDocument {
    /// The document that contains the passages.
    pub document_id: DocumentId,
    /// The bookmark whose text or note it is; null for other documents.
    pub bookmark_id: Option<BookmarkId>,
    /// The feed entry whose text it is; null for other documents.
    pub entry_id: Option<EntryId>,
    /// Title of the document; its URL while no title is known.
    pub title: String,
    /// URL of the source, or of the document in the web app if it has no source.
    pub url: String,
    /// Names of the authors; null if the source states none.
    pub author: Option<String>,
    /// Name of the site; null if the page states none.
    pub site_name: Option<String>,
    /// When the document was created.
    pub created_at: Timestamp,
    /// Type of the original.
    pub content_type: ContentType,
    /// Whether its text is being processed, is ready, or could not be fetched or read.
    pub status: DocumentStatus,
    /// The passages, best first, at most three.
    pub passages: Vec<FoundPassage>,
}

/// A passage that matches, with its position.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundPassage {
    /// Id of the passage.
    pub chunk_id: ChunkId,
    /// At most 320 characters of plain text around the best match.
    pub snippet: String,
    /// The words of the snippet that match the query: their ranges in Unicode scalar values.
    pub matches: Vec<Range<usize>>,
    /// Calibrated relevance, from 0 to 1.
    pub score: f64,
    /// Where the text of the snippet is in the document; null for a document without a text.
    pub position: Option<TextPosition>,
}

impl Operation for SearchPassages {
    type Reply = SearchPassagesResponse;
    const SCOPES: &'static [Scope] = Search::SCOPES;
    const NEEDS_RESPONSE_SLOT: bool = Search::NEEDS_RESPONSE_SLOT;

    fn count(reply: &SearchPassagesResponse) -> Option<usize> {
        Some(reply.passage_count)
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<SearchPassagesResponse, Error> {
        let SearchResponse { results, degraded, corrected_query, terms } = self.0.run(caller, ctx).await?;
        let now = ctx.core.clock.now();
        let paused_until = match degraded {
            Some(_) => ai::paused_until(&ctx.core.db).await?.filter(|until| now < *until),
            None => None,
        };
        let rows =
            load_passages(&ctx.core, caller.user, results.iter().map(|result| result.chunk_id)).await?;
        let mut positions: Vec<Option<TextPosition>> =
            results.iter().map(|result| locate(rows.get(&result.chunk_id)?, &result.snippet)).collect();
        let mut located: Vec<(&chunk::Model, &mut TextPosition)> = results
            .iter()
            .zip(&mut positions)
            .filter_map(|(result, position)| Some((rows.get(&result.chunk_id)?, position.as_mut()?)))
            .collect();
        number_paragraphs(&ctx.core, caller.user, &mut located).await?;
        let sources = load_sources(&ctx.core, caller.user, &results).await?;
        let mut matcher = SnippetMatcher::new(&terms);
        let passage_count = results.len();
        let mut documents: Vec<FoundDocument> = Vec::new();
        for (result, position) in results.into_iter().zip(positions) {
            let passage = FoundPassage {
                chunk_id: result.chunk_id,
                matches: matcher.matching_words(&result.snippet),
                score: result.score,
                position,
                snippet: result.snippet.clone(),
            };
            match documents.iter_mut().find(|document| document.document_id == result.document_id) {
                Some(document) => document.passages.push(passage),
                None => documents.push(FoundDocument::of(result, &sources, passage)),
            }
        }
        Ok(SearchPassagesResponse { documents, passage_count, degraded, paused_until, corrected_query })
    }
}

/// Returns where the text of a snippet is in the document. A snippet has single spaces, and `…` where text was left out.
fn locate(passage: &chunk::Model, snippet: &str) -> Option<TextPosition> {
    let words = snippet.trim_matches('…');
    // By the letters alone in a text with control characters, which a snippet leaves out.
    let by_letters = || {
        let found = find_text(&passage.text, words, 0)?;
        Some((usize::try_from(found.start).ok()?, usize::try_from(found.end).ok()?))
    };
    let (start, end) = find_words(&passage.text, words).or_else(by_letters)?;
    let offset = usize::try_from(passage.start_offset).ok()?;
    Some(position_within(passage, offset + start, offset + end))
}

/// What the source of a document says of itself.
struct SourceFacts {
    author: Option<String>,
    site_name: Option<String>,
    created_at: Timestamp,
}

/// A row of the columns of [`SourceFacts`], with the id of the document.
type SourceRow = (DocumentId, Option<String>, Option<String>, Timestamp);

async fn load_sources(
    core: &CoreContext,
    user: UserId,
    results: &[SearchResult],
) -> Result<HashMap<DocumentId, SourceFacts>, Error> {
    use document::Column;
    if results.is_empty() {
        return Ok(HashMap::new());
    }
    let rows: Vec<SourceRow> = document::Entity::visible_to(user)
        .filter(Column::Id.is_in(results.iter().map(|result| result.document_id)))
        .select_only()
        .columns([Column::Id, Column::Author, Column::SiteName, Column::CreatedAt])
        .into_tuple()
        .all(core.db.read())
        .await?;
    let of_row = |(id, author, site_name, created_at)| (id, SourceFacts { author, site_name, created_at });
    Ok(rows.into_iter().map(of_row).collect())
}

impl FoundDocument {
    /// Returns the document of a result, with its first passage.
    fn of(result: SearchResult, sources: &HashMap<DocumentId, SourceFacts>, passage: FoundPassage) -> Self {
        let source = sources.get(&result.document_id);
        let created_at = result.document_id.created_at().unwrap_or(Timestamp::from_millis(0));
        Self {
            document_id: result.document_id,
            bookmark_id: result.bookmark_id,
            entry_id: result.entry_id,
            title: result.title,
            url: result.url,
            author: source.and_then(|source| source.author.clone()),
            site_name: source.and_then(|source| source.site_name.clone()),
            // A document that was deleted since has no row.
            created_at: source.map_or(created_at, |source| source.created_at),
            content_type: result.content_type,
            status: result.status,
            passages: vec![passage],
        }
    }
}
