//! Search of the texts and of the metadata of documents in PostgreSQL, for the time in which the index on a Qdrant server is not reached or
//! lacks passages: by whole words as they are written, without other forms of them and without meaning. SQLite has no index for it.

mod conditions;
mod metadata;

use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;

use concurrency::Workers;
use database::{Db, Transaction};
use entity::chunk;
use errors::Error;
use sea_orm::sea_query::{Expr, Order, Query, SelectStatement};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbBackend, DbErr, JoinType, QueryFilter, QueryResult, QuerySelect,
    QueryTrait,
};
use search::calibration::{Relevance, RetrievalMeasures};
use search::fusion::{self, FusedPassage, RankedPassage};
use search::index::{DocumentSet, Language};
use search::lexical::{self, QueryTerm};
use search::snippet::SnippetTerms;
use tracing::warn;
use uuid::Uuid;
use values::id::UserId;

use super::filter::is_readable;
use super::metadata::BONUS_SHARE;
use super::operators::{PhraseMatcher, find_matching};
use super::passage_joins::document_of_current_text;
use super::ranked_hits::{RankedHits, SearchHit};
use super::search_query::SearchQuery;
use conditions::{LACKS_EXCLUDED, LIMIT_TIME};

/// Maximum duration of the search of metadata, which runs beside the two statements that search the texts.
const MAX_METADATA_TIME: Duration = Duration::from_millis(400);
/// Delay after which metadata may be searched again that took longer.
const METADATA_RETRY_AFTER: Duration = Duration::from_secs(1);
/// Matching passages that are ranked. More match only words that are everywhere, and ranking reads each of them.
const MAX_MATCHES: u64 = 5_000;
/// Passages that a search returns at most.
const MAX_HITS: u64 = 200;
/// Documents that a statement names at most: it has 65,535 parameters. Conditions on bookmarks are tested in any case.
const MAX_NAMED_DOCUMENTS: usize = 30_000;
/// Share of the best score for passages that have any word of the query, where none has all.
const SHARE_OF_ANY_WORD: f32 = 0.5;

/// Condition that a passage has all of the words.
const HAS_ALL_WORDS: &str = r#"to_tsvector('simple', "chunk"."text") @@ plainto_tsquery('simple', $1)"#;
/// Rank of a passage by all of the words, divided by the logarithm of its length.
const RANK_BY_ALL_WORDS: &str =
    r#"ts_rank_cd(to_tsvector('simple', "matched"."text"), plainto_tsquery('simple', $1), 1)"#;
/// Condition that a passage has any of the words.
const HAS_ANY_WORD: &str = r#"to_tsvector('simple', "chunk"."text")
    @@ replace(plainto_tsquery('simple', $1)::text, '&', '|')::tsquery"#;
/// Rank of a passage by those of the words that it has, divided by the logarithm of its length.
const RANK_BY_ANY_WORD: &str = r#"ts_rank_cd(to_tsvector('simple', "matched"."text"),
    replace(plainto_tsquery('simple', $1)::text, '&', '|')::tsquery, 1)"#;
/// Condition that a passage has a phrase.
const HAS_PHRASE: &str = r#"to_tsvector('simple', "chunk"."text") @@ phraseto_tsquery('simple', $1)"#;
/// How many words of the query a passage must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WordMatch {
    All,
    Any,
}

/// A passage that matches, with its document and its rank.
struct TextMatch {
    id: Uuid,
    document: Uuid,
    rank: f32,
}

impl TextMatch {
    fn of(row: &QueryResult) -> Result<Self, DbErr> {
        let (id, document) = (row.try_get_by_index(0)?, row.try_get_by_index(1)?);
        Ok(Self { id, document, rank: row.try_get_by_index(2)? })
    }
}

/// Returns the passages that have all words of a query, or else any of them, and the documents that have any in their metadata, best first.
/// Only for PostgreSQL.
///
/// # Errors
/// [`Error::Internal`] when the database fails, or does not answer in time.
pub(super) async fn search(
    db: &Db,
    workers: &Workers,
    user: UserId,
    search: &SearchQuery,
) -> Result<RankedHits, Error> {
    let text = &search.query.plain;
    let languages = [Language::English];
    let words = lexical::query_terms(text, &languages);
    let terms = SnippetTerms::of(text, &words, &vec![1.0; words.len()], &languages);
    let searched_text = text.clone();
    let found = RankedHits { searched_text, terms, lexical_only: true, ..RankedHits::default() };
    if search.query.is_only_exclusions() {
        return Ok(found);
    }
    let of_metadata = find_by_metadata(db, workers, user, search, &words);
    let (of_texts, mut metadata) = tokio::join!(find_by_texts(db, user, search), of_metadata);
    let (mut matches, best_share) = of_texts?;
    if !search.query.excluded.is_empty() {
        // The statements excluded by titles and texts. Tags and highlights count too.
        let documents = matches.iter().map(|found| found.document).chain(metadata.keys().copied());
        let documents: Vec<Uuid> = documents.collect();
        let phrases = PhraseMatcher::any_of(&search.query.excluded);
        let excluded = find_matching(db, workers, user, &phrases, &documents).await?;
        matches.retain(|found| !excluded.contains_key(&found.document));
        metadata.retain(|document, _| !excluded.contains_key(document));
    }
    let hits = ranked(&matches, best_share, &metadata, search.limit);
    Ok(RankedHits { shares_words: !hits.is_empty(), hits, ..found })
}

/// Returns the passages that have all words of a query, or else any of them, best first, and the share of the best one.
async fn find_by_texts(db: &Db, user: UserId, search: &SearchQuery) -> Result<(Vec<TextMatch>, f32), Error> {
    // Its drop rolls it back: it only reads.
    let txn = db.begin().await?;
    txn.execute_unprepared(LIMIT_TIME).await?;
    let mut matches = read(&txn, select_matches(user, search, WordMatch::All)).await?;
    let mut best_share = 1.0;
    if matches.is_empty() {
        matches = read(&txn, select_matches(user, search, WordMatch::Any)).await?;
        best_share = SHARE_OF_ANY_WORD;
    }
    Ok((matches, best_share))
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
    found.unwrap_or(Err(Error::Busy(METADATA_RETRY_AFTER))).unwrap_or_else(|error| {
        warn!(cause = error.chain(), "the metadata could not be searched while the index is not reached");
        HashMap::new()
    })
}

async fn read(txn: &Transaction, matches: SelectStatement) -> Result<Vec<TextMatch>, Error> {
    let rows = txn.query_all(&matches).await?;
    Ok(rows.iter().map(TextMatch::of).collect::<Result<_, DbErr>>()?)
}

/// Selects the id, the document and the rank of the matching passages of current texts, best first.
fn select_matches(user: UserId, search: &SearchQuery, words: WordMatch) -> SelectStatement {
    let text = search.query.plain.clone();
    let (condition, rank) = match words {
        WordMatch::All => (HAS_ALL_WORDS, RANK_BY_ALL_WORDS),
        WordMatch::Any => (HAS_ANY_WORD, RANK_BY_ANY_WORD),
    };
    let mut passages = chunk::Entity::owned_by(user)
        .join(JoinType::InnerJoin, document_of_current_text(user))
        .filter(is_readable(user, search, DbBackend::Postgres))
        .filter(Expr::cust_with_values(condition, [text.clone()]));
    for phrase in &search.query.phrases {
        passages = passages.filter(Expr::cust_with_values(HAS_PHRASE, [phrase.clone()]));
    }
    for excluded in &search.query.excluded {
        passages = passages.filter(Expr::cust_with_values(LACKS_EXCLUDED, [excluded.clone()]));
    }
    match &search.within.documents {
        DocumentSet::Only(ids) if ids.len() <= MAX_NAMED_DOCUMENTS => {
            passages = passages.filter(chunk::Column::DocumentId.is_in(ids.iter().copied()));
        }
        DocumentSet::Except(ids) if ids.len() <= MAX_NAMED_DOCUMENTS && !ids.is_empty() => {
            passages = passages.filter(chunk::Column::DocumentId.is_not_in(ids.iter().copied()));
        }
        DocumentSet::All | DocumentSet::Only(_) | DocumentSet::Except(_) => {}
    }
    let passages = passages
        .select_only()
        .columns([chunk::Column::Id, chunk::Column::DocumentId, chunk::Column::Text])
        .limit(MAX_MATCHES)
        .into_query();
    Query::select()
        .column("id")
        .column("document_id")
        .expr_as(Expr::cust_with_values(rank, [text]), "rank")
        .from_subquery(passages, "matched")
        .order_by("rank", Order::Desc)
        .order_by("id", Order::Asc)
        .limit(MAX_HITS)
        .take()
}

/// Returns the hits of these matches, which are in the order of their ranks, and of the documents whose metadata has a share of the words,
/// best first, without those beyond the maximum of each document.
fn ranked(
    matches: &[TextMatch],
    best_share: f32,
    metadata: &HashMap<Uuid, f32>,
    limit: usize,
) -> Vec<SearchHit> {
    let metadata_share = |document: &Uuid| metadata.get(document).copied().unwrap_or(0.0);
    let best = matches.first().map_or(0.0, |best| best.rank);
    let of_texts = matches.iter().map(|found| {
        let share = if best > 0.0 { best_share * found.rank / best } else { best_share };
        // As in the index: a document whose title or tags have the words is about them.
        fused_passage(found.id, (share + BONUS_SHARE * metadata_share(&found.document)).min(1.0))
    });
    let of_metadata = metadata.iter().map(|(document, share)| fused_passage(*document, *share));
    let mut fused: Vec<FusedPassage> = of_texts.chain(of_metadata).collect();
    fused.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
    let mut documents: HashMap<Uuid, Uuid> = matches.iter().map(|found| (found.id, found.document)).collect();
    // The id of a metadata passage is that of its document.
    documents.extend(metadata.keys().map(|document| (*document, *document)));
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

/// Returns a passage that has this share of the words of the query.
fn fused_passage(id: Uuid, share: f32) -> FusedPassage {
    let measures =
        RetrievalMeasures { bm25_share: Some(share), cosine: None, max_missing_cosine: 0.0, terms: 1 };
    let relevance = Relevance::of(measures, 0.0);
    FusedPassage { id, relevance, score: relevance.score() }
}

#[cfg(test)]
mod tests {
    use library::bookmarks::BookmarkConditions;
    use sea_orm::sea_query::PostgresQueryBuilder;
    use search::index::Filter;
    use search::query_syntax::ParsedQuery;

    use super::*;

    fn found(id: u128, document: u128, rank: f32) -> TextMatch {
        TextMatch { id: Uuid::from_u128(id), document: Uuid::from_u128(document), rank }
    }

    #[test]
    fn scores_fall_with_the_ranks() {
        let matches = [found(1, 1, 0.8), found(2, 2, 0.4), found(3, 3, 0.1)];

        let all = ranked(&matches, 1.0, &HashMap::new(), 10);
        let any = ranked(&matches, SHARE_OF_ANY_WORD, &HashMap::new(), 10);

        assert!(all.windows(2).all(|pair| pair[0].score > pair[1].score));
        assert!(all[0].score > 0.5 && any[0].score < all[0].score);
    }

    #[test]
    fn document_has_at_most_three_passages() {
        let matches: Vec<TextMatch> = (1..=5).map(|id| found(id, 7, 0.5)).collect();

        assert_eq!(ranked(&matches, 1.0, &HashMap::new(), 10).len(), 3);
    }

    #[test]
    fn metadata_finds_documents_and_raises_their_passages() {
        let matches = [found(11, 1, 0.8), found(21, 2, 0.7), found(31, 3, 0.1)];
        let metadata = HashMap::from([(2, 1.0), (4, 1.0)].map(|(id, share)| (Uuid::from_u128(id), share)));

        let hits = ranked(&matches, SHARE_OF_ANY_WORD, &metadata, 10);

        let found: Vec<u128> = hits.iter().map(|hit| hit.chunk.0.as_u128()).collect();
        assert_eq!(found, [21, 4, 11, 31]);
        assert!(hits[1].is_metadata() && !hits[0].is_metadata());
        assert_eq!(hits.iter().map(|hit| hit.metadata_share).collect::<Vec<_>>(), [1.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn statement_names_the_user_and_the_expression_of_the_index() {
        let search = SearchQuery {
            query: ParsedQuery::of(r#"heron "in the reeds" -duck"#),
            within: Filter::default(),
            bookmarks: BookmarkConditions::default(),
            limit: 6,
        };

        let (sql, values) =
            select_matches(UserId(Uuid::nil()), &search, WordMatch::All).build(PostgresQueryBuilder);

        let owner = sql.find(r#""chunk"."user_id" = "#).unwrap();
        let words = sql.find(r#"to_tsvector('simple', "chunk"."text")"#).unwrap();
        assert!(owner < words, "{sql}");
        assert!(format!("{values:?}").contains("in the reeds"), "{values:?}");
    }
}
