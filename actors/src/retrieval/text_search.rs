//! Search of the texts in PostgreSQL, for the time in which the index on a Qdrant server is not reached or lacks passages: by whole words as
//! they are written, without other forms of them and without meaning. SQLite has no index for it.

use std::collections::HashMap;
use std::convert::Infallible;

use database::{Db, Transaction};
use entity::chunk;
use errors::Error;
use sea_orm::sea_query::{Expr, Order, Query, SelectStatement};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbBackend, DbErr, JoinType, QueryFilter, QueryResult, QuerySelect,
    QueryTrait,
};
use search::calibration::{Relevance, RetrievalMeasures};
use search::fusion::{self, FusedPassage};
use search::index::{DocumentSet, Language};
use search::lexical;
use search::snippet::SnippetTerms;
use uuid::Uuid;
use values::id::UserId;

use super::filter::is_readable;
use super::passage_joins::document_of_current_text;
use super::ranked_hits::{RankedHits, SearchHit};
use super::search_query::SearchQuery;

/// Maximum duration of each of the two statements of a search: with the wait for the server of the index, a search ends within two seconds.
const LIMIT_TIME: &str = "SET LOCAL statement_timeout = 200";
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
/// Condition that neither the text nor the title of a document has an excluded phrase.
const LACKS_EXCLUDED: &str = r#"NOT (to_tsvector('simple', "document"."title") @@ phraseto_tsquery('simple', $1))
    AND NOT EXISTS (SELECT 1 FROM "chunk" AS "other" WHERE "other"."user_id" = "chunk"."user_id"
        AND "other"."document_id" = "chunk"."document_id" AND "other"."version" = "chunk"."version"
        AND to_tsvector('simple', "other"."text") @@ phraseto_tsquery('simple', $1))"#;

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

/// Returns the passages that have all words of a query, or else any of them, best first. Only for PostgreSQL.
///
/// # Errors
/// [`Error::Internal`] when the database fails, or does not answer in time.
pub(super) async fn search(db: &Db, user: UserId, search: &SearchQuery) -> Result<RankedHits, Error> {
    let text = &search.query.plain;
    let languages = [Language::English];
    let terms = lexical::query_terms(text, &languages);
    let terms = SnippetTerms::of(text, &terms, &vec![1.0; terms.len()], &languages);
    let searched_text = text.clone();
    let found = RankedHits { searched_text, terms, lexical_only: true, ..RankedHits::default() };
    if search.query.is_only_exclusions() {
        return Ok(found);
    }
    // Its drop rolls it back: it only reads.
    let txn = db.begin().await?;
    txn.execute_unprepared(LIMIT_TIME).await?;
    let mut matches = read(&txn, select_matches(user, search, WordMatch::All)).await?;
    let mut best_share = 1.0;
    if matches.is_empty() {
        matches = read(&txn, select_matches(user, search, WordMatch::Any)).await?;
        best_share = SHARE_OF_ANY_WORD;
    }
    drop(txn);
    let hits = ranked(&matches, best_share, search.limit);
    Ok(RankedHits { shares_words: !hits.is_empty(), hits, ..found })
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

/// Returns the hits of these matches, which are in the order of their ranks, without those beyond the maximum of each document.
fn ranked(matches: &[TextMatch], best_share: f32, limit: usize) -> Vec<SearchHit> {
    let best = matches.first().map_or(0.0, |best| best.rank);
    let fused: Vec<FusedPassage> = matches
        .iter()
        .map(|found| {
            let share = if best > 0.0 { best_share * found.rank / best } else { best_share };
            let measures = RetrievalMeasures {
                bm25_share: Some(share),
                cosine: None,
                max_missing_cosine: 0.0,
                terms: 1,
            };
            let relevance = Relevance::of(measures, 0.0);
            FusedPassage { id: found.id, relevance, score: relevance.score() }
        })
        .collect();
    let documents: HashMap<Uuid, Uuid> = matches.iter().map(|found| (found.id, found.document)).collect();
    let find = |ids: &[Uuid]| -> Result<HashMap<Uuid, Uuid>, Infallible> {
        Ok(ids.iter().filter_map(|id| Some((*id, *documents.get(id)?))).collect())
    };
    let Ok(ranked) = fusion::limit_per_document(&fused, limit, find);
    ranked.into_iter().map(|passage| SearchHit::new(passage, None)).collect()
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

        let all = ranked(&matches, 1.0, 10);
        let any = ranked(&matches, SHARE_OF_ANY_WORD, 10);

        assert!(all.windows(2).all(|pair| pair[0].score > pair[1].score));
        assert!(all[0].score > 0.5 && any[0].score < all[0].score);
    }

    #[test]
    fn document_has_at_most_three_passages() {
        let matches: Vec<TextMatch> = (1..=5).map(|id| found(id, 7, 0.5)).collect();

        assert_eq!(ranked(&matches, 1.0, 10).len(), 3);
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
