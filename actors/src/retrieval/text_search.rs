//! Search of the texts and of the metadata of documents in PostgreSQL, for the time in which the index on a Qdrant server is not reached or
//! lacks passages: by words, without meaning. The database has the words of each point of the index (`stored_words`), so that a search finds
//! and weighs them as the index does. SQLite has no index for it.
//!
//! The points with the rarest words of the query are compared with it (`candidates`, `ranking`): all of them for words that fewer than 500
//! have, otherwise some. Documents that the index lacks a change of are analysed as for the index (`unindexed`). Only the newest are, so
//! metadata is searched in the rows themselves too (`metadata`).

mod candidates;
mod conditions;
mod metadata;
mod ranking;
mod stored_words;
mod word_matches;

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::time::Duration;

use concurrency::{Lane, Workers};
use database::Db;
use errors::Error;
use library::bookmarks::BookmarkConditions;
use sea_orm::ConnectionTrait;
use search::calibration::{Relevance, RetrievalMeasures};
use search::fusion::{self, FusedPassage, RankedPassage};
use search::index::{DocumentSet, Filter, Language};
use search::lexical::{self, QueryTerm};
use search::snippet::SnippetTerms;
use tracing::warn;
use uuid::Uuid;
use values::id::UserId;

use super::engine::longest_first;
use super::metadata::BONUS_SHARE;
use super::operators::{PhraseMatcher, find_matching};
use super::ranked_hits::{RankedHits, SearchHit};
use super::search_query::SearchQuery;
use super::unindexed::UnindexedDocuments;
use candidates::ExcludedDocuments;
use conditions::SEARCH_SETTINGS;
use ranking::{PassageShare, RankedPoints};
use stored_words::StoredPoint;

pub(super) use stored_words::{delete_former_words, store_words};

/// Maximum duration of a search: with the wait for the server of the index it ends within two seconds.
const MAX_SEARCH_TIME: Duration = Duration::from_millis(500);
/// Maximum duration of the search of metadata, which runs beside the statements that search the points.
const MAX_METADATA_TIME: Duration = Duration::from_millis(400);
/// Maximum number of statements that look for what a query excludes.
const MAX_EXCLUSION_ROUNDS: usize = 4;
/// Delay after which a search may be tried again that took longer.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Returns the passages that have words of a query, and the documents that have any in their metadata, best first. Only for PostgreSQL.
///
/// # Errors
/// [`Error::Busy`] when it takes longer than half a second; [`Error::Internal`] when the database fails, or does not answer in time.
pub(super) async fn search(
    db: &Db,
    workers: &Workers,
    user: UserId,
    search: &SearchQuery,
    unindexed: &UnindexedDocuments,
) -> Result<RankedHits, Error> {
    let found =
        RankedHits { searched_text: search.query.plain.clone(), lexical_only: true, ..RankedHits::default() };
    if search.query.is_only_exclusions() {
        return Ok(found);
    }
    let hits = tokio::time::timeout(MAX_SEARCH_TIME, find_hits(db, workers, user, search, unindexed));
    let (hits, terms) = hits.await.map_err(|_| Error::Busy(RETRY_AFTER))??;
    Ok(RankedHits { shares_words: !hits.is_empty(), hits, terms, ..found })
}

async fn find_hits(
    db: &Db,
    workers: &Workers,
    user: UserId,
    search: &SearchQuery,
    unindexed: &UnindexedDocuments,
) -> Result<(Vec<SearchHit>, SnippetTerms), Error> {
    let terms = analyze_query(workers, search).await?;
    let of_metadata = find_by_metadata(db, workers, user, search, &terms);
    let of_points = find_by_words(db, workers, user, search, &terms, unindexed);
    let (of_points, of_rows) = tokio::join!(of_points, of_metadata);
    let mut found = of_points?;
    for (document, share) in of_rows {
        let known = found.metadata.entry(document).or_default();
        *known = known.max(share);
    }
    if !search.query.excluded.is_empty() {
        let excluded = find_excluded(db, workers, user, search, &found, unindexed).await?;
        found.passages.retain(|passage| !excluded.contains(&passage.document));
        found.metadata.retain(|document, _| !excluded.contains(document));
    }
    if !found.languages.contains(&Language::English) {
        found.languages.push(Language::English);
    }
    let snippet_terms = SnippetTerms::of(&search.query.plain, &terms, &found.weights, &found.languages);
    Ok((ranked(&found, terms.len(), search.limit), snippet_terms))
}

/// Returns the words of a query in every language: the database does not say which ones a library has.
async fn analyze_query(workers: &Workers, search: &SearchQuery) -> Result<Vec<QueryTerm>, Error> {
    let query = search.query.clone();
    let analyze = move || {
        // Each phrase by itself too, because a phrase of stop words is found by them.
        let parts = [&query.plain].into_iter().chain(&query.phrases).map(String::as_str);
        longest_first(lexical::terms_of_parts(parts, &Language::ALL))
    };
    Ok(workers.run(Lane::Foreground, analyze).await?)
}

/// Returns the points that have words of a query.
async fn find_by_words(
    db: &Db,
    workers: &Workers,
    user: UserId,
    search: &SearchQuery,
    terms: &[QueryTerm],
    unindexed: &UnindexedDocuments,
) -> Result<RankedPoints, Error> {
    // Its drop rolls it back: it only reads.
    let txn = db.begin().await?;
    txn.execute_unprepared(SEARCH_SETTINGS).await?;
    let candidates = if search.query.phrases.is_empty() {
        candidates::find(&txn, user, search, terms).await?
    } else {
        candidates::find_phrases(db, &txn, workers, user, search).await?
    };
    let mut points = word_matches::read_words(&txn, user, &candidates.points).await?;
    let total = word_matches::count_points(&txn, user).await?;
    drop(txn);
    points.retain(|point| !unindexed.is_former(point.id, point.document));
    add_unindexed(db, workers, user, search, unindexed, &mut points).await?;
    let terms = terms.to_vec();
    let rank = move || ranking::rank(&points, &terms, &candidates.holders, total);
    Ok(workers.run(Lane::Foreground, rank).await?)
}

/// Adds the points of documents that the index lacks a change of, as far as they contain the phrases of the query. They replace those of a
/// former state.
async fn add_unindexed(
    db: &Db,
    workers: &Workers,
    user: UserId,
    search: &SearchQuery,
    unindexed: &UnindexedDocuments,
    points: &mut Vec<StoredPoint>,
) -> Result<(), Error> {
    let mut new = unindexed.matching_points(&search.within);
    if !search.query.phrases.is_empty() && !new.is_empty() {
        let ids: Vec<Uuid> = new.iter().map(|point| point.id).collect();
        let phrases = PhraseMatcher::all_of(&search.query.phrases);
        let matching = find_matching(db, workers, user, &phrases, &ids).await?;
        new.retain(|point| matching.contains_key(&point.id));
    }
    points.retain(|point| unindexed.document_of(point.id).is_none());
    points.extend(new.into_iter().map(StoredPoint::from));
    Ok(())
}

/// Returns the share of the words of a query that the metadata of documents has. If the metadata cannot be searched in time, the texts alone
/// are found.
async fn find_by_metadata(
    db: &Db,
    workers: &Workers,
    user: UserId,
    search: &SearchQuery,
    words: &[QueryTerm],
) -> HashMap<Uuid, f32> {
    let found = metadata::find(db, workers, user, search, words);
    let found = tokio::time::timeout(MAX_METADATA_TIME, found).await;
    found.unwrap_or(Err(Error::Busy(RETRY_AFTER))).unwrap_or_else(|error| {
        warn!(cause = error.chain(), "the metadata could not be searched while the index is not reached");
        HashMap::new()
    })
}

/// Returns the documents that contain what a query excludes. While the passages of a few long documents take all places of a statement, the
/// others are asked for again.
async fn find_excluded(
    db: &Db,
    workers: &Workers,
    user: UserId,
    search: &SearchQuery,
    found: &RankedPoints,
    unindexed: &UnindexedDocuments,
) -> Result<HashSet<Uuid>, Error> {
    let documents =
        found.passages.iter().map(|passage| passage.document).chain(found.metadata.keys().copied());
    let documents: HashSet<Uuid> = documents.collect();
    let excluded = &search.query.excluded;
    // The rows themselves too: the words of a new text or of a tag may not be stored yet.
    let mut new = unindexed.matching_points(&search.within);
    new.retain(|point| documents.contains(&point.document));
    let mut left: Vec<Uuid> = documents.into_iter().collect();
    let ids: Vec<Uuid> = left.iter().copied().chain(new.iter().map(|point| point.id)).collect();
    let in_rows = find_matching(db, workers, user, &PhraseMatcher::any_of(excluded), &ids).await?;
    let mut found = candidates::documents_with_excluded_word(&new, excluded);
    found.extend(in_rows.into_values().map(|document| document.0));
    let txn = db.begin().await?;
    txn.execute_unprepared(SEARCH_SETTINGS).await?;
    for _ in 0..MAX_EXCLUSION_ROUNDS {
        left.retain(|document| !found.contains(document));
        let within = SearchQuery {
            within: Filter { documents: DocumentSet::Only(left.clone()), ..Filter::default() },
            bookmarks: BookmarkConditions::default(),
            ..search.clone()
        };
        let ExcludedDocuments { documents, is_cut } =
            candidates::find_excluded(db, &txn, workers, user, excluded, &within).await?;
        let is_last = !is_cut || documents.is_empty();
        found.extend(documents);
        if is_last {
            break;
        }
    }
    Ok(found)
}

/// Returns the hits of points, best first, without those beyond the maximum of each document. The query has this number of terms.
fn ranked(found: &RankedPoints, terms: usize, limit: usize) -> Vec<SearchHit> {
    let metadata_share = |document: &Uuid| found.metadata.get(document).copied().unwrap_or(0.0);
    let of_passages = found.passages.iter().map(|passage| {
        // As in the index: a document whose title or tags have the words is about them.
        let share = (passage.share + BONUS_SHARE * metadata_share(&passage.document)).min(1.0);
        fused_passage(passage.id, share, terms)
    });
    let of_metadata = found.metadata.iter().map(|(document, share)| fused_passage(*document, *share, terms));
    let mut fused: Vec<FusedPassage> = of_passages.chain(of_metadata).collect();
    fused.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
    let to_document = |passage: &PassageShare| (passage.id, passage.document);
    let mut documents: HashMap<Uuid, Uuid> = found.passages.iter().map(to_document).collect();
    // The id of a metadata passage is that of its document.
    documents.extend(found.metadata.keys().map(|document| (*document, *document)));
    let find = |ids: &[Uuid]| -> Result<HashMap<Uuid, Uuid>, Infallible> {
        Ok(ids.iter().filter_map(|id| Some((*id, *documents.get(id)?))).collect())
    };
    let Ok(ranked) = fusion::limit_per_document(&fused, limit, find);
    let to_hit = |passage: RankedPassage| SearchHit {
        metadata_share: metadata_share(&passage.document),
        ..SearchHit::new(passage, None)
    };
    ranked.into_iter().map(to_hit).collect()
}

/// Returns a passage that has this share of the attainable BM25 of a query.
fn fused_passage(id: Uuid, share: f32, terms: usize) -> FusedPassage {
    let measures =
        RetrievalMeasures { bm25_share: Some(share), cosine: None, max_missing_cosine: 0.0, terms };
    let relevance = Relevance::of(measures, 0.0);
    FusedPassage { id, relevance, score: relevance.score() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(passages: &[(u128, u128, f32)], metadata: &[(u128, f32)]) -> RankedPoints {
        let id = Uuid::from_u128;
        let passage = |(number, document, share): &(u128, u128, f32)| PassageShare {
            id: id(*number),
            document: id(*document),
            share: *share,
        };
        RankedPoints {
            passages: passages.iter().map(passage).collect(),
            metadata: metadata.iter().map(|(document, share)| (id(*document), *share)).collect(),
            ..RankedPoints::default()
        }
    }

    #[test]
    fn scores_follow_the_shares_and_not_the_best_of_them() {
        let good = ranked(&found(&[(11, 1, 0.9), (21, 2, 0.4), (31, 3, 0.1)], &[]), 2, 10);
        let bad = ranked(&found(&[(21, 2, 0.4), (31, 3, 0.1)], &[]), 2, 10);

        assert!(good.windows(2).all(|pair| pair[0].score > pair[1].score));
        assert!(good[0].score > 0.5 && bad[0].score < 0.5);
        assert_eq!(bad[0].score, good[1].score);
    }

    #[test]
    fn document_has_at_most_three_passages() {
        let passages: Vec<(u128, u128, f32)> = (11..=15).map(|id| (id, 7, 0.5)).collect();

        assert_eq!(ranked(&found(&passages, &[]), 1, 10).len(), 3);
    }

    #[test]
    fn metadata_finds_documents_and_raises_their_passages() {
        let points = found(&[(11, 1, 0.5), (21, 2, 0.4), (31, 3, 0.1)], &[(2, 1.0), (4, 0.6)]);

        let hits = ranked(&points, 2, 10);

        let found: Vec<u128> = hits.iter().map(|hit| hit.chunk.0.as_u128()).collect();
        assert_eq!(found, [21, 4, 11, 31]);
        assert!(hits[1].is_metadata() && !hits[0].is_metadata());
        assert_eq!(hits.iter().map(|hit| hit.metadata_share).collect::<Vec<_>>(), [1.0, 0.6, 0.0, 0.0]);
    }
}
