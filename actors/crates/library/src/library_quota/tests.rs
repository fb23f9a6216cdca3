//! Tests of the quota of a library.

use std::collections::BTreeSet;

use database::QueryPlan;
use sea_orm::DbBackend;
use uuid::Uuid;
use values::time::Timestamp;

use super::*;

fn room(used: u64, limit: u64) -> LibraryRoom {
    LibraryRoom { user: UserId::new(Timestamp::from_millis(0)), used, limit, rewritten: None }
}

#[test]
fn library_accepts_additions_up_to_its_limit() {
    assert!(room(90, 100).fits(10) && !room(90, 100).fits(11));
    assert!(!room(100, 100).fits(0) && !room(0, 0).fits(0));
    assert!(!room(u64::MAX, u64::MAX - 1).fits(usize::MAX));
}

/// Text columns of owned tables that do not count. They are written by the server, are copies, or are bounded by the number
/// and age of their rows.
const COLUMNS_NOT_COUNTED: [(&str, &[&str]); 35] = [
    (
        "account_setting",
        &["language", "onboarding", "pictures", "reading_paper", "reading_preset", "theme", "time_zone"],
    ),
    ("activity", &["client", "key_name", "route", "status", "surface", "tool"]),
    ("activity_day", &["surface"]),
    ("api_key", &["display", "kind", "last_client", "mcp_client", "name", "scopes"]),
    // Of the threads of a user the latest 100 are kept.
    ("ask_question", &["answer", "error", "question", "state"]),
    ("ask_thread", &["scope", "title"]),
    // `title` is a copy of the document's.
    ("bookmark", &["content_type", "kind", "title"]),
    // Copies of the beginning of the title.
    ("bookmark_tag", &["title_key"]),
    ("collection_bookmark", &["title_key"]),
    ("decision", &["status"]),
    ("document", &["content_type", "embedding_model", "error", "language", "status", "turn_model"]),
    ("export", &["error", "state"]),
    // A user has 200 rules at most.
    ("feed_mute", &["words"]),
    ("highlight", &["anchor_state"]),
    // `unlisted_faults`: the number of reasons is bounded, and they are short. `file_name` has 255 characters at most.
    ("import", &["error", "file_name", "format", "state", "unlisted_faults"]),
    ("import_row", &["kind", "outcome"]),
    ("job", &["error", "kind", "state"]),
    // Copies of the document's title and passages.
    ("note", &["body", "title"]),
    ("notice", &["body", "client", "kind", "title"]),
    ("oauth_code", &["challenge", "redirect_uri", "scopes", "state"]),
    ("oauth_consent", &["challenge", "redirect_uri", "scopes", "state"]),
    ("oauth_grant", &["mcp_client", "resource", "scopes", "state"]),
    ("project", &["status"]),
    ("project_item", &["kind", "role"]),
    // A user has 100 at most.
    ("saved_search", &["name", "query"]),
    ("session", &["device"]),
    ("source", &["format"]),
    // Files count by their bytes, towards `transfer_bytes`.
    ("stored_file", &["path"]),
    // A copy of the tags of bookmarks, with one row for each tag.
    ("tag_count", &["name"]),
    ("transcript", &["language", "model", "recording"]),
    // Copies of passages.
    ("transcript_segment", &["text"]),
    // The latest 20 changes of a user can be undone, for ten minutes.
    ("undo_step", &["step"]),
    ("upload", &["sha256"]),
    ("usage_day", &["surface"]),
    ("usage_month", &["budget_group"]),
];

/// Tables whose rows do not count: `migration::library_usage` says why.
const TABLES_NOT_COUNTED: [&str; 53] = [
    "account_count",
    "account_setting",
    "activity",
    "activity_day",
    "ai_day",
    "answer_claim",
    "api_key",
    "ask_question",
    "ask_thread",
    "collection_count",
    "entry_mark",
    "export",
    "feed_content",
    "feed_count",
    "feed_mute",
    "feed_push",
    "feed_source",
    "job",
    "library_usage",
    "note",
    "notice",
    "oauth_client",
    "oauth_code",
    "oauth_consent",
    "oauth_grant",
    "oauth_sign_in",
    "oauth_token",
    "password_reset",
    "picture_size",
    "project_count",
    "reading_position",
    "saved_search",
    "service_state",
    "session",
    "stored_file",
    "tag_count",
    "title_search",
    "title_search_config",
    "title_search_data",
    "title_search_docsize",
    "title_search_idx",
    "title_search_merge",
    "title_search_owner",
    "title_search_row",
    "title_search_term",
    "transcript",
    "transcript_segment",
    "undo",
    "undo_step",
    "usage_day",
    "usage_month",
    "user",
    "web_state",
];

async fn migrated(folder: &tempfile::TempDir) -> Db {
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
    Db::open(&url).await.unwrap()
}

#[tokio::test]
async fn every_table_is_counted_or_exempt() {
    let folder = tempfile::tempdir().unwrap();
    let db = migrated(&folder).await;
    let select = "SELECT name FROM sqlite_master
        WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'seaql_migrations'";
    let rows = db.read().query_all_raw(Statement::from_string(DbBackend::Sqlite, select)).await.unwrap();
    let existing: BTreeSet<String> = rows.iter().map(|row| row.try_get("", "name").unwrap()).collect();

    let decided: BTreeSet<String> =
        counts::counted_tables().into_iter().chain(TABLES_NOT_COUNTED).map(str::to_owned).collect();

    assert_eq!(existing, decided);
}

#[tokio::test]
async fn every_text_column_of_a_user_is_counted_or_exempt() {
    let folder = tempfile::tempdir().unwrap();
    let db = migrated(&folder).await;
    let select = "SELECT tables.name AS of_table, columns.name AS column_name
        FROM sqlite_master AS tables JOIN pragma_table_info(tables.name) AS columns
        WHERE tables.type = 'table' AND columns.type = 'TEXT'
          AND EXISTS (SELECT 1 FROM pragma_table_info(tables.name) AS owner WHERE owner.name = 'user_id')";
    let rows = db.read().query_all_raw(Statement::from_string(DbBackend::Sqlite, select)).await.unwrap();
    let existing: BTreeSet<(String, String)> = rows
        .iter()
        .map(|row| (row.try_get("", "of_table").unwrap(), row.try_get("", "column_name").unwrap()))
        .collect();

    let uncounted = COLUMNS_NOT_COUNTED
        .iter()
        .flat_map(|(table, columns)| columns.iter().map(move |column| (*table, *column)));
    let decided: BTreeSet<(String, String)> = counts::counted_columns()
        .into_iter()
        .chain(uncounted)
        .map(|(table, column)| (table.to_owned(), column.to_owned()))
        .collect();

    assert_eq!(existing, decided);
}

#[tokio::test]
async fn difference_of_one_user_is_read_by_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let db = migrated(&folder).await;
    let user = UserId(Uuid::from_u128(7));
    let difference =
        Statement::from_sql_and_values(DbBackend::Sqlite, counts::difference_query(), [user.into()]);

    let details = QueryPlan::of(&db, difference).await.unwrap().steps;

    let tables: BTreeSet<&str> = counts::counted_tables().into_iter().collect();
    let is_whole_table = |detail: &&String| {
        detail.strip_prefix("SCAN ").is_some_and(|rest| tables.contains(rest.split(' ').next().unwrap()))
    };
    assert!(details.iter().any(|detail| detail.starts_with("SEARCH import_row ")), "{details:#?}");
    assert_eq!(details.iter().find(is_whole_table), None, "{details:#?}");
}

#[test]
fn full_library_refuses_only_growth() {
    assert!(room(90, 100).check_growth(100).is_ok());
    assert!(room(120, 100).check_growth(120).is_ok() && room(120, 100).check_growth(110).is_ok());

    let refused = room(90, 100).check_growth(101).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the library of this account is full: 90 of 100 bytes are used; delete something, or ask the operator for another \
         plan"
    );
}
