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

/// A table whose texts are counted. Each of its rows names its user in `user_id`, for as long as the row lives.
struct CountedTable {
    table: &'static str,
    /// The columns whose bytes are counted, as UTF-8.
    columns: &'static [&'static str],
    /// The index that finds a user's rows.
    access: Access,
    /// Whether its rows are counted by themselves too: stored idempotent answers are bounded.
    is_answer: bool,
}

/// How a user's rows are found without reading the whole table.
enum Access {
    /// An index of the table begins with `user_id`.
    User,
    /// No index does: the rows are found through another table, whose id is in this indexed column.
    Parent { table: &'static str, column: &'static str },
}

const OF_DOCUMENT: Access = Access::Parent { table: "document", column: "document_id" };

impl CountedTable {
    const fn texts(table: &'static str, columns: &'static [&'static str], access: Access) -> Self {
        Self { table, columns, access, is_answer: false }
    }

    /// SQL for the bytes of the row that a trigger names by this prefix.
    fn trigger_bytes(&self, backend: DatabaseBackend, prefix: &str) -> String {
        if backend == DatabaseBackend::Postgres {
            return self.stored_bytes(prefix);
        }
        // Works in every version of SQLite: tools older than 3.43, without OCTET_LENGTH, can still write to the tables.
        self.sum(|column| format!("COALESCE(LENGTH(CAST({prefix}{column} AS BLOB)), 0)"))
    }

    /// SQL for the bytes of a stored row. OCTET_LENGTH does not read the whole text.
    fn stored_bytes(&self, prefix: &str) -> String {
        self.sum(|column| format!("COALESCE(CAST(OCTET_LENGTH({prefix}{column}) AS BIGINT), 0)"))
    }

    fn sum(&self, bytes: impl Fn(&str) -> String) -> String {
        self.columns.iter().map(|column| bytes(column)).collect::<Vec<_>>().join(" + ")
    }

    /// The `FROM` clause of the rows of every user.
    fn every_row(&self) -> String {
        self.table.to_owned()
    }

    /// The `FROM` clause of the rows of the user `$1`.
    fn rows_of_user(&self) -> String {
        let table = self.table;
        match self.access {
            Access::User => format!("{table} WHERE {table}.user_id = $1"),
            // A cross join, because SQLite keeps its order: the user's parents first, then the rows of each.
            Access::Parent { table: parent, column } => format!(
                "{parent} CROSS JOIN {table} WHERE {parent}.user_id = $1 AND {table}.{column} = {parent}.id"
            ),
        }
    }
}

/// The counted texts: those that a user adds, or that are fetched for a user. The passages of a document are its text. The title
/// and body of a note and the segments of a transcript are copies, so they do not count again. What the service writes itself
/// (states, errors, notices, activity) does not count; its rows are bounded by number or age.
const COUNTED_TABLES: [CountedTable; 16] = [
    CountedTable::texts(
        "document",
        &[
            "url",
            "title",
            "author",
            "site_name",
            "description",
            "image_url",
            "published_at",
            "canonical_url",
            "recording_url",
            "lacks",
        ],
        Access::User,
    ),
    CountedTable::texts("chunk", &["text"], OF_DOCUMENT),
    CountedTable::texts("source", &["body", "html", "outline"], OF_DOCUMENT),
    CountedTable::texts("rendition", &["html", "outline"], Access::User),
    CountedTable::texts("bookmark", &["url", "normalized_url"], Access::User),
    CountedTable::texts("bookmark_tag", &["name"], Access::User),
    CountedTable::texts(
        "highlight",
        &["text", "note", "color"],
        Access::Parent { table: "bookmark", column: "bookmark_id" },
    ),
    CountedTable::texts("collection", &["name", "description"], Access::User),
    CountedTable::texts("project", &["name", "description", "instructions"], Access::User),
    CountedTable::texts(
        "decision",
        &["title", "body"],
        Access::Parent { table: "project", column: "project_id" },
    ),
    CountedTable::texts("feed", &["url", "title", "folder"], Access::User),
    CountedTable::texts(
        "entry",
        &["url", "normalized_url", "title", "author", "summary", "enclosure_url", "enclosure_type"],
        Access::User,
    ),
    CountedTable::texts("upload", &["filename", "content_type"], Access::User),
    CountedTable::texts("import", &["unread_columns"], Access::User),
    CountedTable::texts("import_row", &["detail"], Access::Parent { table: "import", column: "import_id" }),
    CountedTable { table: "idempotency", columns: &["body"], access: Access::User, is_answer: true },
];

/// Every counted column, with its table.
pub fn counted_columns() -> Vec<(&'static str, &'static str)> {
    let of_table = |counted: &CountedTable| {
        let table = counted.table;
        counted.columns.iter().map(move |column| (table, *column))
    };
    COUNTED_TABLES.iter().flat_map(of_table).collect()
}

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
        for statement in trigger_statements(backend) {
            db.execute_unprepared(&statement).await?;
        }
        db.execute_unprepared(&fill_query()).await?;
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

/// The sums of every counted table as one select with the columns `user_id`, `bytes`, `answers` and `answer_bytes`, over the rows
/// of the `FROM` clauses that `from` makes.
fn sums_query(from: fn(&CountedTable) -> String) -> String {
    let of_table = |counted: &CountedTable| {
        let table = counted.table;
        let bytes = counted.stored_bytes(&format!("{table}."));
        let (answers, answer_bytes) = if counted.is_answer { ("1", bytes.as_str()) } else { ("0", "0") };
        format!(
            "SELECT {table}.user_id AS user_id, {bytes} AS bytes, {answers} AS answers, \
             {answer_bytes} AS answer_bytes FROM {}",
            from(counted)
        )
    };
    let rows = COUNTED_TABLES.iter().map(of_table).collect::<Vec<_>>().join(" UNION ALL ");
    format!(
        "SELECT user_id, CAST(SUM(bytes) AS BIGINT) AS bytes, CAST(SUM(answers) AS BIGINT) AS answers, \
         CAST(SUM(answer_bytes) AS BIGINT) AS answer_bytes FROM ({rows}) AS counted GROUP BY user_id"
    )
}

/// The statement that counts the existing rows: one pass over each table for all users.
fn fill_query() -> String {
    format!(
        r#"INSERT INTO library_usage (user_id, bytes, answers, answer_bytes)
           SELECT "user".id, COALESCE(sums.bytes, 0), COALESCE(sums.answers, 0), COALESCE(sums.answer_bytes, 0)
           FROM "user" LEFT JOIN ({}) AS sums ON sums.user_id = "user".id"#,
        sums_query(CountedTable::every_row)
    )
}

/// SQL that selects by how much a user's rows differ from the kept count: `bytes`, `answers` and `answer_bytes`, each to be added
/// to the kept number. Selects no row if there is no count for the user. The user's id is the only parameter, `$1`. Every table
/// is read by an index.
pub fn difference_query() -> String {
    format!(
        "SELECT COALESCE(sums.bytes, 0) - kept.bytes AS bytes, COALESCE(sums.answers, 0) - kept.answers AS answers,
           COALESCE(sums.answer_bytes, 0) - kept.answer_bytes AS answer_bytes
         FROM library_usage AS kept LEFT JOIN ({}) AS sums ON sums.user_id = kept.user_id
         WHERE kept.user_id = $1",
        sums_query(CountedTable::rows_of_user)
    )
}

/// SQL that selects the `user_id` of every user whose count differs from the rows, or is missing. It reads the counted tables
/// completely.
pub fn differing_users_query() -> String {
    format!(
        r#"SELECT "user".id AS user_id FROM "user"
           LEFT JOIN library_usage AS kept ON kept.user_id = "user".id
           LEFT JOIN ({}) AS sums ON sums.user_id = "user".id
           WHERE kept.user_id IS NULL OR kept.bytes <> COALESCE(sums.bytes, 0)
             OR kept.answers <> COALESCE(sums.answers, 0) OR kept.answer_bytes <> COALESCE(sums.answer_bytes, 0)
           ORDER BY "user".id"#,
        sums_query(CountedTable::every_row)
    )
}

fn trigger_statements(backend: DatabaseBackend) -> Vec<String> {
    if backend == DatabaseBackend::Postgres {
        let of_users = POSTGRES_USER.iter().map(|statement| (*statement).to_owned());
        of_users.chain(COUNTED_TABLES.iter().flat_map(postgres_triggers)).collect()
    } else {
        let of_users = SQLITE_USER.iter().map(|statement| (*statement).to_owned());
        of_users.chain(COUNTED_TABLES.iter().flat_map(sqlite_triggers)).collect()
    }
}

/// Each account has its row from its creation, so that counting is always an update. The row is deleted before the account, so that
/// the cascading deletes update nothing: on PostgreSQL each of thousands of updates of one row in one transaction would read all
/// earlier versions of the row.
const SQLITE_USER: [&str; 2] = [
    r#"CREATE TRIGGER library_usage_of_user AFTER INSERT ON "user" BEGIN
         INSERT INTO library_usage (user_id, bytes, answers, answer_bytes) VALUES (NEW.id, 0, 0, 0);
       END"#,
    r#"CREATE TRIGGER library_usage_of_deleted_user BEFORE DELETE ON "user" BEGIN
         DELETE FROM library_usage WHERE user_id = OLD.id;
       END"#,
];

/// The same for PostgreSQL.
const POSTGRES_USER: [&str; 4] = [
    "CREATE FUNCTION library_usage_of_user() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
       INSERT INTO library_usage (user_id, bytes, answers, answer_bytes) VALUES (NEW.id, 0, 0, 0);
       RETURN NULL;
     END
     $$",
    r#"CREATE TRIGGER library_usage_of_user AFTER INSERT ON "user"
       FOR EACH ROW EXECUTE FUNCTION library_usage_of_user()"#,
    "CREATE FUNCTION library_usage_of_deleted_user() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
       DELETE FROM library_usage WHERE user_id = OLD.id;
       RETURN OLD;
     END
     $$",
    r#"CREATE TRIGGER library_usage_of_deleted_user BEFORE DELETE ON "user"
       FOR EACH ROW EXECUTE FUNCTION library_usage_of_deleted_user()"#,
];

/// One trigger for each of insert, update and delete.
fn sqlite_triggers(counted: &CountedTable) -> Vec<String> {
    let CountedTable { table, columns, is_answer, .. } = counted;
    let backend = DatabaseBackend::Sqlite;
    let (new, old) = (counted.trigger_bytes(backend, "NEW."), counted.trigger_bytes(backend, "OLD."));
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

/// A function of the table's own, and the three statements that call it: transition tables belong to one event each.
fn postgres_triggers(counted: &CountedTable) -> Vec<String> {
    let CountedTable { table, is_answer, .. } = counted;
    let bytes = counted.trigger_bytes(DatabaseBackend::Postgres, "");
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
