//! From what the index found to what a caller is shown: a passage that is no longer there, or out of sight, is left out.

use std::collections::HashMap;

use entity::id::{BookmarkId, ChunkId, DocumentId, EntryId, UserId};
use entity::kind::ContentType;
use entity::{chunk, document};
use sea_orm::{ColumnTrait, QueryFilter};
use serde::Serialize;

use super::{Found, snippet};
use crate::app::App;
use crate::error::Error;

/// A passage as search shows it (spec.md: Search result).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchResult {
    /// The document.
    pub document_id: DocumentId,
    /// The passage.
    pub chunk_id: ChunkId,
    /// The bookmark, where it is one's text or its note.
    pub bookmark_id: Option<BookmarkId>,
    /// The feed entry, where it is one's text.
    pub entry_id: Option<EntryId>,
    /// The document's title.
    pub title: String,
    /// The way back to the source.
    pub url: String,
    /// What the document was.
    pub content_type: ContentType,
    /// At most 320 characters around the best match, plain text.
    pub snippet: String,
    /// From 0 to 1, falling.
    pub score: f32,
    /// Page of a PDF, from 1.
    pub page_number: Option<i32>,
    /// Where the passage begins in a recording.
    pub start_seconds: Option<f64>,
    /// Where it ends.
    pub end_seconds: Option<f64>,
}

/// The passages as results, in their order, `limit` at most: only those get a snippet.
pub async fn load(
    app: &App,
    user: UserId,
    query: &str,
    found: &[Found],
    limit: usize,
) -> Result<Vec<SearchResult>, Error> {
    let wanted: Vec<ChunkId> = found.iter().map(|hit| hit.chunk).collect();
    let rows =
        chunk::Entity::owned_by(user).filter(chunk::Column::Id.is_in(wanted)).all(app.db.read()).await?;
    let mut chunks: HashMap<ChunkId, chunk::Model> = rows.into_iter().map(|row| (row.id, row)).collect();
    let wanted: Vec<DocumentId> = found.iter().map(|hit| hit.document).collect();
    let readable = document::Entity::readable_by(user).filter(document::Column::Id.is_in(wanted));
    let rows = readable.all(app.db.read()).await?;
    let documents: HashMap<DocumentId, document::Model> = rows.into_iter().map(|row| (row.id, row)).collect();
    let results = found.iter().filter_map(|hit| {
        let chunk = chunks.remove(&hit.chunk)?;
        let document =
            documents.get(&chunk.document_id).filter(|document| document.version == chunk.version)?;
        Some(result(app, query, document, chunk, hit.score))
    });
    Ok(results.take(limit).collect())
}

fn result(
    app: &App,
    query: &str,
    document: &document::Model,
    chunk: chunk::Model,
    score: f32,
) -> SearchResult {
    SearchResult {
        document_id: document.id,
        chunk_id: chunk.id,
        bookmark_id: document.bookmark_id,
        entry_id: document.entry_id,
        title: document.title.clone(),
        url: app.url_of(document),
        content_type: document.content_type,
        snippet: snippet::snippet(&chunk.text, query),
        score,
        page_number: chunk.page,
        start_seconds: chunk.start_seconds,
        end_seconds: chunk.end_seconds,
    }
}
