//! Reads the passages of search hits. The index is slightly behind the rows, so the rows decide: a passage that was removed, hidden, or
//! moved out of the searched part of the library is left out.

use std::borrow::Cow;
use std::collections::HashMap;

use database::Db;
use errors::Error;
use library::context::CoreContext;
use sea_orm::ConnectionTrait;
use search::title_match::TitleMatcher;
use values::id::{ChunkId, DocumentId, UserId};

use super::{Passage, PassageColumns, exact_title, rows};
use crate::retrieval::filter::{find_passing, is_readable};
use crate::retrieval::metadata::{DescribedDocument, read_described};
use crate::retrieval::ranked_hits::{RankedHits, SearchHit};
use crate::retrieval::search_query::SearchQuery;

/// Number of hits up to which their texts are read without a test of their bookmarks. Above it, hits whose bookmarks do not meet the
/// conditions of the search are left out first. A search has more hits only if the index was not given the documents that meet them.
const MAX_UNTESTED_HITS: usize = 64;

/// Returns the first `limit` of the hits that can be read, in their order, and after them possibly more, among them those whose title is
/// the query.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn first_readable(
    core: &CoreContext,
    user: UserId,
    search: &SearchQuery,
    ranked: &RankedHits,
    limit: usize,
) -> Result<Vec<Passage>, Error> {
    let RankedHits { hits, searched_text, .. } = ranked;
    let hits = passing(&core.db, user, search, hits).await?;
    let (first, rest) = hits.split_at(limit.min(hits.len()));
    let mut passages = readable(core, user, search, first).await?;
    let matcher = TitleMatcher::new(searched_text);
    let has_title = passages.iter().any(|passage| matcher.is_exact(&passage.row.title));
    // The others are read only if some of the first ones are gone, or if one of them may belong before all.
    if passages.len() < limit && !rest.is_empty() {
        passages.extend(readable(core, user, search, rest).await?);
    } else if !has_title && !rest.is_empty() {
        let titled = exact_title::find(&core.db, user, &matcher, rest).await?;
        if !titled.is_empty() {
            passages.extend(readable(core, user, search, &titled).await?);
        }
    }
    Ok(passages)
}

/// Returns many hits without those of documents that fail the conditions on their bookmarks; few as they are.
async fn passing<'a>(
    db: &Db,
    user: UserId,
    search: &SearchQuery,
    hits: &'a [SearchHit],
) -> Result<Cow<'a, [SearchHit]>, Error> {
    if hits.len() <= MAX_UNTESTED_HITS {
        return Ok(Cow::Borrowed(hits));
    }
    let mut documents: Vec<DocumentId> = hits.iter().map(|hit| hit.document).collect();
    documents.sort_unstable();
    documents.dedup();
    let Some(passing) = find_passing(db, user, &search.bookmarks, &documents).await? else {
        return Ok(Cow::Borrowed(hits));
    };
    Ok(hits.iter().filter(|hit| passing.contains(&hit.document)).copied().collect())
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
    let condition = is_readable(user, search, backend);
    let mut described = read_described(&core.db, user, &documents, condition).await?;
    let mut rows = read_rows(&core.db, user, search, &by_text).await?;
    let passages = hits.iter().filter_map(|hit| {
        if hit.is_metadata() {
            return Some(Passage::of_metadata(described.remove(&hit.document)?, *hit));
        }
        Some(Passage { row: rows.remove(&hit.chunk)?, found: *hit })
    });
    Ok(passages.collect())
}

/// Reads the passages of hits that the user may read, and that are in the searched part of the library: the labels in the index are updated
/// later.
async fn read_rows(
    db: &Db,
    user: UserId,
    search: &SearchQuery,
    hits: &[SearchHit],
) -> Result<HashMap<ChunkId, PassageColumns>, Error> {
    let ids: Vec<ChunkId> = hits.iter().map(|hit| hit.chunk).collect();
    let mut rows = rows::read(db, user, &ids).await?;
    rows.retain(|_, row| search.within.accepts(&row.labels()));
    let documents: Vec<DocumentId> = rows.values().map(|row| row.document_id).collect();
    if let Some(passing) = find_passing(db, user, &search.bookmarks, &documents).await? {
        rows.retain(|_, row| passing.contains(&row.document_id));
    }
    Ok(rows)
}

impl Passage {
    /// Returns the passage that stands for a document that was found by its metadata alone.
    fn of_metadata(described: DescribedDocument, found: SearchHit) -> Self {
        let id = described.chunk_id.unwrap_or(found.chunk);
        let row = PassageColumns {
            id,
            document_id: described.id,
            version: described.document_version,
            ordinal: 0,
            start_offset: 0,
            page: described.page,
            start_seconds: described.start_seconds,
            end_seconds: described.end_seconds,
            text: described.text.unwrap_or_default(),
            document_version: described.document_version,
            bookmark_id: described.bookmark_id,
            entry_id: described.entry_id,
            feed_id: described.feed_id,
            content_type: described.content_type,
            status: described.status,
            url: described.url,
            title: described.title,
        };
        Self { row, found: SearchHit { chunk: id, ..found } }
    }
}
