//! Statements that find points by sets of words.

use database::{Transaction, padded};
use entity::document;
use errors::Error;
use sea_orm::sea_query::{Expr, JoinType, Query, SelectStatement};
use sea_orm::{ConnectionTrait, DbBackend, DbErr, QueryResult};
use search::index::SparseVector;
use uuid::Uuid;
use values::id::UserId;

use super::stored_words::{StoredPoint, to_array};
use crate::retrieval::filter::is_searched;
use crate::retrieval::search_query::SearchQuery;

/// Maximum number of points of a user that are counted. In a larger library, the weight of a rare word is computed with this number.
const MAX_COUNTED_POINTS: i64 = 10_000;

/// Condition that a point is one that the index has or gets: of the present text or of the one that the index had last, which search finds
/// until the present one replaces it, or the metadata. The index removes the metadata of an entry that gets a text.
const IS_CURRENT: &str = r#"(("point_words"."id" <> "document"."id"
        AND ("point_words"."version" = "document"."version" OR "point_words"."version" = "document"."indexed_version"))
    OR ("point_words"."id" = "document"."id" AND "document"."has_metadata_point"))"#;

/// Sets of words of which a point must have one word each.
pub type WordGroup<'a> = Vec<&'a SparseVector>;

/// A point with its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FoundPoint {
    /// The id of the point.
    pub id: Uuid,
    /// The id of its document.
    pub document: Uuid,
}

/// Returns for each group, in their order, at most `limit` points of the user that have a word of each of its sets and are in the searched
/// part of the library, in any order.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn read_groups(
    txn: &Transaction,
    user: UserId,
    search: &SearchQuery,
    groups: &[WordGroup<'_>],
    limit: usize,
) -> Result<Vec<Vec<FoundPoint>>, Error> {
    let mut found = vec![Vec::new(); groups.len()];
    if groups.is_empty() {
        return Ok(found);
    }
    for row in txn.query_all(&select_groups(user, search, groups, limit)).await? {
        let (number, point) = read_found(&row)?;
        if let Some(points) = usize::try_from(number).ok().and_then(|number| found.get_mut(number)) {
            points.push(point);
        }
    }
    Ok(found)
}

fn read_found(row: &QueryResult) -> Result<(i32, FoundPoint), DbErr> {
    let point = FoundPoint { id: row.try_get_by_index(1)?, document: row.try_get_by_index(2)? };
    Ok((row.try_get_by_index(0)?, point))
}

/// Selects the number of the group, the id and the document of the points of each group. The sets are values of rows and not of the
/// statement, so one plan serves all queries, which finds the points by their words: the index intersects and unites the lists of words.
fn select_groups(
    user: UserId,
    search: &SearchQuery,
    groups: &[WordGroup<'_>],
    limit: usize,
) -> SelectStatement {
    let width = groups.iter().map(Vec::len).max().unwrap_or(0);
    let last = i64::try_from(groups.len().saturating_sub(1)).unwrap_or(i64::MAX);
    let mut asked = Query::select();
    asked.expr_as(Expr::cust_with_values("generate_series(0, ($1)::int4)", [last]), "number");
    let mut matched = Query::select();
    matched
        .columns([("point_words", "id"), ("point_words", "document_id")])
        .from("point_words")
        .join(
            JoinType::InnerJoin,
            document::Entity,
            Expr::cust(r#""document"."id" = "point_words"."document_id""#),
        )
        .and_where(Expr::cust_with_values(r#""point_words"."user_id" = $1"#, [user]));
    for at in 0..width {
        // A narrower group repeats its last set.
        let sets = groups.iter().filter_map(|group| group.get(at).or(group.last()));
        let sets: Vec<String> = sets.map(|set| to_array(&set.indices)).collect();
        let sets = serde_json::Value::from(sets).to_string();
        let words = Expr::cust_with_values("(jsonb_array_elements_text(($1)::jsonb))::int4[]", [sets]);
        asked.expr_as(words, format!("words{at}"));
        matched.and_where(Expr::cust(format!(r#""point_words"."words" && "asked"."words{at}""#)));
    }
    matched.and_where(Expr::cust(IS_CURRENT)).cond_where(is_searched(user, search, DbBackend::Postgres));
    let matched = matched.limit(u64::try_from(limit).unwrap_or(u64::MAX)).take();
    Query::select()
        .columns([("asked", "number"), ("matched", "id"), ("matched", "document_id")])
        .from_subquery(asked, "asked")
        .join_lateral(JoinType::InnerJoin, matched, "matched", Expr::cust("TRUE"))
        .take()
}

/// Returns the words of these points.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn read_words(txn: &Transaction, user: UserId, points: &[Uuid]) -> Result<Vec<StoredPoint>, Error> {
    if points.is_empty() {
        return Ok(Vec::new());
    }
    let select = Query::select()
        .columns(["id", "document_id", "language"])
        .expr(Expr::cust(r#"array_send("words")"#))
        .column("weights")
        .from("point_words")
        .and_where(Expr::cust_with_values(r#""user_id" = $1"#, [user]))
        .and_where(sea_orm::sea_query::ExprTrait::is_in(Expr::col("id"), padded(points)))
        .take();
    let rows = txn.query_all(&select).await?;
    Ok(rows.iter().map(StoredPoint::of).collect::<Result<_, DbErr>>()?)
}

/// Returns the number of points of a user, at most 10,000.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn count_points(txn: &Transaction, user: UserId) -> Result<usize, Error> {
    let mut own = Query::select();
    own.expr(Expr::cust("1"))
        .from("point_words")
        .and_where(Expr::cust_with_values(r#""user_id" = $1"#, [user]))
        .limit(MAX_COUNTED_POINTS.unsigned_abs());
    let select = Query::select().expr(Expr::cust("count(*)")).from_subquery(own, "own").take();
    let row = txn.query_one(&select).await?;
    let count: i64 = row.map_or(Ok(0), |row| row.try_get_by_index(0))?;
    Ok(usize::try_from(count).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use library::bookmarks::BookmarkConditions;
    use sea_orm::sea_query::PostgresQueryBuilder;
    use search::index::{DocumentSet, Filter};
    use search::query_syntax::ParsedQuery;

    use super::*;

    fn words(ids: &[u32]) -> SparseVector {
        SparseVector { indices: ids.to_vec(), values: vec![1.0; ids.len()] }
    }

    #[test]
    fn statement_names_the_user_and_each_set_of_words() {
        let (heron, reed, pond) = (words(&[1, u32::MAX]), words(&[3]), words(&[4]));
        let named = vec![Uuid::from_u128(77)];
        let within = Filter { documents: DocumentSet::Only(named), ..Filter::default() };
        let conditions = BookmarkConditions::default();
        let search = SearchQuery { query: ParsedQuery::of("heron"), within, bookmarks: conditions, limit: 6 };

        let groups = [vec![&heron, &reed], vec![&pond]];
        let (sql, values) =
            select_groups(UserId(Uuid::nil()), &search, &groups, 500).build(PostgresQueryBuilder);

        let owner = sql.find(r#""point_words"."user_id" = "#).unwrap();
        let second = sql.find(r#""point_words"."words" && "asked"."words1""#).unwrap();
        assert!(owner < second, "{sql}");
        assert!(sql.contains("LATERAL") && sql.contains(r#""document"."id" IN ("#), "{sql}");
        let values = format!("{values:?}");
        for set in [r#"[\"{1,-1}\",\"{4}\"]"#, r#"[\"{3}\",\"{4}\"]"#] {
            assert!(values.contains(set), "{set} in {values}");
        }
    }
}
