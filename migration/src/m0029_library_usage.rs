//! What a user's library takes up is counted by the database itself, in the transaction that changes it.
//!
//! Triggers on the counted tables change one row of `library_usage` per user. So no path can forget to count: cascading
//! deletes, clean-ups and statements by hand are counted as well. On SQLite a trigger runs for each row; on PostgreSQL once for
//! each statement, over its transition tables, because a thousand updates of one row in one transaction are slow there.
//!
//! A later step that makes a counted table anew must make its triggers anew too: they go with the table.

use sea_orm_migration::prelude::*;
use sea_orm_migration::sea_orm::{ConnectionTrait, DatabaseBackend};

use crate::statement;

/// A table whose texts are counted.
struct CountedTable {
    table: &'static str,
    /// The columns whose bytes are counted, as UTF-8.
    columns: &'static [&'static str],
    /// Whether its rows are counted by themselves too: stored idempotent answers are bounded.
    is_answer: bool,
}

impl CountedTable {
    const fn texts(table: &'static str, columns: &'static [&'static str]) -> Self {
        Self { table, columns, is_answer: false }
    }

    /// The bytes of a row, named by this prefix.
    fn bytes(&self, backend: DatabaseBackend, prefix: &str) -> String {
        let is_postgres = backend == DatabaseBackend::Postgres;
        let length = |column: &&str| {
            if is_postgres {
                format!("COALESCE(CAST(OCTET_LENGTH({prefix}{column}) AS BIGINT), 0)")
            } else {
                // LENGTH of a text counts characters, of a blob bytes.
                format!("COALESCE(LENGTH(CAST({prefix}{column} AS BLOB)), 0)")
            }
        };
        self.columns.iter().map(length).collect::<Vec<_>>().join(" + ")
    }
}

/// What counts. The passages of a document are its text. The body of a note and the segments of a transcript are copies of
/// passages, so they do not count again.
const COUNTED_TABLES: [CountedTable; 10] = [
    CountedTable::texts(
        "document",
        &[
            "url",
            "title",
            "author",
            "site_name",
            "description",
            "image_url",
            "canonical_url",
            "recording_url",
        ],
    ),
    CountedTable::texts("chunk", &["text"]),
    CountedTable::texts("source", &["body", "html", "outline"]),
    CountedTable::texts("rendition", &["html", "outline"]),
    CountedTable::texts("highlight", &["text", "note"]),
    CountedTable::texts("collection", &["name", "description"]),
    CountedTable::texts("project", &["name", "description", "instructions"]),
    CountedTable::texts("decision", &["title", "body"]),
    CountedTable::texts("import_row", &["detail"]),
    CountedTable { table: "idempotency", columns: &["body"], is_answer: true },
];

/// The table, its triggers, and the count of what is there.
pub struct CountLibrary;

impl MigrationName for CountLibrary {
    fn name(&self) -> &str {
        "m0029_library_usage"
    }
}

#[async_trait::async_trait]
impl MigrationTrait for CountLibrary {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        statement::run(manager, TABLE).await?;
        let db = manager.get_connection();
        let backend = db.get_database_backend();
        // The triggers first: on PostgreSQL they lock their tables, so the count sees all that is committed.
        for statement in triggers(backend) {
            db.execute_unprepared(&statement).await?;
        }
        db.execute_unprepared(&fill(backend)).await?;
        Ok(())
    }

    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }
}

const TABLE: &str = r#"
CREATE TABLE library_usage (
    user_id UUID PRIMARY KEY REFERENCES "user" (id) ON DELETE CASCADE,
    bytes BIGINT NOT NULL,
    answers BIGINT NOT NULL,
    answer_bytes BIGINT NOT NULL
)
"#;

/// The sums of every counted table as one select with the columns `user_id`, `bytes`, `answers` and `answer_bytes`, of all
/// users or of those that `filter` leaves.
fn sums(backend: DatabaseBackend, filter: &str) -> String {
    let of_table = |counted: &CountedTable| {
        let (table, bytes) = (counted.table, counted.bytes(backend, ""));
        let (answers, answer_bytes) = if counted.is_answer { ("1", bytes.as_str()) } else { ("0", "0") };
        format!(
            "SELECT user_id, {bytes} AS bytes, {answers} AS answers, {answer_bytes} AS answer_bytes FROM {table} {filter}"
        )
    };
    let rows = COUNTED_TABLES.iter().map(of_table).collect::<Vec<_>>().join(" UNION ALL ");
    format!(
        "SELECT user_id, CAST(SUM(bytes) AS BIGINT) AS bytes, CAST(SUM(answers) AS BIGINT) AS answers, \
         CAST(SUM(answer_bytes) AS BIGINT) AS answer_bytes FROM ({rows}) AS counted GROUP BY user_id"
    )
}

/// One pass over each table, whatever the number of users.
fn fill(backend: DatabaseBackend) -> String {
    format!(
        r#"INSERT INTO library_usage (user_id, bytes, answers, answer_bytes)
           SELECT "user".id, COALESCE(sums.bytes, 0), COALESCE(sums.answers, 0), COALESCE(sums.answer_bytes, 0)
           FROM "user" LEFT JOIN ({}) AS sums ON sums.user_id = "user".id"#,
        sums(backend, "")
    )
}

/// Counts a user's library from its rows: a select of `bytes`, `answers` and `answer_bytes`, with no row where there is nothing.
/// The user's id is the only parameter, `$1`. It reads the counted tables whole.
pub fn recount(backend: DatabaseBackend) -> String {
    format!("SELECT bytes, answers, answer_bytes FROM ({}) AS sums", sums(backend, "WHERE user_id = $1"))
}

/// Selects the `user_id` of every user whose count differs from the rows, or is missing. It reads the counted tables whole.
pub fn differing(backend: DatabaseBackend) -> String {
    format!(
        r#"SELECT "user".id AS user_id FROM "user"
           LEFT JOIN library_usage AS kept ON kept.user_id = "user".id
           LEFT JOIN ({}) AS sums ON sums.user_id = "user".id
           WHERE kept.user_id IS NULL OR kept.bytes <> COALESCE(sums.bytes, 0)
             OR kept.answers <> COALESCE(sums.answers, 0) OR kept.answer_bytes <> COALESCE(sums.answer_bytes, 0)
           ORDER BY "user".id"#,
        sums(backend, "")
    )
}

fn triggers(backend: DatabaseBackend) -> Vec<String> {
    if backend == DatabaseBackend::Postgres {
        postgres_user().into_iter().chain(COUNTED_TABLES.iter().flat_map(postgres)).collect()
    } else {
        std::iter::once(SQLITE_USER.to_owned()).chain(COUNTED_TABLES.iter().flat_map(sqlite)).collect()
    }
}

/// Each account has its row from the beginning, so that counting is an update and nothing else.
const SQLITE_USER: &str = r#"
CREATE TRIGGER library_usage_of_user AFTER INSERT ON "user" BEGIN
  INSERT INTO library_usage (user_id, bytes, answers, answer_bytes) VALUES (NEW.id, 0, 0, 0);
END
"#;

/// One trigger for each of insert, update and delete.
fn sqlite(counted: &CountedTable) -> Vec<String> {
    let CountedTable { table, columns, is_answer } = counted;
    let backend = DatabaseBackend::Sqlite;
    let (new, old) = (counted.bytes(backend, "NEW."), counted.bytes(backend, "OLD."));
    let trigger = |event: &str, when: &str, bytes: &str, rows: &str, row: &str| {
        let name = event.split(' ').next().unwrap_or(event).to_lowercase();
        let answers = if *is_answer {
            format!(", answers = answers + {rows}, answer_bytes = answer_bytes + ({bytes})")
        } else {
            String::new()
        };
        format!(
            "CREATE TRIGGER library_usage_{table}_{name} AFTER {event} ON {table} {when} BEGIN
               UPDATE library_usage SET bytes = bytes + ({bytes}){answers} WHERE user_id = {row}.user_id;
             END"
        )
    };
    let update = format!("UPDATE OF {}", columns.join(", "));
    vec![
        trigger("INSERT", "", &new, "1", "NEW"),
        trigger(&update, &format!("WHEN {new} <> {old}"), &format!("{new} - ({old})"), "0", "NEW"),
        trigger("DELETE", "", &format!("0 - ({old})"), "(-1)", "OLD"),
    ]
}

fn postgres_user() -> Vec<String> {
    vec![
        "CREATE FUNCTION library_usage_of_user() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
           INSERT INTO library_usage (user_id, bytes, answers, answer_bytes) VALUES (NEW.id, 0, 0, 0);
           RETURN NULL;
         END
         $$"
        .to_owned(),
        r#"CREATE TRIGGER library_usage_of_user AFTER INSERT ON "user"
           FOR EACH ROW EXECUTE FUNCTION library_usage_of_user()"#
            .to_owned(),
    ]
}

/// A function of the table's own, and the three statements that call it: transition tables belong to one event each.
fn postgres(counted: &CountedTable) -> Vec<String> {
    let CountedTable { table, is_answer, .. } = counted;
    let bytes = counted.bytes(DatabaseBackend::Postgres, "");
    let added = format!("SELECT user_id, {bytes} AS bytes, 1 AS items FROM added");
    let removed = format!("SELECT user_id, -({bytes}) AS bytes, -1 AS items FROM removed");
    let (answers, or_items) = if *is_answer {
        let answers =
            ", answers = kept.answers + change.items, answer_bytes = kept.answer_bytes + change.bytes";
        (answers, " OR change.items <> 0")
    } else {
        ("", "")
    };
    let count = |rows: &str| {
        format!(
            "UPDATE library_usage AS kept SET bytes = kept.bytes + change.bytes{answers}
             FROM (SELECT user_id, SUM(bytes) AS bytes, SUM(items) AS items FROM ({rows}) AS changed
                   GROUP BY user_id) AS change
             WHERE kept.user_id = change.user_id AND (change.bytes <> 0{or_items});"
        )
    };
    let function = format!(
        "CREATE FUNCTION library_usage_of_{table}() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
           IF TG_OP = 'INSERT' THEN
             {}
           ELSIF TG_OP = 'DELETE' THEN
             {}
           ELSE
             {}
           END IF;
           RETURN NULL;
         END
         $$",
        count(&added),
        count(&removed),
        count(&format!("{added} UNION ALL {removed}")),
    );
    let trigger = |event: &str, tables: &str| {
        let name = event.to_lowercase();
        format!(
            "CREATE TRIGGER library_usage_{table}_{name} AFTER {event} ON {table} REFERENCING {tables}
             FOR EACH STATEMENT EXECUTE FUNCTION library_usage_of_{table}()"
        )
    };
    vec![
        function,
        trigger("INSERT", "NEW TABLE AS added"),
        trigger("UPDATE", "OLD TABLE AS removed NEW TABLE AS added"),
        trigger("DELETE", "OLD TABLE AS removed"),
    ]
}
