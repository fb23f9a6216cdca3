//! Hits below the first page of a search whose documents have the query for their title. They belong above all others.

use std::collections::HashSet;
use std::iter;
use std::sync::LazyLock;

use database::{Db, DirectQuery, padded_to};
use errors::Error;
use search::title_match::TitleMatcher;
use values::id::{DocumentId, UserId};

use crate::retrieval::ranked_hits::SearchHit;

/// Maximum number of hits whose titles are read. The title counts twice among the words of a passage, so a document of that title is
/// among the best hits, if not among the first.
const MAX_TITLES: usize = 32;

/// The ids and titles of 32 documents, of those that the user may read. `$1` is the user.
static TITLES: LazyLock<DirectQuery> = LazyLock::new(|| {
    let ids = DirectQuery::parameters(2, MAX_TITLES);
    DirectQuery::of_sql(|_| {
        format!(
            r#"SELECT "id", "title" FROM "document" WHERE "user_id" = $1 AND "hidden_at" IS NULL AND "id" IN ({ids})"#
        )
    })
});

/// Returns those of the first hits whose documents have the query for their title, in their order.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn find(
    db: &Db,
    user: UserId,
    matcher: &TitleMatcher,
    hits: &[SearchHit],
) -> Result<Vec<SearchHit>, Error> {
    let hits = hits.get(..MAX_TITLES).unwrap_or(hits);
    if hits.is_empty() {
        return Ok(Vec::new());
    }
    let ids = padded_to(hits, MAX_TITLES).map(|hit| hit.document.into());
    let values = iter::once(user.into()).chain(ids);
    let titles = db
        .direct()
        .query_all(&TITLES, values, |row| Ok((row.get::<DocumentId>(0)?, row.get::<String>(1)?)))
        .await?;
    let titled: HashSet<DocumentId> =
        titles.into_iter().filter(|(_, title)| matcher.is_exact(title)).map(|(id, _)| id).collect();
    Ok(hits.iter().filter(|hit| titled.contains(&hit.document)).copied().collect())
}

#[cfg(test)]
mod tests {
    use database::QueryPlan;
    use sea_orm::{DatabaseBackend, Statement, Value};
    use uuid::Uuid;

    use super::*;
    use crate::retrieval::test_library::open_database;

    #[tokio::test]
    async fn titles_are_found_by_the_ids_of_documents() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let values: Vec<Value> = (0..=MAX_TITLES).map(|_| Uuid::nil().into()).collect();
        let sql = TITLES.sql(DatabaseBackend::Sqlite);

        let statement = Statement::from_sql_and_values(DatabaseBackend::Sqlite, sql, values);
        let plan = QueryPlan::of(&db, statement).await.unwrap();

        assert!(plan.has_step("document_user (user_id=? AND id=?)"), "{plan:#?}");
    }
}
