//! Searches with operators: results contain all phrases of the query, and nothing that it excludes.

use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;

use database::Db;
use errors::Error;
use search::fusion::{self, FusedPassage, RankedPassage};
use uuid::Uuid;
use values::id::UserId;

use super::engine::{Engine, SEARCH_TIMEOUT};
use super::exclusion::Exclusions;
use super::failure_log::RequestKey;
use super::lexical_search::{self, MAX_LEXICAL_HITS, PhraseCandidates};
use super::library_index::LibraryIndex;
use super::phrase_check::{self, PASSAGES_PER_READ, SoughtPhrases};
use super::ranked_hits::{RankedHits, SearchHit};
use super::search_query::SearchQuery;
use super::unindexed::UnindexedDocuments;

/// Returns the best passages for a query with phrases or exclusions. Fewer than its limit are all that there are, among the best 1,600.
/// A query of nothing but exclusions finds nothing.
///
/// # Errors
/// [`Error::Busy`] when it takes longer than ten seconds; the errors of [`Engine::run_search`]; [`Error::Internal`] when the database
/// fails.
pub(super) async fn search(
    db: &Db,
    engine: &Engine,
    user: UserId,
    query: SearchQuery,
    unindexed: &UnindexedDocuments,
    is_incomplete: bool,
) -> Result<RankedHits, Error> {
    if query.query.is_only_exclusions() {
        return Ok(RankedHits::default());
    }
    let search = search_with_operators(db, engine, user, query, unindexed, is_incomplete);
    tokio::time::timeout(SEARCH_TIMEOUT, search).await.map_err(|_| Error::Busy(Duration::from_secs(1)))?
}

async fn search_with_operators(
    db: &Db,
    engine: &Engine,
    user: UserId,
    query: SearchQuery,
    unindexed: &UnindexedDocuments,
    is_incomplete: bool,
) -> Result<RankedHits, Error> {
    if query.query.phrases.is_empty() {
        search_without_excluded(db, engine, user, query, unindexed, is_incomplete).await
    } else {
        let lexical_only = engine.is_lexical_only(is_incomplete);
        let found = search_phrases(db, engine, user, query, unindexed).await?;
        Ok(RankedHits { lexical_only, ..found })
    }
}

/// Searches by words and by meaning, for as many passages that enough are left without those of excluded documents.
async fn search_without_excluded(
    db: &Db,
    engine: &Engine,
    user: UserId,
    query: SearchQuery,
    unindexed: &UnindexedDocuments,
    is_incomplete: bool,
) -> Result<RankedHits, Error> {
    let limit = query.limit;
    let mut exclusions = Exclusions::new(db, engine, user, unindexed, &query.query.excluded);
    let mut wider = SearchQuery { limit: limit.saturating_mul(2), ..query };
    loop {
        let mut ranked = engine.search(user, wider.clone(), unindexed, is_incomplete).await?;
        let is_exhausted = ranked.hits.len() < wider.limit || wider.limit >= MAX_LEXICAL_HITS;
        exclusions.check(ranked.hits.iter().map(|hit| hit.document.0).collect()).await?;
        ranked.hits.retain(|hit| !exclusions.exclude(hit.document.0));
        if ranked.hits.len() >= limit || is_exhausted {
            ranked.hits.truncate(limit);
            return Ok(ranked);
        }
        wider.limit = wider.limit.saturating_mul(4).min(MAX_LEXICAL_HITS);
    }
}

/// Searches by words alone: what only resembles the query in meaning does not contain its phrases.
async fn search_phrases(
    db: &Db,
    engine: &Engine,
    user: UserId,
    query: SearchQuery,
    unindexed: &UnindexedDocuments,
) -> Result<RankedHits, Error> {
    let limit = query.limit;
    let mut exclusions = Exclusions::new(db, engine, user, unindexed, &query.query.excluded);
    let phrases = SoughtPhrases::all_of(&query.query.phrases);
    let searched_text = query.query.plain.clone();
    let request = RequestKey::of_search(user, &searched_text);
    let find = move |index: &LibraryIndex<'_>| lexical_search::find_candidates(index, user, &query);
    let PhraseCandidates { passages, terms } = engine.run_search(request, unindexed, find).await?;
    let (mut matching, mut documents) = (Vec::new(), HashMap::new());
    let mut ranked = Vec::new();
    for part in passages.chunks(PASSAGES_PER_READ) {
        let points: Vec<Uuid> = part.iter().map(|passage| passage.id).collect();
        let mut found = phrase_check::find_matching(db, engine.workers(), user, &phrases, &points).await?;
        // The text in the database may be a newer one than the passage was cut from.
        found.retain(|point, document| !unindexed.is_former(*point, document.0));
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
