//! Makes the results of a search from its hits.

use std::collections::HashMap;

use concurrency::Lane;
use errors::Error;
use library::context::CoreContext;
use search::calibration::lower_to_falling;
use values::id::{DocumentId, UserId};

use super::readable::first_readable;
use super::score::{ScoredPassage, score_passages};
use super::{Passage, SearchResult, page_status};
use crate::retrieval::ranked_hits::RankedHits;
use crate::retrieval::search_query::SearchQuery;

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
    let documents = passages.iter().map(|passage| passage.row.document_id);
    let factors: HashMap<DocumentId, f32> = documents.map(|id| (id, ranked.score_factor(id))).collect();
    // On a worker thread, because a snippet reads the whole passage.
    let make = move || {
        let mut scored = score_passages(passages, &query, &terms, limit);
        for passage in &mut scored {
            let factor = factors.get(&passage.passage.row.document_id).copied().unwrap_or(1.0);
            passage.score = factor * passage.measures.score();
        }
        // Hits of a query and of its correction take turns.
        lower_to_falling(scored.iter_mut().map(|passage| &mut passage.score));
        scored.into_iter().map(|passage| result(&shared, passage)).collect()
    };
    let mut results: Vec<SearchResult> =
        core.workers.run(Lane::Foreground, make).await.map_err(Error::from)?;
    page_status::show(&core.db, user, &mut results).await?;
    Ok(results)
}

/// Returns the result of a passage.
fn result(core: &CoreContext, scored: ScoredPassage) -> SearchResult {
    let ScoredPassage { passage: Passage { row, .. }, snippet, measures, score } = scored;
    SearchResult {
        document_id: row.document_id,
        chunk_id: row.id,
        bookmark_id: row.bookmark_id,
        entry_id: row.entry_id,
        url: core.source_url(row.url, row.document_id),
        title: row.title,
        content_type: row.content_type,
        status: row.status,
        snippet,
        score: rounded_score(score),
        page_number: row.page,
        start_seconds: row.start_seconds,
        end_seconds: row.end_seconds,
        measures,
    }
}

/// Rounds a score for clients to six decimals: more are not significant, and all surfaces show the same number.
pub fn rounded_score(score: f32) -> f64 {
    (f64::from(score) * 1e6).round() / 1e6
}
