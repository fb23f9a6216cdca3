//! Searches with operators: results contain all phrases of the query, and nothing that it excludes.

mod exclusion;
mod lexical_search;
mod phrase_check;
mod user_search;

use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;

use errors::Error;
use search::fusion::{self, FusedPassage, RankedPassage};
use uuid::Uuid;

use super::engine::{LibraryIndex, SEARCH_TIMEOUT};
use super::ranked_hits::{RankedHits, SearchHit};
use super::search_query::SearchQuery;
use exclusion::Exclusions;
use lexical_search::{MAX_LEXICAL_HITS, PhraseCandidates};
use phrase_check::PASSAGES_PER_READ;

pub use phrase_check::{PhraseMatcher, find_matching};
pub use user_search::UserSearch;

/// Returns the best passages for a query with phrases or exclusions. Fewer than its limit are all that there are, among the best 1,600.
/// A query of nothing but exclusions finds nothing.
///
/// # Errors
/// [`Error::Busy`] when it takes longer than ten seconds; the errors of [`UserSearch::run`]; [`Error::Internal`] when the database fails.
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
        let found = search_phrases(search, query).await?;
        Ok(RankedHits { lexical_only, ..found })
    }
}

/// Searches by words and by meaning, for as many passages that enough are left without those of excluded documents.
async fn search_without_excluded(search: UserSearch<'_>, query: SearchQuery) -> Result<RankedHits, Error> {
    let limit = query.limit;
    let mut exclusions = Exclusions::new(search, &query.query.excluded);
    let mut wider = SearchQuery { limit: limit.saturating_mul(2), ..query };
    loop {
        let mut ranked =
            search.engine.search(search.user, wider.clone(), search.unindexed, search.is_incomplete).await?;
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

/// Searches by words alone: what only resembles the query in meaning does not contain its phrases.
async fn search_phrases(search: UserSearch<'_>, query: SearchQuery) -> Result<RankedHits, Error> {
    let limit = query.limit;
    let mut exclusions = Exclusions::new(search, &query.query.excluded);
    let phrases = PhraseMatcher::all_of(&query.query.phrases);
    let searched_text = query.query.plain.clone();
    let user = search.user;
    let find = move |index: &LibraryIndex<'_>| lexical_search::find_candidates(index, user, &query);
    let PhraseCandidates { passages, terms } = search.run(&searched_text, find).await?;
    let (mut matching, mut documents) = (Vec::new(), HashMap::new());
    let mut ranked = Vec::new();
    for part in passages.chunks(PASSAGES_PER_READ) {
        let points: Vec<Uuid> = part.iter().map(|passage| passage.id).collect();
        let mut found = search.find_matching(&phrases, &points).await?;
        // The text in the database may be a newer one than the passage was cut from.
        found.retain(|point, document| !search.unindexed.is_former(*point, document.0));
        exclusions.check(found.values().map(|document| document.0).collect()).await?;
        found.retain(|_, document| !exclusions.exclude(document.0));
        matching.extend(part.iter().filter(|passage| found.contains_key(&passage.id)).copied());
        documents.extend(found.into_iter().map(|(point, document)| (point, document.0)));
        ranked = limit_per_document(&matching, &documents, limit);
        if ranked.len() >= limit {
            break;
        }
    }
    let shares_words = !ranked.is_empty();
    let hits = ranked.into_iter().map(|passage| SearchHit::new(passage, None)).collect();
    Ok(RankedHits { hits, searched_text, terms, shares_words, ..RankedHits::default() })
}

/// Returns the first of these passages, at most `limit`, without those beyond the maximum of each document.
fn limit_per_document(
    passages: &[FusedPassage],
    documents: &HashMap<Uuid, Uuid>,
    limit: usize,
) -> Vec<RankedPassage> {
    let find = |ids: &[Uuid]| -> Result<HashMap<Uuid, Uuid>, Infallible> {
        Ok(ids.iter().filter_map(|id| Some((*id, *documents.get(id)?))).collect())
    };
    let Ok(ranked) = fusion::limit_per_document(passages, limit, find);
    ranked
}
