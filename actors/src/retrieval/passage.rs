//! Loads the passages of search hits. The index is slightly behind the rows, so the rows decide: a passage that was removed,
//! hidden, or moved out of the searched part of the library is left out.

use database::padded;
use std::collections::HashMap;

use concurrency::Lane;
use entity::{chunk, collection_bookmark, document};
use errors::Error;
use library::BATCH_ROWS;
use library::context::CoreContext;
use schemars::JsonSchema;
use sea_orm::sea_query::SelectStatement;
use sea_orm::{
    ColumnTrait, Condition, EntityTrait, FromQueryResult, JoinType, QueryFilter, QuerySelect, QueryTrait,
    RelationDef, Select,
};
use search::index::Filter;
use search::snippet::{SnippetTerms, extract_snippet};
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
    /// URL of the source of the document, if it has one.
    pub source_url: Option<String>,
    /// Title of the document.
    pub title: String,
    /// The hit of the search, with its score.
    pub found: SearchHit,
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
            source_url: self.url,
            title: self.title?,
            found,
        })
    }
}

/// Returns the hits as results with snippets, in their order, at most `limit`.
///
/// # Errors
/// [`Error::Internal`] when the database or the worker thread fails.
pub async fn load(
    core: &CoreContext,
    user: UserId,
    search: &SearchQuery,
    hits: &[SearchHit],
    limit: usize,
) -> Result<Vec<SearchResult>, Error> {
    let passages = first_readable(core, user, search, hits, limit).await?;
    if passages.is_empty() {
        return Ok(Vec::new());
    }
    let (shared, query) = (core.clone(), search.query.clone());
    // On a worker thread, because a snippet reads the whole passage.
    let make = move || {
        let terms = SnippetTerms::of(&query);
        passages.into_iter().map(|passage| result(&shared, &terms, passage)).collect()
    };
    core.workers.run(Lane::Foreground, make).await.map_err(Error::from)
}

/// Returns the first `limit` of the hits that can be read, in their order.
async fn first_readable(
    core: &CoreContext,
    user: UserId,
    search: &SearchQuery,
    hits: &[SearchHit],
    limit: usize,
) -> Result<Vec<Passage>, Error> {
    let (first, rest) = hits.split_at(limit.min(hits.len()));
    let mut passages = readable(core, user, search, first).await?;
    // The others are read only if some of the first ones are gone.
    if passages.len() < limit && !rest.is_empty() {
        passages.extend(readable(core, user, search, rest).await?);
        passages.truncate(limit);
    }
    Ok(passages)
}

/// Returns the hits with their passages and documents, in their order, without those that cannot be read any more.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn readable(
    core: &CoreContext,
    user: UserId,
    search: &SearchQuery,
    hits: &[SearchHit],
) -> Result<Vec<Passage>, Error> {
    let ids: Vec<ChunkId> = hits.iter().map(|hit| hit.chunk).collect();
    let mut rows: HashMap<ChunkId, PassageColumns> = HashMap::with_capacity(ids.len());
    for ids in ids.chunks(BATCH_ROWS) {
        let found = select_passages(user, &search.within, ids).into_model::<PassageColumns>();
        rows.extend(found.all(core.db.read()).await?.into_iter().map(|row| (row.id, row)));
    }
    let passages = hits.iter().filter_map(|hit| rows.remove(&hit.chunk)?.into_passage(*hit));
    Ok(passages.collect())
}

/// Selects the passages with these ids, with the columns of their documents.
fn select_passages(user: UserId, within: &Filter, ids: &[ChunkId]) -> Select<chunk::Entity> {
    chunk::Entity::owned_by(user)
        .filter(chunk::Column::Id.is_in(padded(ids)))
        // A left join: an inner one would let SQLite begin with the documents, and read all of the user's.
        .join(JoinType::LeftJoin, readable_document(user, within))
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
            document::Column::Url,
            document::Column::Title,
        ])
}

/// Returns the join of a passage with its document, if the user may read it and it is in the searched part of the library: the labels in
/// the index are updated later.
fn readable_document(user: UserId, within: &Filter) -> RelationDef {
    let (feed, collection) = (within.feed, within.collection);
    chunk::Entity::belongs_to(document::Entity)
        .from(chunk::Column::DocumentId)
        .to(document::Column::Id)
        .on_condition(move |_, _| {
            Condition::all()
                .add(document::Column::UserId.eq(user))
                .add(document::Column::HiddenAt.is_null())
                .add_option(feed.map(|feed| document::Column::FeedId.eq(feed)))
                .add_option(
                    collection.map(|collection| {
                        document::Column::BookmarkId.in_subquery(filed_in(user, collection))
                    }),
                )
        })
        .into()
}

/// Selects the bookmarks of a collection.
fn filed_in(user: UserId, collection: Uuid) -> SelectStatement {
    collection_bookmark::Entity::owned_by(user)
        .filter(collection_bookmark::Column::CollectionId.eq(collection))
        .select_only()
        .column(collection_bookmark::Column::BookmarkId)
        .into_query()
}

fn result(core: &CoreContext, terms: &SnippetTerms, passage: Passage) -> SearchResult {
    SearchResult {
        document_id: passage.document,
        chunk_id: passage.chunk,
        bookmark_id: passage.bookmark,
        entry_id: passage.entry,
        url: core.source_url(passage.source_url, passage.document),
        title: passage.title,
        content_type: passage.content_type,
        snippet: extract_snippet(&passage.text, terms),
        score: rounded_score(passage.found.score),
        page_number: passage.page,
        start_seconds: passage.start_seconds,
        end_seconds: passage.end_seconds,
    }
}

/// Rounds a score for clients to six decimals: more are not significant, and all surfaces show the same number.
pub fn rounded_score(score: f32) -> f64 {
    (f64::from(score) * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use sea_orm::DbBackend;

    use super::*;

    fn ids(count: u128) -> Vec<ChunkId> {
        (0..count).map(|number| ChunkId(Uuid::from_u128(number))).collect()
    }

    #[test]
    fn statement_has_one_text_for_few_ids_of_any_number() {
        let text = |count| {
            let select = select_passages(UserId(Uuid::nil()), &Filter::default(), &ids(count));
            select.build(DbBackend::Sqlite).sql
        };

        assert_eq!(text(5), text(8));
        assert_eq!(text(9), text(16));
        assert_ne!(text(8), text(9));
        assert_eq!(text(301), text(350));
    }
}
