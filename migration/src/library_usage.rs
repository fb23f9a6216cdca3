//! Which rows and columns count towards the bytes of a user's library, and the triggers that count them. The queries that compare the
//! counts with the rows are in crate `database`.
//!
//! A row counts by the bytes of its texts and by [`ROW_BYTES`]. Only stored responses count by their texts alone.
//!
//! The database counts in the transaction that changes a counted table: triggers change one row of `library_usage` per user. So
//! cascading deletes, clean-ups and statements by hand are counted too. On SQLite a trigger runs for each row; on PostgreSQL once
//! for each statement, over its transition tables, because a thousand updates of one row in one transaction are slow there.
//!
//! A migration that creates a counted table again must create its triggers again: they are dropped with the table.

mod triggers;

use sea_orm_migration::sea_orm::DatabaseBackend;

pub(crate) use triggers::trigger_statements;

/// Bytes that a counted row takes up besides its texts: its ids, numbers and times, and its entries in the indexes. Without them rows
/// that have no text would be free, and an account could fill the disk with an import that names one URL again and again.
///
/// One number for all tables, because an estimate is enough. Measured on SQLite, with the indexes and without the texts: 140 bytes for
/// a bookmark in a collection, 170 for a passage, 190 for a highlight, 240 to 310 for a row of an import, 270 for an item of a project.
pub const ROW_BYTES: usize = 200;

/// A table whose rows are counted. Each of them names its user in `user_id`, for as long as the row lives.
pub struct CountedTable {
    /// Its name.
    pub table: &'static str,
    /// The columns whose bytes are counted, as UTF-8. A table without any counts by its number of rows alone.
    pub columns: &'static [&'static str],
    /// The index that finds a user's rows.
    access: Access,
    /// Whether the number of its rows is kept too, and their bytes separately: the stored responses of a user are bounded in number and
    /// bytes. Because of the first bound their rows do not count as [`ROW_BYTES`].
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
const OF_PROJECT: Access = Access::Parent { table: "project", column: "project_id" };

impl CountedTable {
    const fn texts(table: &'static str, columns: &'static [&'static str], access: Access) -> Self {
        Self { table, columns, access, is_stored_response: false }
    }

    const fn without_texts(table: &'static str, access: Access) -> Self {
        Self::texts(table, &[], access)
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
        let row = (!self.is_stored_response).then(|| ROW_BYTES.to_string());
        row.into_iter().chain(self.columns.iter().map(|column| bytes(column))).collect::<Vec<_>>().join(" + ")
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

/// The counted tables: what a user adds, or what is fetched for a user. The passages of a document are its text. A column that is not
/// listed is short, such as a state that the server writes; [`ROW_BYTES`] stands for it.
///
/// The other tables are not counted, each for one of these reasons:
///
/// - Their rows copy counted ones: a note has a document, whose passages are its body. So has a transcript, and its segments are bounded
///   by the length of the recording. `tag_count` has a row for each tag, `feed_count`, `collection_count` and
///   `project_count` for each feed, collection and project.
/// - Their files have other quotas: `stored_file` has a row for the file of each upload, import, export and fetched recording, and exports
///   are deleted by age.
/// - Their rows are bounded in number or deleted by age: accounts with their settings, keys, sessions and connections of apps, counters,
///   claims of answers, threads of questions, saved searches, muted words, what can be undone, activity, and jobs, of which a failed one
///   may stay as long as its document.
/// - Their rows are few, because each takes several requests: a notice tells of the first use of a key, or of a new connection.
/// - They have short rows for counted ones: `reading_position` one for each document at most, `picture_size` one for each picture that its
///   HTML names, at most 500.
/// - They index counted texts: the tables of `title_search`.
/// - They serve all users: `feed_source`, `feed_content` and `feed_push` have one row for all followers of a URL. The feed and the entries
///   of each follower are counted, and a source is not fetched while no follower has room for its entries.
pub const COUNTED_TABLES: [CountedTable; 18] = [
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
    CountedTable::without_texts(
        "collection_bookmark",
        Access::Parent { table: "collection", column: "collection_id" },
    ),
    CountedTable::texts("project", &["name", "description", "instructions"], Access::User),
    CountedTable::without_texts("project_item", OF_PROJECT),
    CountedTable::texts("decision", &["title", "body"], OF_PROJECT),
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
