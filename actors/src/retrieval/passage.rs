//! Loads the passages of search hits. The index is slightly behind the rows, so the rows decide: a passage that was removed,
//! hidden, or moved out of the searched part of the library is left out. The text and the title complete the score of a passage, and a
//! document whose title is the query comes first.

use database::padded;
use std::collections::HashMap;

use concurrency::Lane;
use entity::{chunk, document};
use errors::Error;
use library::BATCH_ROWS;
use library::bookmarks::BookmarkConditions;
use library::context::CoreContext;
use schemars::JsonSchema;
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, DbBackend, EntityTrait, FromQueryResult, JoinType, QueryFilter,
    QuerySelect, RelationDef, Select,
};
use search::calibration::{ScoreMeasures, lower_to_falling};
use search::index::{Filter, Source};
use search::snippet::{PassageExtract, SnippetMatcher, SnippetTerms};
use search::title_match::TitleMatch;
use serde::Serialize;
use values::id::{BookmarkId, ChunkId, DocumentId, EntryId, UserId};
use values::kind::{ContentType, DocumentStatus};

use super::document_filter::bookmark_condition;
use super::exact_title;
use super::metadata_hits::{self, DescribedDocument};
use super::ranked_hits::{RankedHits, SearchHit};
use super::search_query::SearchQuery;

/// A passage that matches the query (spec.md: Search result).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchResult {
    /// The document that contains the passage.
    pub document_id: DocumentId,
    /// Id of the passage that matches.
    pub chunk_id: ChunkId,
    /// The bookmark whose text or note contains the passage; null for other documents.
    pub bookmark_id: Option<BookmarkId>,
    /// The feed entry whose text contains the passage; null for other documents.
    pub entry_id: Option<EntryId>,
    /// Title of the document; its URL while no title is known.
    pub title: String,
    /// URL of the source, or of the document in the web app if it has no source.
    pub url: String,
    /// Type of the original: an article, a PDF, audio, video or a note.
    pub content_type: ContentType,
    /// Whether the document is being processed, is ready, or could not be fetched or read: `processing`, `ready` or `failed`.
    pub status: DocumentStatus,
    /// At most 320 characters of plain text around the best match.
    pub snippet: String,
    /// Calibrated relevance from 0 to 1: how likely the passage is about what the query asks for. Scores of different queries are
    /// comparable, and 0.5 separates results from noise. Results are sorted by it in descending order.
    pub score: f64,
    /// Page of a PDF, from 1; null for other documents.
    pub page_number: Option<i32>,
    /// Start of the passage in a recording, in seconds; null for other documents.
    pub start_seconds: Option<f64>,
    /// End of the passage in a recording, in seconds; null for other documents.
    pub end_seconds: Option<f64>,
    /// What the score is computed from. Clients are not sent it: `carrel eval` writes it down.
    #[serde(skip)]
    pub measures: ScoreMeasures,
}

/// A passage with what is shown of its document, which its owner can read.
#[derive(Clone, Debug)]
pub struct Passage {
    /// The passage, which is also the id of its point in the index.
    pub chunk: ChunkId,
    /// The document that contains it.
    pub document: DocumentId,
    /// The version of the text of the document to which it belongs. It is the former one until the new text is indexed.
    pub version: i32,
    /// The version of the current text of the document.
    pub document_version: i32,
    /// Its position in that version, from 0.
    pub ordinal: i32,
    /// Start offset in the text, in Unicode scalar values.
    pub start_offset: i32,
    /// Page of a PDF file, from 1.
    pub page: Option<i32>,
    /// Start time in a recording.
    pub start_seconds: Option<f64>,
    /// End time in a recording.
    pub end_seconds: Option<f64>,
    /// Its text.
    pub text: String,
    /// The bookmark whose text or note contains it.
    pub bookmark: Option<BookmarkId>,
    /// The feed entry whose text contains it.
    pub entry: Option<EntryId>,
    /// Type of the original of the document.
    pub content_type: ContentType,
    /// Whether the document is being processed, is ready, or could not be extracted.
    pub status: DocumentStatus,
    /// URL of the source of the document, if it has one.
    pub source_url: Option<String>,
    /// Title of the document.
    pub title: String,
    /// The hit of the search, with its score.
    pub found: SearchHit,
}

impl Passage {
    /// Compares the title of its document with a query.
    fn compare_title(&self, query: &str) -> TitleMatch {
        TitleMatch::of(&self.title, query)
    }

    /// Returns whether it is a passage of a text. The others are of documents without a text, which were found by their metadata: their
    /// text is the excerpt, a highlight or the title, and no document contains it at an offset.
    pub fn is_of_text(&self) -> bool {
        self.chunk.0 != self.document.0
    }

    /// Returns the passage that stands for a document that was found by its metadata alone.
    fn of_metadata(row: DescribedDocument, found: SearchHit) -> Self {
        let chunk = row.chunk_id.unwrap_or(found.chunk);
        Self {
            chunk,
            document: row.id,
            version: row.document_version,
            document_version: row.document_version,
            ordinal: 0,
            start_offset: 0,
            page: row.page,
            start_seconds: row.start_seconds,
            end_seconds: row.end_seconds,
            text: row.text.unwrap_or_default(),
            bookmark: row.bookmark_id,
            entry: row.entry_id,
            content_type: row.content_type,
            status: row.status,
            source_url: row.url,
            title: row.title,
            found: SearchHit { chunk, ..found },
        }
    }
}

/// Moves the passages of documents whose title is the query before all others. The order is kept otherwise.
pub fn move_exact_titles_first(passages: &mut [Passage], query: &str) {
    passages.sort_by_cached_key(|passage| passage.compare_title(query) != TitleMatch::Exact);
}

/// The columns of a passage and of its document. Those of the document are `None` if it cannot be read.
#[derive(Debug, FromQueryResult)]
struct PassageColumns {
    id: ChunkId,
    document_id: DocumentId,
    version: i32,
    ordinal: i32,
    start_offset: i32,
    page: Option<i32>,
    start_seconds: Option<f64>,
    end_seconds: Option<f64>,
    text: String,
    document_version: Option<i32>,
    bookmark_id: Option<BookmarkId>,
    entry_id: Option<EntryId>,
    content_type: Option<ContentType>,
    status: Option<DocumentStatus>,
    url: Option<String>,
    title: Option<String>,
}

impl PassageColumns {
    /// Returns the passage; `None` if its document cannot be read.
    fn into_passage(self, found: SearchHit) -> Option<Passage> {
        Some(Passage {
            chunk: self.id,
            document: self.document_id,
            version: self.version,
            document_version: self.document_version?,
            ordinal: self.ordinal,
            start_offset: self.start_offset,
            page: self.page,
            start_seconds: self.start_seconds,
            end_seconds: self.end_seconds,
            text: self.text,
            bookmark: self.bookmark_id,
            entry: self.entry_id,
            content_type: self.content_type?,
            status: self.status?,
            source_url: self.url,
            title: self.title?,
            found,
        })
    }
}

/// Returns the hits as results with snippets, at most `limit`: those first whose title is the query, otherwise in their order.
///
/// # Errors
/// [`Error::Internal`] when the database or the worker thread fails.
pub async fn load(
    core: &CoreContext,
    user: UserId,
    search: &SearchQuery,
    ranked: &RankedHits,
    limit: usize,
) -> Result<Vec<SearchResult>, Error> {
    let passages = first_readable(core, user, search, ranked, limit).await?;
    if passages.is_empty() {
        return Ok(Vec::new());
    }
    let (shared, query, terms) = (core.clone(), ranked.searched_text.clone(), ranked.terms.clone());
    // On a worker thread, because a snippet reads the whole passage.
    let make = move || {
        let scored = score_passages(passages, &query, &terms, limit);
        scored.into_iter().map(|passage| result(&shared, passage)).collect()
    };
    core.workers.run(Lane::Foreground, make).await.map_err(Error::from)
}

/// Returns the first `limit` of the hits that can be read, in their order, and after them possibly more, among them those whose title is
/// the query.
async fn first_readable(
    core: &CoreContext,
    user: UserId,
    search: &SearchQuery,
    ranked: &RankedHits,
    limit: usize,
) -> Result<Vec<Passage>, Error> {
    let RankedHits { hits, searched_text, .. } = ranked;
    let (first, rest) = hits.split_at(limit.min(hits.len()));
    let mut passages = readable(core, user, search, first).await?;
    let has_title = passages.iter().any(|passage| passage.compare_title(searched_text) == TitleMatch::Exact);
    // The others are read only if some of the first ones are gone, or if one of them may belong before all.
    if passages.len() < limit && !rest.is_empty() {
        passages.extend(readable(core, user, search, rest).await?);
    } else if !has_title && !rest.is_empty() {
        let titled = exact_title::find(&core.db, user, searched_text, rest).await?;
        if !titled.is_empty() {
            passages.extend(readable(core, user, search, &titled).await?);
        }
    }
    Ok(passages)
}

/// Returns the hits with their passages and documents, in their order, without those that cannot be read any more. For a document that was
/// found by its metadata alone, that is the first passage of its text or, without one, its metadata ([`Passage::is_of_text`]).
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn readable(
    core: &CoreContext,
    user: UserId,
    search: &SearchQuery,
    hits: &[SearchHit],
) -> Result<Vec<Passage>, Error> {
    let backend = core.db.read().get_database_backend();
    let (by_metadata, by_text): (Vec<SearchHit>, Vec<SearchHit>) =
        hits.iter().copied().partition(SearchHit::is_metadata);
    let documents: Vec<DocumentId> = by_metadata.iter().map(|hit| hit.document).collect();
    let condition = is_readable(user, &search.within, &search.bookmarks, backend);
    let mut described = metadata_hits::read(&core.db, user, &documents, condition).await?;
    let ids: Vec<ChunkId> = by_text.iter().map(|hit| hit.chunk).collect();
    let mut rows: HashMap<ChunkId, PassageColumns> = HashMap::with_capacity(ids.len());
    for ids in ids.chunks(BATCH_ROWS) {
        let found = select_passages(user, search, backend, ids).into_model::<PassageColumns>();
        rows.extend(found.all(core.db.read()).await?.into_iter().map(|row| (row.id, row)));
    }
    let passages = hits.iter().filter_map(|hit| {
        if hit.is_metadata() {
            return Some(Passage::of_metadata(described.remove(&hit.document)?, *hit));
        }
        rows.remove(&hit.chunk)?.into_passage(*hit)
    });
    Ok(passages.collect())
}

/// Selects the passages with these ids, with the columns of their documents.
fn select_passages(
    user: UserId,
    search: &SearchQuery,
    backend: DbBackend,
    ids: &[ChunkId],
) -> Select<chunk::Entity> {
    chunk::Entity::owned_by(user)
        .filter(chunk::Column::Id.is_in(padded(ids)))
        // A left join: an inner one would let SQLite begin with the documents, and read all of the user's.
        .join(JoinType::LeftJoin, readable_document(user, search, backend))
        .select_only()
        .columns([
            chunk::Column::Id,
            chunk::Column::DocumentId,
            chunk::Column::Version,
            chunk::Column::Ordinal,
            chunk::Column::StartOffset,
            chunk::Column::Page,
            chunk::Column::StartSeconds,
            chunk::Column::EndSeconds,
            chunk::Column::Text,
        ])
        .column_as(document::Column::Version, "document_version")
        .columns([
            document::Column::BookmarkId,
            document::Column::EntryId,
            document::Column::ContentType,
            document::Column::Status,
            document::Column::Url,
            document::Column::Title,
        ])
}

/// Returns the join of a passage with its document, if the user may read it and it is in the searched part of the library: the labels in
/// the index are updated later.
pub(super) fn readable_document(user: UserId, search: &SearchQuery, backend: DbBackend) -> RelationDef {
    let Filter { source, feed, content_type, .. } = search.within;
    // Without the sets of documents, which may be large.
    let (labels, bookmarks) =
        (Filter { source, feed, content_type, ..Filter::default() }, search.bookmarks.clone());
    chunk::Entity::belongs_to(document::Entity)
        .from(chunk::Column::DocumentId)
        .to(document::Column::Id)
        .on_condition(move |_, _| is_readable(user, &labels, &bookmarks, backend))
        .into()
}

/// Returns the condition that the user may read a document, and that it is in the searched part of the library.
fn is_readable(
    user: UserId,
    labels: &Filter,
    bookmarks: &BookmarkConditions,
    backend: DbBackend,
) -> Condition {
    let (source, feed, kind) = (labels.source, labels.feed, labels.content_type);
    Condition::all()
        .add(document::Column::UserId.eq(user))
        .add(document::Column::HiddenAt.is_null())
        .add_option(feed.map(|feed| document::Column::FeedId.eq(feed)))
        .add_option(kind.map(|kind| document::Column::ContentType.eq(kind)))
        .add_option(source.map(is_in_source))
        .add_option(bookmark_condition(bookmarks, user, backend))
}

/// Returns the condition that a document is of this source: bookmarks or feeds.
fn is_in_source(source: Source) -> Condition {
    use document::Column as C;
    match source {
        Source::Bookmarks => Condition::any().add(C::BookmarkId.is_not_null()).add(C::EntryId.is_null()),
        Source::Feeds => Condition::all().add(C::BookmarkId.is_null()).add(C::EntryId.is_not_null()),
    }
}

/// A passage with what is shown of it.
struct ScoredPassage {
    passage: Passage,
    snippet: String,
    measures: ScoreMeasures,
    /// Calibrated score from 0 to 1, which counts its text and its title.
    score: f32,
}

/// Returns the best of these passages with their scores, at most `limit`: those first whose title is the query, otherwise in their order,
/// which is that of the fused ranking.
fn score_passages(
    passages: Vec<Passage>,
    query: &str,
    terms: &SnippetTerms,
    limit: usize,
) -> Vec<ScoredPassage> {
    let mut titled: Vec<(TitleMatch, Passage)> =
        passages.into_iter().map(|passage| (passage.compare_title(query), passage)).collect();
    // A stable sort. Only an exact title changes the order: how much of a title the query has is in the words of the passage already.
    titled.sort_by_key(|(title, _)| *title != TitleMatch::Exact);
    titled.truncate(limit);
    let mut matcher = SnippetMatcher::new(terms);
    let scored = titled.into_iter().map(|(title, passage)| {
        let PassageExtract { snippet, coverage } = matcher.extract(&passage.title, &passage.text);
        // What the metadata contains counts too, such as a tag.
        let coverage = coverage.max(passage.found.metadata_share);
        let measures = ScoreMeasures { relevance: passage.found.relevance, coverage, title };
        ScoredPassage { passage, snippet, measures, score: measures.score() }
    });
    let mut scored: Vec<ScoredPassage> = scored.collect();
    lower_to_falling(scored.iter_mut().map(|passage| &mut passage.score));
    scored
}

fn result(core: &CoreContext, scored: ScoredPassage) -> SearchResult {
    let ScoredPassage { passage, snippet, measures, score } = scored;
    SearchResult {
        document_id: passage.document,
        chunk_id: passage.chunk,
        bookmark_id: passage.bookmark,
        entry_id: passage.entry,
        url: core.source_url(passage.source_url, passage.document),
        title: passage.title,
        content_type: passage.content_type,
        status: passage.status,
        snippet,
        score: rounded_score(score),
        page_number: passage.page,
        start_seconds: passage.start_seconds,
        end_seconds: passage.end_seconds,
        measures,
    }
}

/// Rounds a score for clients to six decimals: more are not significant, and all surfaces show the same number.
pub fn rounded_score(score: f32) -> f64 {
    (f64::from(score) * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests;
