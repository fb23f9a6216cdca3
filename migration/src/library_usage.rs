//! SQL of the bytes that each user's library takes up: which columns count, the triggers that count them, and the queries that
//! compare the counts with the rows.
//!
//! The database counts in the transaction that changes a counted table: triggers change one row of `library_usage` per user. So
//! cascading deletes, clean-ups and statements by hand are counted too. On SQLite a trigger runs for each row; on PostgreSQL once
//! for each statement, over its transition tables, because a thousand updates of one row in one transaction are slow there.
//!
//! A migration that creates a counted table again must create its triggers again: they are dropped with the table.

mod triggers;

use sea_orm_migration::sea_orm::DatabaseBackend;

pub(crate) use triggers::trigger_statements;

/// A table whose texts are counted. Each of its rows names its user in `user_id`, for as long as the row lives.
struct CountedTable {
    table: &'static str,
    /// The columns whose bytes are counted, as UTF-8.
    columns: &'static [&'static str],
    /// The index that finds a user's rows.
    access: Access,
    /// Whether its rows are counted too, and their bytes separately: the stored responses of a user are bounded in number and bytes.
    is_stored_response: bool,
}

/// The way in which a user's rows are found without reading the whole table.
enum Access {
    /// An index of the table begins with `user_id`.
    User,
    /// No index does: the rows are found through another table, whose id is in this indexed column.
    Parent { table: &'static str, column: &'static str },
}

const OF_DOCUMENT: Access = Access::Parent { table: "document", column: "document_id" };

impl CountedTable {
    const fn texts(table: &'static str, columns: &'static [&'static str], access: Access) -> Self {
        Self { table, columns, access, is_stored_response: false }
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

    /// Returns the `FROM` clause of the rows of every user.
    fn every_row(&self) -> String {
        self.table.to_owned()
    }

    /// Returns the `FROM` clause of the rows of the user `$1`.
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
            "missing_reason",
        ],
        Access::User,
    ),
    CountedTable::texts("chunk", &["text"], OF_DOCUMENT),
    CountedTable::texts("source", &["body", "html", "outline"], OF_DOCUMENT),
    CountedTable::texts("rendition", &["html", "outline"], Access::User),
    CountedTable::texts("bookmark", &["url", "normalized_url"], Access::User),
    CountedTable::texts("bookmark_tag", &["name"], Access::User),
    CountedTable::texts("highlight", &["text", "note", "color"], Access::User),
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
    CountedTable::texts(
        "import_row",
        &["name", "detail"],
        Access::Parent { table: "import", column: "import_id" },
    ),
    CountedTable { table: "idempotency", columns: &["body"], access: Access::User, is_stored_response: true },
];

/// Returns every counted column as a pair of table and column.
pub fn counted_columns() -> Vec<(&'static str, &'static str)> {
    let of_table = |counted: &CountedTable| {
        let table = counted.table;
        counted.columns.iter().map(move |column| (table, *column))
    };
    COUNTED_TABLES.iter().flat_map(of_table).collect()
}

/// Returns the sums of every counted table as one select with the columns `user_id`, `bytes`, `responses` and `response_bytes`,
/// over the rows of the `FROM` clauses that `from` makes.
fn sums_query(from: fn(&CountedTable) -> String) -> String {
    let of_table = |counted: &CountedTable| {
        let table = counted.table;
        let bytes = counted.stored_bytes(&format!("{table}."));
        let (responses, response_bytes) =
            if counted.is_stored_response { ("1", bytes.as_str()) } else { ("0", "0") };
        format!(
            "SELECT {table}.user_id AS user_id, {bytes} AS bytes, {responses} AS responses, \
             {response_bytes} AS response_bytes FROM {}",
            from(counted)
        )
    };
    let rows = COUNTED_TABLES.iter().map(of_table).collect::<Vec<_>>().join(" UNION ALL ");
    // On PostgreSQL the sum of BIGINT is NUMERIC, which no integer of Rust decodes.
    format!(
        "SELECT user_id, CAST(SUM(bytes) AS BIGINT) AS bytes, CAST(SUM(responses) AS BIGINT) AS responses, \
         CAST(SUM(response_bytes) AS BIGINT) AS response_bytes FROM ({rows}) AS counted GROUP BY user_id"
    )
}

/// Returns SQL that selects by how much a user's rows differ from the kept count: `bytes`, `responses` and `response_bytes`, each
/// to be added to the kept number. Selects no row if there is no count for the user. The user's id is the only parameter, `$1`.
/// Every table is read by an index.
pub fn difference_query() -> String {
    format!(
        "SELECT COALESCE(sums.bytes, 0) - kept.bytes AS bytes,
           COALESCE(sums.responses, 0) - kept.responses AS responses,
           COALESCE(sums.response_bytes, 0) - kept.response_bytes AS response_bytes
         FROM library_usage AS kept LEFT JOIN ({}) AS sums ON sums.user_id = kept.user_id
         WHERE kept.user_id = $1",
        sums_query(CountedTable::rows_of_user)
    )
}

/// Returns SQL that selects the `user_id` of every user whose count differs from the rows, or is missing. It reads the counted tables
/// completely.
pub fn differing_users_query() -> String {
    format!(
        r#"SELECT "user".id AS user_id FROM "user"
           LEFT JOIN library_usage AS kept ON kept.user_id = "user".id
           LEFT JOIN ({}) AS sums ON sums.user_id = "user".id
           WHERE kept.user_id IS NULL OR kept.bytes <> COALESCE(sums.bytes, 0)
             OR kept.responses <> COALESCE(sums.responses, 0)
             OR kept.response_bytes <> COALESCE(sums.response_bytes, 0)
           ORDER BY "user".id"#,
        sums_query(CountedTable::every_row)
    )
}
