//! Loads the passages of search hits. The index is slightly behind the rows, so the rows decide: a passage that was removed,
//! hidden, or moved out of the searched part of the library is left out.

use std::collections::HashMap;

use entity::{chunk, collection_bookmark, document};
use errors::Error;
use library::context::CoreContext;
use schemars::JsonSchema;
use sea_orm::sea_query::SelectStatement;
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect, QueryTrait};
use search::snippet;
use serde::Serialize;
use uuid::Uuid;
use values::id::{BookmarkId, ChunkId, DocumentId, EntryId, UserId};
use values::kind::ContentType;

use super::ranked_hits::SearchHit;
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
    /// At most 320 characters of plain text around the best match.
    pub snippet: String,
    /// Relevance from 0 to 1. Results are sorted by it in descending order.
    pub score: f64,
    /// Page of a PDF, from 1; null for other documents.
    pub page_number: Option<i32>,
    /// Start of the passage in a recording, in seconds; null for other documents.
    pub start_seconds: Option<f64>,
    /// End of the passage in a recording, in seconds; null for other documents.
    pub end_seconds: Option<f64>,
}

/// A passage with its document.
#[derive(Clone, Debug)]
pub struct Passage {
    /// The document that contains the passage, which its owner can read.
    pub document: document::Model,
    /// The passage. It belongs to the former version until the new text of the document is indexed.
    pub chunk: chunk::Model,
    /// The hit of the search, with its score.
    pub found: SearchHit,
}

/// Returns the hits as results with snippets, in their order, at most `limit`.
pub async fn load(
    core: &CoreContext,
    user: UserId,
    search: &SearchQuery,
    hits: &[SearchHit],
    limit: usize,
) -> Result<Vec<SearchResult>, Error> {
    // Only results that are shown get a snippet, because that reads the whole passage.
    let passages = readable(core, user, search, hits).await?.into_iter().take(limit);
    Ok(passages.map(|passage| result(core, &search.query, passage)).collect())
}

/// Returns the hits with their passages and documents, in their order, without those that cannot be read any more.
pub async fn readable(
    core: &CoreContext,
    user: UserId,
    search: &SearchQuery,
    hits: &[SearchHit],
) -> Result<Vec<Passage>, Error> {
    let ids: Vec<ChunkId> = hits.iter().map(|hit| hit.chunk).collect();
    let rows = chunk::Entity::owned_by(user).filter(chunk::Column::Id.is_in(ids)).all(core.db.read()).await?;
    let mut chunks: HashMap<ChunkId, chunk::Model> = rows.into_iter().map(|row| (row.id, row)).collect();
    let ids: Vec<DocumentId> = hits.iter().map(|hit| hit.document).collect();
    let mut readable = document::Entity::visible_to(user).filter(document::Column::Id.is_in(ids));
    // The filters of the search are applied to the rows too, because the labels in the index are updated later.
    if let Some(feed) = search.within.feed {
        readable = readable.filter(document::Column::FeedId.eq(feed));
    }
    if let Some(collection) = search.within.collection {
        readable = readable.filter(document::Column::BookmarkId.in_subquery(filed_in(user, collection)));
    }
    let rows = readable.all(core.db.read()).await?;
    let documents: HashMap<DocumentId, document::Model> = rows.into_iter().map(|row| (row.id, row)).collect();
    let passages = hits.iter().filter_map(|hit| {
        let chunk = chunks.remove(&hit.chunk)?;
        // Cloned, because several passages may be of one document.
        let document = documents.get(&chunk.document_id)?.clone();
        Some(Passage { document, chunk, found: *hit })
    });
    Ok(passages.collect())
}

/// Selects the bookmarks of a collection.
fn filed_in(user: UserId, collection: Uuid) -> SelectStatement {
    collection_bookmark::Entity::owned_by(user)
        .filter(collection_bookmark::Column::CollectionId.eq(collection))
        .select_only()
        .column(collection_bookmark::Column::BookmarkId)
        .into_query()
}

fn result(core: &CoreContext, query: &str, Passage { document, chunk, found }: Passage) -> SearchResult {
    SearchResult {
        document_id: document.id,
        chunk_id: chunk.id,
        bookmark_id: document.bookmark_id,
        entry_id: document.entry_id,
        url: core.url_of(&document),
        title: document.title,
        content_type: document.content_type,
        snippet: snippet::extract_snippet(&chunk.text, query),
        score: rounded_score(found.score),
        page_number: chunk.page,
        start_seconds: chunk.start_seconds,
        end_seconds: chunk.end_seconds,
    }
}

/// Rounds a score for clients to six decimals: more are not significant, and all surfaces show the same number.
pub fn rounded_score(score: f32) -> f64 {
    (f64::from(score) * 1e6).round() / 1e6
}
