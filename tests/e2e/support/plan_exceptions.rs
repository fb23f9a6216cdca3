//! The statements that may read more rows than they need, each with its reason. [`statement_plans`](super::statement_plans) has the rules,
//! and names the list to which a statement would have to be added.
//!
//! In lists of statements, the first text is a part of the SQL, as the message of a failed test prints it.

/// The clean-up of sources that no user follows.
pub const SOURCES_CLEAN_UP: &str = r#"FROM "feed" WHERE "feed"."source_id" = "feed_source"."id""#;

/// The statements that may read whole tables. A run with requests of every surface sends each of them.
pub const FULL_SCANS: &[(&str, &str)] =
    &[(SOURCES_CLEAN_UP, "the clean-up reads all sources, and finds a follower of each by an index")];

/// Further statements that may read whole tables. Only some runs send them, depending on the database and on their timing.
pub const RARE_FULL_SCANS: &[(&str, &str)] = &[
    (
        r#"("document"."embedding_model" IS NULL OR "document"."embedding_model" <> "#,
        "a change of the model reads the documents of all users, in pages by their ids",
    ),
    (
        r#"DELETE FROM "job" WHERE (job.state = 'done')"#,
        "a clean-up reads once an hour the accounts, of each of which an index has the jobs that ended before a day",
    ),
    ("UPDATE title_search_merge", "the state of the merge of the index of titles, on SQLite, is one row"),
    (r#"FROM "user" LIMIT "#, "whether there is an account is told by the first row"),
    ("FROM title_search_merge", "the state of the merge of the index of titles, on SQLite, is one row"),
    (
        r#"SUM(account_count.bookmarks)"#,
        "an operator sees sums of the counters of all accounts, one row each",
    ),
    (r#"SUM(library_usage.bytes)"#, "an operator sees the sum of the sizes of all libraries, one row each"),
    (r#""service_state"."name" LIKE"#, "the table of the state of the server has a few rows"),
    (
        r#"WHERE "document"."hidden_at" IS NULL AND ("document"."indexed_version" > "#,
        "an audit of the index reads the documents of all users, in pages by their ids",
    ),
];

/// The statements that may read all rows of a user in a table that grows, to find some of them or to count. A run with requests of
/// every surface sends each of them.
pub const OWNER_SCANS: &[(&str, &str)] = &[(
    r#"NOT EXISTS(SELECT "bookmark_id" FROM "collection_bookmark""#,
    "an export reads all bookmarks of a user, page after page",
)];

/// Further statements that may read all rows of a user in a table that grows. Only some runs send them.
pub const RARE_OWNER_SCANS: &[(&str, &str)] = &[
    (
        r#"INSERT INTO "user""#,
        "SQLite plans to look for rows that refer to the new account, and looks only while a foreign key is violated",
    ),
    (r#"DELETE FROM "user""#, "an account is deleted with its last rows, whose tables are looked at"),
    (
        r#"DELETE FROM "notice" WHERE "notice"."user_id" = "#,
        "of the notices of a user only the newest are kept, so those before them are few",
    ),
    (
        r#"LOWER("tag_count"."name") LIKE"#,
        "tags whose names contain a text are looked for among those of a user, in their order until the page is full",
    ),
    (
        r#"LOWER("collection"."name") LIKE"#,
        "collections whose names contain a text are looked for among those of a user, in their order until there are enough",
    ),
    (
        r#""id" IN (SELECT "import_id" FROM "stored_file""#,
        "imports are begun by hand; PostgreSQL tests those of a user instead of looking up the few that have a file",
    ),
    (
        r#"WHERE "bookmark"."user_id" = $1 AND ((LOWER("bookmark"."title") LIKE $2"#,
        "if its statistics call parts of words frequent, PostgreSQL tests titles in the order of the list until there are enough",
    ),
    (
        r#""bookmark"."user_id" = $1 AND "bookmark"."deleted_at" IS NULL AND (LOWER("bookmark"."title") LIKE $2"#,
        "on PostgreSQL no index has words of one or two letters: bookmarks are tested in the order of the list until the page is full",
    ),
    (
        r#""bookmark"."deleted_at" IS NULL AND (NOT "#,
        "a query that only leaves bookmarks out matches nearly all: they are tested in the order of the list until the page is full",
    ),
    (
        r#""bookmark"."deleted_at" IS NULL AND ("bookmark"."archived" = "#,
        "either of two flags: bookmarks are tested in the order of the list until the page is full",
    ),
    (
        r#""bookmark"."deleted_at" IS NULL AND ((+"bookmark"."saved_at")"#,
        "either of two times: bookmarks are tested in the order of the list until the page is full",
    ),
    (
        r#""bookmark"."deleted_at" IS NULL AND ("bookmark"."saved_at" < $2 OR "bookmark"."saved_at" >= $3)"#,
        "the same on PostgreSQL",
    ),
];

/// The statements whose only condition is the owner, and that return or change all rows of a user in a table that grows.
pub const OWNER_READS: &[(&str, &str)] = &[
    (
        r#"SELECT count(*) FROM (SELECT 1 FROM "point_words""#,
        "a search of PostgreSQL itself counts up to 10,000 points of a user, to know how rare a word is",
    ),
    (r#"DELETE FROM "activity""#, "the lines of an account are deleted with the account"),
    (
        r#"FROM "collection" WHERE "collection"."user_id" = "#,
        "the list of collections is a tree and has no pages",
    ),
    (r#"FROM "feed" WHERE "feed"."user_id" = "#, "an OPML file has all feeds of a user"),
    (
        r#"SELECT "feed_count"."unread" FROM "feed_count""#,
        "the navigation adds the unread entries of the feeds of a user, each of which has one row",
    ),
    (
        r#"FROM "project" WHERE "project"."user_id" = "#,
        "projects are made by hand, and the command that lists them has no pages",
    ),
    ("DELETE FROM tag_count WHERE user_id = ", "the counters of an account are deleted with the account"),
    (
        "DELETE FROM collection_count WHERE user_id = ",
        "the counters of an account are deleted with the account",
    ),
    ("DELETE FROM project_count WHERE user_id = ", "the counters of an account are deleted with the account"),
    ("DELETE FROM feed_count WHERE user_id = ", "the counters of an account are deleted with the account"),
];

/// The statements that may find rows of a table that grows by a user, a parent, a kind or a state, and test further equality conditions
/// on each. Only plans of SQLite are looked at.
pub const RESIDUAL_FILTERS: &[(&str, &str)] = &[
    (
        r#""collection"."name" = ? AND "collection"."parent_id" = ?"#,
        "few collections of a user have the same name",
    ),
    (
        r#"FROM "project" WHERE "project"."user_id" = ? AND "project"."name" = ?"#,
        "few projects have the same name",
    ),
    (
        r#"SELECT "entry"."id" FROM "entry" WHERE "entry"."user_id" = ? AND "entry"."feed_id" = ? AND "entry"."starred" = ?"#,
        "the undo of an import looks once whether an entry of a feed is starred, in an index of the feed",
    ),
    (
        r#""entry"."feed_id" = ? AND "entry"."has_full_text" = ?"#,
        "a feed whose full texts are wanted is read once, its newest entries first",
    ),
    (
        r#"FROM "note" WHERE "note"."user_id" = ? AND "note"."project_id" = ?"#,
        "an import compares the notes of one project, as many as the plan allows",
    ),
    (
        r#"NOT EXISTS(SELECT "bookmark_id" FROM "collection_bookmark""#,
        "an export reads all bookmarks of a user, page after page",
    ),
    (
        r#""job"."kind" IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"#,
        "these are all kinds that this version knows: what it leaves out are jobs of a later version",
    ),
    (
        r#""job"."kind" IN (?, ?, ?, ?, ?) AND (job.state IN ('queued', 'running'))"#,
        "most of the pending jobs of a user make documents, which are the work that is listed",
    ),
    (
        r#""import_row"."outcome" = ? AND "import_row"."kind" = ?"#,
        "the end of an import reads once what it has created, of which most are bookmarks",
    ),
    (
        r#""import_row"."outcome" IN (?, ?) AND "import_row"."kind""#,
        "the undo of an import, and its report, read once what the import has created",
    ),
    (
        r#""import_row"."line" < ? AND "import_row"."object_id" IS NOT NULL"#,
        "an undo reads the rows of an import, page after page, and most are of bookmarks",
    ),
    (
        r#""import_row"."import_id" = ? AND "import_row"."kind" = ? AND "import_row"."detail" IS NOT NULL"#,
        "an undo changes the rows of the collections that stay once, after it has read all rows of the import",
    ),
    (
        r#""project_item"."project_id" = ? AND "project_item"."kind" = ?"#,
        "a project has as many items as its plan allows, and few of them are notes, of which the pinned come first",
    ),
];

/// The statements that may read all entries of a partial index, or all of a user, that grows.
pub const PARTIAL_READS: &[(&str, &str)] = &[
    (
        r#""collection"."parent_id" IS NULL ORDER BY LOWER("collection"."name")"#,
        "the library links the first collections of the top level, in the order of an index that has these alone",
    ),
    (
        r#"SELECT SUM("document"."indexed_points")"#,
        "a server that starts, or repairs the index, sums what the index is to hold",
    ),
    ("DELETE FROM job WHERE user_id = ", "the jobs of an account are deleted with the account"),
    (
        r#"DELETE FROM "job" WHERE (job.state = 'given_up')"#,
        "a clean-up reads once an hour which of the documents that failed are gone",
    ),
    (
        r#""job"."kind" IN ($2, $3, $4, $5, $6) AND "job"."subject" = $7 AND (job.state = 'given_up')"#,
        "the failure of one document: PostgreSQL may combine the index of the subject with the failed jobs of the user",
    ),
    (r#"GROUP BY "job"."track", "job"."state""#, "the metrics count the queue when they are read"),
    (
        r#"COUNT("document"."id") AS "documents" FROM "document""#,
        "the metrics count the documents that the index lacks, as they count the queue",
    ),
    (
        r#"ORDER BY "job"."finished_at" DESC, "job"."id" DESC LIMIT "#,
        "an operator sees the latest failed jobs of all users, which are read until the page is full",
    ),
    (
        r#"COUNT("job"."id") AS "jobs" FROM "job" WHERE (job.state = 'given_up')"#,
        "an operator sees the numbers of failed jobs by kind, of all users",
    ),
    (r#"(NOT "job"."kind" IN"#, "a clean-up counts once an hour what waits for another version"),
    (
        "(document.status = 'failed' OR document.error IS NOT NULL)",
        "a model that was loaded for the first time looks for documents without a text, of all users, to embed their titles",
    ),
];

/// The partial indexes whose entries, all or all of a user, may be read: the name, and why they are few.
pub const PARTIAL_INDEXES: &[(&str, &str)] = &[
    ("activity_refused", "few of the calls of a user are refused, and their lines are deleted by age"),
    ("bookmark_continued", "few of the bookmarks of a user are begun and not read to the end"),
    ("bookmark_started", "few of the bookmarks of a user are begun and not read to the end"),
    ("document_processing", "a document leaves it when its text is made"),
    ("api_key_test", "a key of a connection test lasts for minutes"),
    ("bookmark_user_deleted", "deleted bookmarks are removed after their retention"),
    ("document_lost_by_index", "it has the documents that a repair of the index adds again"),
    ("entry_user_moved", "it has the entries whose date a feed changed since they came"),
    ("export_running", "a user has one running export at most"),
    ("feed_source_failing", "few of the feeds fail at the same time"),
    ("highlight_lost", "it has the few highlights whose words were not found again in a new text"),
    ("import_running", "it has the imports that have not ended"),
    ("job_lease", "it has the jobs that run, at most as many as the worker has slots"),
    ("job_running", "it has the jobs that run, at most as many as the worker has slots"),
    ("notice_unread", "of the notices of a user only the newest are kept"),
    ("transcript_unfinished", "it has the recordings that are being transcribed"),
    ("upload_incomplete", "an upload is complete or removed within hours"),
    ("upload_user_incomplete", "an upload is complete or removed within hours"),
];

/// The tables that do not grow with a library or with its use: a statement may read all rows of a user there. All others grow.
pub const SMALL_TABLES: &[(&str, &str)] = &[
    ("account_count", "one row for each user"),
    ("account_setting", "one row for each user"),
    ("answer_claim", "one row for each answer that is being written"),
    ("ask_thread", "of the threads of a user the latest 100 are kept"),
    ("api_key", "a user makes a few keys by hand"),
    ("entry_mark", "of the marks of a user the latest few are kept"),
    ("export", "of the exports of a user the latest few are kept"),
    ("feed_mute", "a user makes rules by hand, up to a bound"),
    ("library_usage", "one row for each user"),
    ("notice", "of the notices of a user only the newest are kept"),
    ("oauth_code", "a code lasts for minutes"),
    ("oauth_consent", "a question for consent lasts for minutes"),
    ("activity_day", "one row for each key and app and each of the days that are kept"),
    ("oauth_grant", "one row for each app that a user has connected by hand"),
    ("password_reset", "a link lasts for an hour, and an account gets few"),
    ("service_state", "the table of the state of the server has a few rows"),
    ("stored_file", "only files of imports and exports have a user, and few of these are kept"),
    ("saved_search", "a user has 100 saved searches at most"),
    ("undo", "of the changes of a user that can be undone the latest 20 are kept"),
    ("undo_step", "the steps of a change are read by it one after the other"),
    ("session", "of the sessions of a user the newest 100 are kept"),
    ("title_search_owner", "one row for each user"),
    ("usage_day", "one row for each of the days that are kept"),
    ("usage_month", "one row for each month"),
    ("user", "one row for each user"),
    ("web_state", "one row for each user"),
];
