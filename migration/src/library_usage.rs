//! Which columns count towards the bytes of a user's library, and the triggers that count them. The queries that compare the counts
//! with the rows are in crate `database`.
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
pub struct CountedTable {
    /// Its name.
    pub table: &'static str,
    /// The columns whose bytes are counted, as UTF-8.
    pub columns: &'static [&'static str],
    /// The index that finds a user's rows.
    access: Access,
    /// Whether its rows are counted too, and their bytes separately: the stored responses of a user are bounded in number and bytes.
    pub is_stored_response: bool,
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

    /// Returns SQL for the bytes of a stored row, whose columns have this prefix. OCTET_LENGTH does not read the whole text.
    pub fn stored_bytes(&self, prefix: &str) -> String {
        self.sum(|column| format!("COALESCE(CAST(OCTET_LENGTH({prefix}{column}) AS BIGINT), 0)"))
    }

    fn sum(&self, bytes: impl Fn(&str) -> String) -> String {
        self.columns.iter().map(|column| bytes(column)).collect::<Vec<_>>().join(" + ")
    }

    /// Returns the `FROM` clause of the rows of the user `$1`. An index finds them.
    pub fn rows_of_user(&self) -> String {
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
/// and body of a note and the segments of a transcript are copies, so they do not count again. What the server writes itself
/// (states, errors, notices, activity) does not count; its rows are bounded by number or age.
pub const COUNTED_TABLES: [CountedTable; 16] = [
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
