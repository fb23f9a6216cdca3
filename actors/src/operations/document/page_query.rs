//! The statements that load a page of a document, for each way in which a request names the document.

use std::sync::LazyLock;

use database::DirectQuery;
use sea_orm::{DatabaseBackend, Value};

use crate::document_page_cache::PageSelector;

/// The statements for one way to name a document. `$1` is the user, `$2` the key.
pub struct PageQueries {
    /// Selects the row of the document.
    pub row: DirectQuery,
    /// Selects the row with the text of the page. `$3` is the offset of the page, `$4` the offset before which a passage must begin to be
    /// loaded.
    pub row_with_text: DirectQuery,
}

impl PageQueries {
    fn new(document: &str) -> Self {
        Self {
            row: DirectQuery::of_sql(|backend| row_sql(backend, document, "")),
            row_with_text: DirectQuery::of_sql(|backend| {
                row_sql(backend, document, &format!(", {FIRST_OFFSET}, ({})", text_sql(backend)))
            }),
        }
    }

    /// Returns the statements that find a document among those that the user may see, and the value of `$2`.
    pub fn select(selector: &PageSelector) -> (&'static Self, Value) {
        match selector {
            PageSelector::Document(id) => (LazyLock::force(&BY_ID), (*id).into()),
            PageSelector::Bookmark(id) => (LazyLock::force(&BY_BOOKMARK), (*id).into()),
            PageSelector::NormalizedUrl(url) => (LazyLock::force(&BY_URL), url.as_str().into()),
        }
    }
}

static BY_ID: LazyLock<PageQueries> = LazyLock::new(|| PageQueries::new(r#""document"."id" = $2"#));

static BY_BOOKMARK: LazyLock<PageQueries> = LazyLock::new(|| {
    PageQueries::new(
        r#""document"."id" IN (SELECT "saved"."document_id" FROM "bookmark" AS "saved"
            WHERE "saved"."user_id" = $1 AND "saved"."deleted_at" IS NULL AND "saved"."id" = $2)"#,
    )
});

static BY_URL: LazyLock<PageQueries> = LazyLock::new(|| {
    PageQueries::new(
        r#""document"."id" IN (SELECT "saved"."document_id" FROM "bookmark" AS "saved"
            WHERE "saved"."user_id" = $1 AND "saved"."deleted_at" IS NULL AND "saved"."normalized_url" = $2)"#,
    )
});

/// Where the passages that overlap the page begin. It bounds them from below, so that those before the page are not read. Only one passage
/// begins there, because passages follow one another without a gap.
///
/// The statement computes it twice, as a column and as that bound: in SQLite a materialised CTE that computes it once made the statement
/// 12 to 18 % slower, and a join with the passage that begins there 1 to 2 %.
const FIRST_OFFSET: &str = r#"(SELECT MAX("chunk"."start_offset") FROM "chunk" WHERE "chunk"."document_id" = "document"."id"
    AND "chunk"."version" = "document"."version" AND "chunk"."start_offset" <= $3)"#;

/// Returns the SQL of the text of the passages that overlap the page.
fn text_sql(backend: DatabaseBackend) -> String {
    let passages = format!(
        r#"FROM "chunk" WHERE "chunk"."user_id" = "document"."user_id" AND "chunk"."document_id" = "document"."id"
            AND "chunk"."version" = "document"."version" AND "chunk"."start_offset" >= {FIRST_OFFSET}
            AND "chunk"."start_offset" < $4 AND "chunk"."end_offset" > $3"#
    );
    if backend == DatabaseBackend::Postgres {
        format!(r#"SELECT STRING_AGG("chunk"."text", '' ORDER BY "chunk"."start_offset") {passages}"#)
    } else {
        // SQLite would sort for an `ORDER BY` within the function; the index has this order already.
        format!(
            r#"SELECT GROUP_CONCAT("passage"."text", '') FROM (SELECT "chunk"."text" {passages}
                ORDER BY "chunk"."start_offset") AS "passage""#
        )
    }
}

/// Returns the SQL that selects the row of the document that a condition names, with more columns at its end. Raw, because the query
/// builder has no aggregates of JSON.
///
/// The columns are, from 0: id, URL, title, content type, author, bookmark, entry, creation, status, error, length and version of the
/// document; when its bookmark was saved; then the tags, the highlights and the note of the bookmark. The last three are NULL for a
/// document that is not the text of a bookmark.
fn row_sql(backend: DatabaseBackend, document: &str, more: &str) -> String {
    let (tags, highlights) = if backend == DatabaseBackend::Postgres {
        (
            r#"CAST(JSON_AGG("bookmark_tag"."name") AS TEXT)"#,
            r#"CAST(JSON_AGG(JSON_BUILD_ARRAY("highlight"."start_offset", "highlight"."text", "highlight"."note")) AS TEXT)"#,
        )
    } else {
        (
            r#"JSON_GROUP_ARRAY("bookmark_tag"."name")"#,
            r#"JSON_GROUP_ARRAY(JSON_ARRAY("highlight"."start_offset", "highlight"."text", "highlight"."note"))"#,
        )
    };
    let of_bookmark = |value: &str, table: &str| {
        format!(
            r#"CASE WHEN "bookmark"."document_id" = "document"."id" THEN (SELECT {value} FROM "{table}"
                WHERE "{table}"."user_id" = "bookmark"."user_id" AND "{table}"."bookmark_id" = "bookmark"."id") END"#
        )
    };
    let tags = of_bookmark(tags, "bookmark_tag");
    let highlights = of_bookmark(highlights, "highlight");
    let note = of_bookmark(r#""note"."body""#, "note");
    format!(
        r#"SELECT "document"."id", "document"."url", "document"."title", "document"."content_type", "document"."author",
            "document"."bookmark_id", "document"."entry_id", "document"."created_at", "document"."status", "document"."error",
            "document"."total_chars", "document"."version", "bookmark"."saved_at", {tags}, {highlights}, {note}{more}
        FROM "document" LEFT JOIN "bookmark"
            ON "bookmark"."id" = "document"."bookmark_id" AND "bookmark"."user_id" = "document"."user_id"
        WHERE "document"."user_id" = $1 AND "document"."hidden_at" IS NULL AND {document}"#
    )
}

#[cfg(test)]
mod tests {
    use database::QueryPlan;
    use sea_orm::Statement;
    use uuid::Uuid;
    use values::id::{BookmarkId, DocumentId};

    use super::*;

    fn selectors() -> [PageSelector; 3] {
        [
            PageSelector::Document(DocumentId(Uuid::nil())),
            PageSelector::Bookmark(BookmarkId(Uuid::nil())),
            PageSelector::NormalizedUrl("https://example.com/".to_owned()),
        ]
    }

    #[tokio::test]
    async fn page_is_found_by_indexes_alone() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = database::Db::open(&url).await.unwrap();

        for selector in selectors() {
            let (PageQueries { row, row_with_text }, key) = PageQueries::select(&selector);
            let values: [Value; 4] = [Uuid::nil().into(), key, 0_i64.into(), 12_000_i64.into()];
            for (query, count, has_text) in [(row, 2, false), (row_with_text, 4, true)] {
                let (sql, values) = (query.sql(DatabaseBackend::Sqlite), values.iter().take(count).cloned());
                let statement = Statement::from_sql_and_values(DatabaseBackend::Sqlite, sql, values);
                let plan = QueryPlan::of(&db, statement).await.unwrap();

                assert!(plan.full_scans().is_empty() && !plan.sorts(), "{plan:#?}");
                // Neither all tags, highlights or notes of the user, nor the passages before the page.
                assert!(!plan.steps.iter().any(|step| step.ends_with("(user_id=?)")), "{plan:#?}");
                assert_eq!(plan.has_step("start_offset>? AND start_offset<?"), has_text, "{plan:#?}");
            }
        }
    }
}
