//! The passages that an answer can quote of what a search found.
//!
//! The index is slightly behind the rows: a hit may be of a former text, of which a citation could not give the offsets. The document was
//! found all the same, so its current text is read instead.

use std::collections::{HashMap, HashSet};

use database::padded;
use entity::{chunk, document};
use errors::Error;
use library::context::CoreContext;
use sea_orm::{ColumnTrait, JoinType, QueryFilter, QuerySelect};
use search::citation;
use values::id::{ChunkId, DocumentId, UserId};

use crate::retrieval::passage::{self, Passage};
use crate::retrieval::{RankedHits, SearchHit, SearchQuery, first_passage};

/// Returns the passages of the hits, best first. A document of whose current text no passage was found contributes the first one of
/// it, with the score of its hit.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub(super) async fn load(
    core: &CoreContext,
    user: UserId,
    search: &SearchQuery,
    ranked: &RankedHits,
) -> Result<Vec<Passage>, Error> {
    let RankedHits { hits, searched_text, terms, .. } = ranked;
    let mut found = load_quotable(core, user, search, hits).await?;
    let mut quotable: HashSet<DocumentId> = found.iter().map(|passage| passage.row.document_id).collect();
    // One hit of each of the other documents: its best.
    let others: Vec<SearchHit> = hits.iter().filter(|hit| quotable.insert(hit.document)).copied().collect();
    if !others.is_empty() {
        found.extend(load_first(core, user, search, others).await?);
        // A stable sort: equal ones keep the order of the search.
        found.sort_by(|a, b| b.found.score.total_cmp(&a.found.score));
    }
    passage::order_as_results(&mut found, searched_text, terms);
    Ok(found)
}

/// Returns the first passages of the current texts of documents, with the scores of these hits.
async fn load_first(
    core: &CoreContext,
    user: UserId,
    search: &SearchQuery,
    others: Vec<SearchHit>,
) -> Result<Vec<Passage>, Error> {
    let first = find_first_passages(core, user, &others).await?;
    let replaced: Vec<SearchHit> = others
        .into_iter()
        .filter_map(|hit| Some(SearchHit { chunk: *first.get(&hit.document)?, cosine: None, ..hit }))
        .collect();
    load_quotable(core, user, search, &replaced).await
}

/// Returns the hits whose passages are part of the current text of their document and have words: of the others no sentence can be
/// quoted.
async fn load_quotable(
    core: &CoreContext,
    user: UserId,
    search: &SearchQuery,
    hits: &[SearchHit],
) -> Result<Vec<Passage>, Error> {
    let mut found = passage::readable(core, user, search, hits).await?;
    found.retain(|passage| {
        let is_current = passage.row.version == passage.row.document_version;
        passage.is_of_text() && is_current && citation::has_words(&passage.row.text)
    });
    Ok(found)
}

/// Returns the first passage of the current text of each of the documents that the user can read.
async fn find_first_passages(
    core: &CoreContext,
    user: UserId,
    hits: &[SearchHit],
) -> Result<HashMap<DocumentId, ChunkId>, Error> {
    let documents: Vec<DocumentId> = hits.iter().map(|hit| hit.document).collect();
    let rows: Vec<(DocumentId, ChunkId)> = document::Entity::visible_to(user)
        .filter(document::Column::Id.is_in(padded(&documents)))
        .join(JoinType::InnerJoin, first_passage(user))
        .select_only()
        .column(document::Column::Id)
        .column(chunk::Column::Id)
        .into_tuple()
        .all(core.db.read())
        .await?;
    Ok(rows.into_iter().collect())
}
