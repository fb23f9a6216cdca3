//! Reads the rows of passages with what is shown of their documents.

use std::collections::HashMap;
use std::iter;
use std::sync::LazyLock;

use database::{Db, DirectQuery, DirectRow, padded_to};
use sea_orm::{DatabaseBackend, DbErr, Value};
use search::index::Labels;
use values::id::{ChunkId, UserId};

use super::PassageColumns;
use crate::retrieval::filter::labels;

/// Ids in a statement that runs on the thread of the search: as many passages as most searches return.
const MAX_DIRECT_IDS: usize = 16;
/// Ids in a statement that runs in the pool of readers.
const MAX_POOL_IDS: usize = 256;

/// The rows of passages whose documents the user may read. `$1` is the user. The columns are those of [`PassageColumns::of`].
static DIRECT_ROWS: LazyLock<DirectQuery> = LazyLock::new(|| query(MAX_DIRECT_IDS));
static POOL_ROWS: LazyLock<DirectQuery> = LazyLock::new(|| query(MAX_POOL_IDS));

fn query(count: usize) -> DirectQuery {
    let ids = DirectQuery::parameters(2, count);
    DirectQuery::of_sql(|backend| {
        // SQLite keeps the order of a cross join. Otherwise it might begin with the documents, and read all of the user's.
        let join = if backend == DatabaseBackend::Postgres { "JOIN" } else { "CROSS JOIN" };
        format!(
            r#"SELECT "chunk"."id", "chunk"."document_id", "chunk"."version", "chunk"."ordinal", "chunk"."start_offset",
                "chunk"."page", "chunk"."start_seconds", "chunk"."end_seconds", "chunk"."text", "document"."version",
                "document"."bookmark_id", "document"."entry_id", "document"."feed_id", "document"."content_type",
                "document"."status", "document"."url", "document"."title"
            FROM "chunk" {join} "document" ON "document"."id" = "chunk"."document_id"
            WHERE "chunk"."user_id" = $1 AND "chunk"."id" IN ({ids})
                AND "document"."user_id" = $1 AND "document"."hidden_at" IS NULL"#
        )
    })
}

impl PassageColumns {
    fn of(row: &DirectRow<'_>) -> Result<Self, DbErr> {
        Ok(Self {
            id: row.get(0)?,
            document_id: row.get(1)?,
            version: row.get(2)?,
            ordinal: row.get(3)?,
            start_offset: row.get(4)?,
            page: row.get(5)?,
            start_seconds: row.get(6)?,
            end_seconds: row.get(7)?,
            text: row.get(8)?,
            document_version: row.get(9)?,
            bookmark_id: row.get(10)?,
            entry_id: row.get(11)?,
            feed_id: row.get(12)?,
            content_type: row.get(13)?,
            status: row.get(14)?,
            url: row.get(15)?,
            title: row.get(16)?,
        })
    }

    /// Returns the labels of its document.
    pub fn labels(&self) -> Labels {
        labels(self.bookmark_id, self.entry_id, self.feed_id, self.content_type)
    }
}

/// Returns those of these passages whose documents the user may read.
///
/// # Errors
/// [`DbErr`] when the database fails.
pub async fn read(
    db: &Db,
    user: UserId,
    passages: &[ChunkId],
) -> Result<HashMap<ChunkId, PassageColumns>, DbErr> {
    let (owner, direct) = (iter::once(user.into()), db.direct());
    if passages.is_empty() {
        return Ok(HashMap::new());
    }
    let mut rows = Vec::with_capacity(passages.len());
    if passages.len() <= MAX_DIRECT_IDS {
        let values = owner.chain(padded_to(passages, MAX_DIRECT_IDS).map(Value::from));
        rows = direct.query_all(&DIRECT_ROWS, values, PassageColumns::of).await?;
    } else {
        for ids in passages.chunks(MAX_POOL_IDS) {
            let values = owner.clone().chain(padded_to(ids, MAX_POOL_IDS).map(Value::from));
            rows.extend(direct.query_pool(&POOL_ROWS, values, PassageColumns::of).await?);
        }
    }
    Ok(rows.into_iter().map(|row| (row.id, row)).collect())
}

#[cfg(test)]
mod tests {
    use database::QueryPlan;
    use sea_orm::Statement;
    use uuid::Uuid;

    use super::*;
    use crate::retrieval::test_library::open_database;

    #[tokio::test]
    async fn passages_are_found_by_their_ids() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        for (query, count) in [(&DIRECT_ROWS, MAX_DIRECT_IDS), (&POOL_ROWS, MAX_POOL_IDS)] {
            let values: Vec<Value> = (0..=count).map(|_| Uuid::nil().into()).collect();
            let sql = query.sql(DatabaseBackend::Sqlite);

            let statement = Statement::from_sql_and_values(DatabaseBackend::Sqlite, sql, values);
            let plan = QueryPlan::of(&db, statement).await.unwrap();

            assert!(plan.full_scans().is_empty() && !plan.sorts(), "{plan:#?}");
            assert!(plan.steps[0].starts_with("SEARCH chunk") && plan.steps[0].contains("id=?"), "{plan:#?}");
            assert!(!plan.steps.iter().any(|step| step.ends_with("(user_id=?)")), "{plan:#?}");
        }
    }
}
