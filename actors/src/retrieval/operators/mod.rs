//! Searches with operators: results contain all phrases of the query, and nothing that it excludes.

mod exclusion;
mod lexical_search;
mod phrase_check;
mod phrase_search;
mod user_search;

use std::time::Duration;

use errors::Error;

use super::engine::SEARCH_TIMEOUT;
use super::ranked_hits::RankedHits;
use super::search_query::SearchQuery;
use exclusion::Exclusions;
use lexical_search::MAX_LEXICAL_HITS;

pub use phrase_check::{PhraseMatcher, find_matching};
pub use user_search::UserSearch;

/// Returns the best passages for a query with phrases or exclusions. With phrases, fewer than its limit are all that there are, unless the
/// time was up ([`RankedHits::may_lack_passages`]); without, all among the best 1,600. A query of nothing but exclusions finds nothing.
///
/// # Errors
/// [`Error::Busy`] when it takes longer than ten seconds; [`Error::IndexUnreachable`] when [`UserSearch::ends_at`] comes before anything is
/// found; the errors of [`UserSearch::run`]; [`Error::Internal`] when the database fails.
pub(super) async fn search(search: UserSearch<'_>, query: SearchQuery) -> Result<RankedHits, Error> {
    if query.query.is_only_exclusions() {
        let lexical_only = search.engine.is_lexical_only(search.is_incomplete);
        return Ok(RankedHits { lexical_only, ..RankedHits::default() });
    }
    let found = search_with_operators(search, query);
    tokio::time::timeout(SEARCH_TIMEOUT, found).await.map_err(|_| Error::Busy(Duration::from_secs(1)))?
}

async fn search_with_operators(search: UserSearch<'_>, query: SearchQuery) -> Result<RankedHits, Error> {
    if query.query.phrases.is_empty() {
        search_without_excluded(search, query).await
    } else {
        let lexical_only = search.engine.is_lexical_only(search.is_incomplete);
        let found = phrase_search::search(search, query).await?;
        // Clients see this as `degraded`: passages with the phrases may be missing.
        Ok(RankedHits { lexical_only: lexical_only || found.may_lack_passages, ..found })
    }
}

/// Searches by words and by meaning, for as many passages that enough are left without those of excluded documents.
async fn search_without_excluded(search: UserSearch<'_>, query: SearchQuery) -> Result<RankedHits, Error> {
    let limit = query.limit;
    let mut exclusions = Exclusions::new(search, &query.query.excluded);
    let mut wider = SearchQuery { limit: limit.saturating_mul(2), ..query };
    loop {
        let UserSearch { engine, user, unindexed, is_incomplete, vector, .. } = search;
        let mut ranked =
            engine.search(user, wider.clone(), unindexed, is_incomplete, vector.cloned()).await?;
        let is_exhausted = ranked.hits.len() < wider.limit || wider.limit >= MAX_LEXICAL_HITS;
        exclusions.check(ranked.hits.iter().map(|hit| hit.document.0).collect()).await?;
        ranked.hits.retain(|hit| !exclusions.exclude(hit.document.0));
        if ranked.hits.len() >= limit || is_exhausted {
            ranked.is_complete &= ranked.hits.len() < limit;
            ranked.hits.truncate(limit);
            return Ok(ranked);
        }
        wider.limit = wider.limit.saturating_mul(4).min(MAX_LEXICAL_HITS);
    }
}
