//! Every statement is served by an index, whatever the statistics of the database are.
//!
//! The statements are all that a server sends in a run with requests of every surface, jobs and the clean-ups of its start, which find
//! nothing to remove. For them and for what the servers of all other tests send, `support::statement_plans` has the rule, and also for the
//! statements of triggers. Those of lists and of the queue are looked at more closely: they must not sort all rows either. On PostgreSQL
//! the plans are made for large tables, and as if reading whole tables and sorting were expensive ([`QueryPlan`]).

use std::time::Duration;

use actors::auth::{accounts, sessions};
use actors::ingest::feed::incoming_entry::prepare_entries;
use actors::ingest::feed::{deliver, due};
use actors::operations::account::ShowAccount;
use actors::operations::activity::ListActivity;
use actors::operations::bookmarks::{ListBookmarks, ShowBookmark};
use actors::operations::chunks::ListChunks;
use actors::operations::collections::{ListCollections, ShowCollection};
use actors::operations::document::ReadDocument;
use actors::operations::entries::{ListEntries, ShowEntry};
use actors::operations::feeds::{ListFeeds, ShowFeed};
use actors::operations::highlights::ListHighlights;
use actors::operations::import_rows::ListImportRows;
use actors::operations::notices::ListNotices;
use actors::operations::projects::{ListDecisions, ListItems, ListNotes, ListProjects, ShowProject};
use actors::operations::rendition::{ReadHtml, ReadOutline};
use actors::operations::search::Search;
use actors::operations::tags::{DeleteTag, ListTags};
use actors::operations::usage::ReadUsage;
use actors::operations::work::ListWork;
use database::{Db, Explainer, QueryPlan};
use entity::{feed, job, oauth_client, oauth_code, oauth_grant, oauth_sign_in, oauth_token, upload, user};
use jobs::{ClaimOrder, Deferral, JobKind, LeaseOwner, Priority, SlotBudget, Track};
use parse::feed::{Feed, Item};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, ExprTrait, IntoActiveModel, QueryFilter, QueryTrait, Statement,
};
use serde_json::json;
use uuid::Uuid;
use values::id::{ClientId, FeedId, UploadId, UserId};
use values::kind::JobState;
use values::plan::Plan;

use super::full_use::use_every_surface;
use super::small_library::{SmallLibrary, text_of};
use crate::import::imports::{post_step, wait_for};
use crate::support::plan_exceptions::{
    FULL_SCANS, OWNER_SCANS, PARTIAL_INDEXES, SMALL_TABLES, SOURCES_CLEAN_UP,
};
use crate::support::statement_plans::assert_plans;
use crate::support::{Client, Home, Key, NOON, OperationPlans, Server, Site, eventually};

/// Orders of the list of bookmarks, and how the names of their indexes end.
const ORDERS: [(&str, &str); 5] = [
    ("savedAt", "saved"),
    ("-savedAt", "saved"),
    ("updatedAt", "updated"),
    ("-updatedAt", "updated"),
    ("title", "title"),
];
/// Filters whose pages are ranges of an index in every order, and how the names of the indexes begin. Both bookmarks of the library match
/// each of them, as they do the filters below.
const RANGE_FILTERS: [(&str, &str); 5] = [
    ("", "bookmark_"),
    ("&archived=false", "bookmark_flags_"),
    ("&favorite=false&unread=true", "bookmark_flags_"),
    ("&contentType=article", "bookmark_type_"),
    ("&contentType=article&archived=false", "bookmark_type_"),
];
/// A filter by a word without a trigram. On PostgreSQL no index has such words: they are tested on the bookmarks in the order of the list.
const SHORT_WORD_FILTER: &str = "&q=r";
/// Filters of a small library, whose matches are sorted.
const CANDIDATE_FILTERS: [&str; 4] = [
    "&q=reeds",
    "&q=reeds&tag=heron",
    "&contentType=article&archived=false&tag=heron",
    "&updatedSince=2024-01-01T00:00:00Z",
];

/// The clean-up of spent tokens, of the grants that exchanged some lately.
const GRANTS_CLEAN_UP: &str = r#"FROM "oauth_token" WHERE "oauth_token"."grant_id" = "oauth_grant"."id""#;

/// Parts of statements that only background work sends: jobs, and the clean-ups, of which the last of each actor are among them.
const BACKGROUND_STATEMENTS: [&str; 5] = [
    r#""lease_until" = "#,
    SOURCES_CLEAN_UP,
    r#""bookmark"."deleted_at" < "#,
    GRANTS_CLEAN_UP,
    r#"DELETE FROM "oauth_client""#,
];

/// Asserts that a list has no exception that none of these statements needs.
fn assert_needed(exceptions: &[(&str, &str)], plans: &[&QueryPlan]) {
    for (part, _) in exceptions {
        let is_needed = plans.iter().any(|plan| plan.sql.contains(part));
        assert!(is_needed, "no statement needs the exception for {part}");
    }
}

/// Asserts that no statement reads every row of a table.
fn assert_no_full_scan(plans: &[QueryPlan]) {
    let scans: Vec<&QueryPlan> = plans.iter().filter(|plan| !plan.full_scans().is_empty()).collect();

    assert!(!plans.is_empty(), "no statement was sent");
    assert!(scans.is_empty(), "{scans:#?}");
}

/// Asserts that no statement reads every row of a table, and that none sorts all rows of a list to return one page.
fn assert_no_scan_and_no_sort(plans: &[QueryPlan]) {
    assert_no_full_scan(plans);
    let sorted: Vec<&QueryPlan> = plans.iter().filter(|plan| plan.contains_limit() && plan.sorts()).collect();
    assert!(sorted.is_empty(), "{sorted:#?}");
}

/// Asserts in addition that a statement uses this index.
fn assert_uses(plans: &[QueryPlan], index: &str) {
    assert_no_scan_and_no_sort(plans);
    assert!(plans.iter().any(|plan| plan.has_step(index)), "no statement uses {index}: {plans:#?}");
}

#[actix_web::test]
async fn pages_of_bookmarks_are_read_in_the_order_of_an_index() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Research).await;
    let library = SmallLibrary::create(&user.full_key().await, &user.sign_in().await, &site).await;
    let plans = OperationPlans::of_user(&server, &user).await;
    let is_sqlite = server.home().database_file().is_some();

    for (sort, order) in ORDERS {
        let short_word = (!is_sqlite).then_some((SHORT_WORD_FILTER, "bookmark_"));
        for (filter, kind) in RANGE_FILTERS.into_iter().chain(short_word) {
            let listed = plans.explain::<ListBookmarks>(&[], &format!("limit=1&sort={sort}{filter}")).await;
            assert_pages_are_ranges(&listed, &format!("{kind}{order}"), is_sqlite);
        }
    }
    for (filter, index) in [
        ("&savedAfter=2024-01-01T00:00:00Z", "bookmark_saved"),
        ("&savedBefore=2030-01-01T00:00:00Z", "bookmark_saved"),
    ] {
        for sort in ["savedAt", "-savedAt"] {
            let listed = plans.explain::<ListBookmarks>(&[], &format!("limit=1&sort={sort}{filter}")).await;
            assert_pages_are_ranges(&listed, index, is_sqlite);
        }
    }
    let of_collection = format!("&collectionId={}", library.collection);
    for (sort, order) in ORDERS.into_iter().filter(|(_, order)| *order != "updated") {
        for flags in ["", "&archived=false", "&archived=false&unread=true"] {
            let sets = [("&tag=heron", "bookmark_tag"), (of_collection.as_str(), "collection_bookmark")];
            for (filter, table) in sets {
                let query = format!("limit=1&sort={sort}{filter}{flags}");
                let listed = plans.explain::<ListBookmarks>(&[], &query).await;
                assert_pages_are_ranges(&listed, &format!("COVERING INDEX {table}_{order}"), is_sqlite);
            }
        }
    }
    let since = "updatedSince=2024-01-01T00:00:00Z&includeDeleted=true";
    for sort in ["updatedAt", "-updatedAt"] {
        let listed = plans.explain::<ListBookmarks>(&[], &format!("limit=1&sort={sort}&{since}")).await;
        assert_pages_are_ranges(&listed, "bookmark_updated", is_sqlite);
        assert!(
            !is_sqlite || listed.iter().any(|plan| plan.has_step("bookmark_user_deleted (user_id=? AND"))
        );
    }
}

/// Asserts that the statements of a list, read to its end, use this index, and on SQLite begin after the cursor.
fn assert_pages_are_ranges(plans: &[QueryPlan], index: &str, is_sqlite: bool) {
    // The statements that load the rows or test the collection name no order.
    let pages: Vec<&QueryPlan> =
        plans.iter().filter(|plan| plan.sql.contains(r#"ORDER BY "sort_key""#)).collect();
    assert_no_scan_and_no_sort(plans);
    assert!(pages.len() >= 2, "{plans:#?}");
    // PostgreSQL chooses by its statistics between indexes that have the order.
    if is_sqlite {
        assert!(pages.iter().all(|plan| plan.has_step(index)), "no {index}: {pages:#?}");
        let begins_after_cursor =
            pages.iter().any(|plan| plan.has_step(",id)") || plan.has_step(",bookmark_id)"));
        assert!(begins_after_cursor, "{pages:#?}");
    }
}

#[actix_web::test]
async fn matches_of_rare_filters_are_found_by_their_index() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Research).await;
    SmallLibrary::create(&user.full_key().await, &user.sign_in().await, &site).await;
    let plans = OperationPlans::of_user(&server, &user).await;
    let is_sqlite = server.home().database_file().is_some();

    for sort in ["title", "-savedAt"] {
        for filter in CANDIDATE_FILTERS.into_iter().chain(is_sqlite.then_some(SHORT_WORD_FILTER)) {
            let listed = plans.explain::<ListBookmarks>(&[], &format!("limit=1&sort={sort}{filter}")).await;
            let is_of_candidates = |plan: &QueryPlan| {
                [r#"WITH "candidate""#, r#"ORDER BY "sort_key""#].iter().all(|part| plan.sql.contains(part))
            };
            assert_no_full_scan(&listed);
            let pages: Vec<&QueryPlan> = listed.iter().filter(|plan| is_of_candidates(plan)).collect();
            assert!(!pages.is_empty(), "no candidates for {filter}: {listed:#?}");
            // Each candidate is one row, also on the pages after a cursor.
            let is_by_id = |plan: &&QueryPlan| plan.has_step("sqlite_autoindex_bookmark_1 (id=?)");
            assert!(!is_sqlite || pages.iter().all(is_by_id), "{pages:#?}");
            if filter == "&q=reeds" && is_sqlite {
                assert!(
                    listed.iter().any(|plan| plan.has_step("title_search VIRTUAL TABLE INDEX 0:M")),
                    "{listed:#?}"
                );
            }
        }
    }
}

#[actix_web::test]
async fn statements_of_reads_are_served_by_indexes() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Research).await;
    let library = SmallLibrary::create(&user.full_key().await, &user.sign_in().await, &site).await;
    let plans = OperationPlans::of_user(&server, &user).await;
    let (bookmark, document) = ([library.bookmark.as_str()], [library.document.as_str()]);
    let (project, import) = ([library.project.as_str()], [library.import.as_str()]);
    let of_feed = format!("limit=1&feedId={}", library.feed);

    for plans in [
        plans.explain::<ShowBookmark>(&bookmark, "").await,
        plans.explain::<ListHighlights>(&bookmark, "limit=1").await,
        plans.explain::<ReadDocument>(&document, "").await,
        plans.explain::<ListChunks>(&document, "limit=1").await,
        plans.explain::<ReadHtml>(&document, "").await,
        plans.explain::<ReadOutline>(&document, "").await,
        plans.explain::<ListTags>(&[], "limit=1").await,
        plans.explain::<ListCollections>(&[], "limit=1").await,
        plans.explain::<ShowCollection>(&[&library.collection], "").await,
        plans.explain::<ListFeeds>(&[], "limit=1").await,
        plans.explain::<ShowFeed>(&[&library.feed], "").await,
        plans.explain::<ListEntries>(&[], "limit=1").await,
        plans.explain::<ListEntries>(&[], &of_feed).await,
        plans.explain::<ListEntries>(&[], "limit=1&unread=true").await,
        plans.explain::<ListEntries>(&[], "limit=1&unread=true&starred=false").await,
        plans.explain::<ListEntries>(&[], "limit=1&after=2000-01-01T00:00:00Z").await,
        plans.explain::<ShowEntry>(&[&library.entry], "").await,
        plans.explain::<ListProjects>(&[], "limit=1").await,
        plans.explain::<ShowProject>(&project, "").await,
        plans.explain::<ListItems>(&project, "limit=1").await,
        plans.explain::<ListDecisions>(&project, "limit=1").await,
        plans.explain::<ListNotes>(&project, "limit=1").await,
        plans.explain::<ListNotices>(&[], "limit=1").await,
        plans.explain::<ListActivity>(&[], "limit=1").await,
        plans.explain::<ListImportRows>(&import, "limit=1").await,
        plans.explain::<ListImportRows>(&import, "limit=1&outcome=created").await,
        plans.explain::<ReadUsage>(&[], "").await,
        plans.explain::<ShowAccount>(&[], "").await,
        plans.explain::<ListWork>(&[], "limit=1").await,
        plans.explain::<ListWork>(&[], "limit=1&stage=failed").await,
    ] {
        assert_no_scan_and_no_sort(&plans);
    }
}

#[actix_web::test]
async fn bookmarks_are_found_by_ids_and_not_by_their_user() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Research).await;
    let library = SmallLibrary::create(&user.full_key().await, &user.sign_in().await, &site).await;
    let plans = OperationPlans::of_user(&server, &user).await;

    let rows = plans.explain::<ListImportRows>(&[&library.import], "").await;
    let tagged = plans.explain::<DeleteTag>(&["heron"], "").await;

    // PostgreSQL has statistics, by which it chooses between the indexes of an id and of an owner.
    if server.home().database_file().is_some() {
        assert_uses(&rows, "document_bookmark (bookmark_id=? AND user_id=?)");
        assert_uses(&tagged, "bookmark_user (user_id=? AND id=?)");
    }
}

#[actix_web::test]
async fn documents_of_search_filters_are_found_by_an_index() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Research).await;
    let library = SmallLibrary::create(&user.full_key().await, &user.sign_in().await, &site).await;
    let plans = OperationPlans::of_user(&server, &user).await;
    let (since, until) = ("savedAfter=2000-01-01T00:00:00Z", "savedBefore=2100-01-01T00:00:00Z");
    let SmallLibrary { collection, project, .. } = &library;

    for (filter, index) in [
        ("archived=false".to_owned(), "bookmark_flags_"),
        ("favorite=true".to_owned(), "bookmark_flags_"),
        (since.to_owned(), "bookmark_saved (user_id=? AND saved_at>?)"),
        (until.to_owned(), "bookmark_saved (user_id=? AND saved_at<?)"),
        (
            format!("archived=false&{since}&{until}"),
            "bookmark_flags_saved (user_id=? AND flags=? AND saved_at>?",
        ),
        ("tag=heron".to_owned(), "bookmark_tag_saved (user_id=? AND name=? AND flags=?)"),
        (
            format!("tag=heron&archived=false&{since}"),
            "bookmark_tag_saved (user_id=? AND name=? AND flags=? AND saved_at>?)",
        ),
        (format!("collectionId={collection}"), "collection_bookmark_saved"),
        (format!("collectionId={collection}&tag=heron&{until}"), "bookmark_tag_saved"),
    ] {
        let searched = plans.explain::<Search>(&[], &format!("q=heron&{filter}")).await;
        assert_no_scan_and_no_sort(&searched);
        // PostgreSQL has statistics, by which it chooses between indexes.
        if server.home().database_file().is_some() {
            assert_uses(&searched, index);
            assert_uses(&searched, "COVERING INDEX document_bookmark (bookmark_id=? AND user_id=?)");
            assert_no_scan_of_bookmarks(&searched);
        }
    }
    let of_project = format!("q=heron&projectId={project}&tag=heron");
    assert_no_scan_and_no_sort(&plans.explain::<Search>(&[], &of_project).await);
}

#[actix_web::test]
async fn saves_without_a_text_are_found_by_an_index() {
    let server = Server::start().await;
    let user = server.user(Plan::Research).await;
    let key = user.full_key().await;
    server.service().stop_worker().await;
    key.save(json!({ "url": "https://marsh.example/a", "tags": ["heron"] })).await;
    let plans = OperationPlans::of_user(&server, &user).await;

    for filter in ["", "&tag=heron", "&archived=false", "&contentType=article&source=bookmarks"] {
        let searched = plans.explain::<Search>(&[], &format!("q=heron{filter}")).await;
        // PostgreSQL sorts the highlights of several bookmarks.
        if server.home().database_file().is_some() {
            assert_no_scan_and_no_sort(&searched);
            assert_uses(&searched, "chunk_ordinal (document_id=? AND version=? AND ordinal=?)");
        }
    }
}

/// Asserts that no statement reads all bookmarks of a user.
fn assert_no_scan_of_bookmarks(plans: &[QueryPlan]) {
    let scans = |plan: &&QueryPlan| plan.owner_scans().iter().any(|table| table.as_str() == "bookmark");
    let found: Vec<&QueryPlan> = plans.iter().filter(scans).collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// Changes an object of each kind, and reads the lists.
async fn use_library(key: &Key, session: &Client, library: &SmallLibrary) {
    let SmallLibrary { bookmark, collection, project, feed, entry, .. } = library;
    let collection_id = collection;
    let [bookmark, collection, feed, entry] = [
        format!("/rest/v1/bookmarks/{bookmark}"),
        format!("/rest/v1/collections/{collection}"),
        format!("/rest/v1/feeds/{feed}"),
        format!("/rest/v1/entries/{entry}"),
    ];
    key.search("heron").await;
    for path in [
        format!("/rest/v2/projects/{project}/context"),
        "/rest/v1/bookmarks?limit=1&tag=heron".to_owned(),
        format!("/rest/v2/search?q=heron&tag=heron&collectionId={collection_id}"),
        "/rest/v2/search?q=heron&archived=false&contentType=article".to_owned(),
        "/rest/v2/search?q=%22the%20heron%22%20-kingfisher%20-%22night%20heron%22".to_owned(),
        "/rest/v2/search?q=herron".to_owned(),
        "/rest/v1/entries?limit=1&unread=true".to_owned(),
        "/rest/v1/feeds/opml".to_owned(),
    ] {
        assert_eq!(key.download(&path).await.0, 200, "{path}");
    }
    for path in [
        format!("/projects/{project}/items"),
        format!("/projects/{project}/decisions"),
        format!("/projects/{project}/notes"),
        "/notices".to_owned(),
        "/activity".to_owned(),
        "/work".to_owned(),
        "/imports".to_owned(),
        "/keys".to_owned(),
        "/connected-apps".to_owned(),
    ] {
        session.get(&format!("/app/api{path}")).await.data(200);
    }
    let changes = [
        (bookmark.as_str(), json!({ "title": "Reeds", "archived": true })),
        (collection.as_str(), json!({ "name": "Waders" })),
        (entry.as_str(), json!({ "read": true, "starred": true })),
        (feed.as_str(), json!({ "title": "Birds" })),
        ("/rest/v1/tags/heron", json!({ "name": "bird" })),
    ];
    for (path, change) in changes {
        key.patch(path, change).await.data(200);
    }
    // The index may lack the new title and the new tag.
    key.search("reeds bird").await;
    session.patch(&format!("/app/api/projects/{project}"), json!({ "status": "archived" })).await.data(200);
    session.post("/app/api/notices/read", json!({})).await.data(200);
    key.post("/rest/v1/entries/read", json!({})).await.data(200);
    key.delete(&bookmark).await.data(200);
    key.post(&format!("{bookmark}/restore"), json!({})).await.data(200);
    for path in [bookmark.as_str(), collection.as_str(), feed.as_str(), "/rest/v1/tags/bird"] {
        key.delete(path).await.data(200);
    }
    session.delete(&format!("/app/api/projects/{project}")).await.data(200);
}

/// Exports the library and waits for the archive.
async fn export(session: &Client) {
    let begun = session.post("/app/api/exports", json!({})).await;
    let path = format!("/app/api/exports/{}", text_of(&begun.data(202)["export"], "id"));
    eventually("the export is packed", async || {
        let shown = session.get(&path).await;
        shown.data(200)["export"]["url"].is_string().then_some(())
    })
    .await;
}

#[actix_web::test]
async fn statements_of_a_whole_run_are_served_by_indexes() {
    let (server, db, sent) = Server::start_recording().await;
    let site = Site::start().await;
    let user = server.user(Plan::Research).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);

    let library = SmallLibrary::create(&key, &session, &site).await;
    use_every_surface(&server, &user, &key, &library).await;
    export(&session).await;
    post_step(&session, &library.import, "undo").await;
    wait_for(&session, &library.import, "undone").await;
    use_library(&key, &session, &library).await;

    eventually("all due jobs have ended", async || {
        let is_due = job::Column::QueuePosition.is_not_null().or(job::Column::State.eq(JobState::Running));
        job::Entity::find().filter(is_due).one(db.read()).await.unwrap().is_none().then_some(())
    })
    .await;
    let mut statements: Vec<Statement> = Vec::new();
    eventually("jobs and all clean-ups have run", async || {
        statements.extend(sent.take());
        let is_sent = |part: &&str| statements.iter().any(|statement| statement.sql.contains(*part));
        BACKGROUND_STATEMENTS.iter().all(is_sent).then_some(())
    })
    .await;

    let plans = QueryPlan::of_each(&db, statements).await.unwrap();
    for command in ["SELECT", "INSERT", "UPDATE", "DELETE"] {
        assert!(plans.iter().any(|plan| plan.sql.starts_with(command)), "no {command} was recorded");
    }
    let full: Vec<&QueryPlan> = plans.iter().filter(|plan| !plan.full_scans().is_empty()).collect();
    assert_needed(FULL_SCANS, &full);
    let of_owner: Vec<&QueryPlan> = plans.iter().filter(|plan| !plan.owner_scans().is_empty()).collect();
    if plans.iter().all(QueryPlan::is_of_sqlite) {
        assert_needed(OWNER_SCANS, &of_owner);
    }
    assert_plans(&plans);
}

#[actix_web::test]
async fn statements_of_triggers_are_served_by_indexes() {
    let home = Home::new().await;
    // It creates the tables and the triggers.
    Db::open(&home.database_url()).await.unwrap().close().await.unwrap();
    let explainer = match home.database_file() {
        Some(_) => Explainer::of_empty_tables().await.unwrap(),
        None => Explainer::of_postgres(&home.database_url()).await.unwrap(),
    };

    let plans = explainer.explain_triggers().await.unwrap();

    for table in
        ["account_count", "tag_count", "collection_count", "feed_count", "library_usage", "bookmark_tag"]
    {
        let changes = |plan: &QueryPlan| plan.sql.starts_with(&format!("UPDATE {table} "));
        assert!(plans.iter().any(changes), "no trigger changes {table}");
    }
    assert_plans(&plans);
}

#[actix_web::test]
async fn exceptions_name_existing_tables_and_indexes() {
    let home = Home::new().await;
    // The search of titles has tables on SQLite alone.
    if home.database_file().is_none() {
        return;
    }
    let db = Db::open(&home.database_url()).await.unwrap();
    let names = Statement::from_string(db.read().get_database_backend(), "SELECT name FROM sqlite_master");
    let rows = db.read().query_all_raw(names).await.unwrap();
    let existing: Vec<String> = rows.iter().map(|row| row.try_get("", "name").unwrap()).collect();

    for (name, _) in SMALL_TABLES.iter().chain(PARTIAL_INDEXES) {
        assert!(existing.iter().any(|known| known == name), "{name} does not exist");
    }
}

#[actix_web::test]
async fn due_feeds_are_found_by_their_index() {
    let server = Server::start().await;
    let mut feeds = server.context().ingest.feeds.clone();
    let db = feeds.core.db.clone();
    let sent = feeds.core.db.record_statements();

    due::enqueue_due(&feeds).await.unwrap();

    assert_uses(&QueryPlan::of_each(&db, sent.take()).await.unwrap(), "feed_source_due");
}

#[actix_web::test]
async fn delivery_looks_up_only_what_it_delivers() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Research).await;
    let library = SmallLibrary::create(&user.full_key().await, &user.sign_in().await, &site).await;
    let mut db = server.context().core.db.clone();
    let explained = db.clone();
    let id = FeedId(library.feed.parse().unwrap());
    let followed = feed::Entity::one_of(user.id(), id).one(db.read()).await.unwrap().unwrap();
    let item = |n: i64| Item {
        key: n.to_string(),
        // Half of the entries have no page.
        url: (n % 2 == 0).then(|| format!("https://reeds.example/new-{n}")),
        title: format!("Heron {n}"),
        published_at: Some(n),
        ..Item::default()
    };
    // As many as an index is used for at all: SQLite chooses it by the number of values.
    let copy = Feed { items: (1..=200).map(item).collect(), ..Feed::default() };
    let incoming = prepare_entries(copy, &followed.url);
    let sent = db.record_statements();

    deliver::deliver_entries(db.write(), &followed, &incoming, NOON).await.unwrap();
    let new = QueryPlan::of_each(&explained, sent.take()).await.unwrap();
    deliver::deliver_entries(db.write(), &followed, &incoming, NOON).await.unwrap();
    let unchanged = sent.take();

    assert_eq!(unchanged.len(), 1, "entries that exist unchanged are only looked up: {unchanged:#?}");
    assert_no_full_scan(&new);
    if server.home().database_file().is_some() {
        assert_uses(&new, "entry_key (feed_id=? AND user_id=? AND key_hash=?)");
        assert_uses(&new, "entry_feed_content (user_id=? AND feed_id=? AND content_hash=?)");
        assert_uses(&new, "entry_normalized_url (user_id=? AND normalized_url=?)");
    }
}

#[actix_web::test]
async fn credentials_are_found_by_their_indexes() {
    let home = Home::new().await;
    let db = Db::open(&home.database_url()).await.unwrap();
    let backend = db.read().get_database_backend();

    let statements = [
        oauth_token::Entity::with_grant(&[1]).build(backend),
        oauth_grant::Entity::between(UserId(Uuid::nil()), ClientId(Uuid::nil())).build(backend),
        oauth_code::Entity::by_hash(&[1]).build(backend),
        oauth_sign_in::Entity::by_hash(&[1]).build(backend),
        oauth_client::Entity::by_metadata_url("https://reeds.example/client").build(backend),
        upload::Entity::by_signed_url(UploadId(Uuid::nil())).build(backend),
        user::Entity::by_email("reader@reader.example").build(backend),
    ];

    assert_no_scan_and_no_sort(&QueryPlan::of_each(&db, statements).await.unwrap());
}

#[actix_web::test]
async fn oldest_sessions_are_found_by_their_index() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let mut core = server.context().core.clone();
    let owner = accounts::by_email(&core, user.email()).await.unwrap();
    let db = core.accounts_db.clone();
    let sent = core.accounts_db.record_statements();

    sessions::open_session(&core, &owner, None, None).await.unwrap();

    assert_uses(&QueryPlan::of_each(&db, sent.take()).await.unwrap(), "session_owner");
}

async fn insert_user(db: &Db) -> UserId {
    let id = UserId::new(NOON);
    let row = user::Model::new(id, format!("{id}@reader.example"), String::new(), Plan::Pro, NOON);
    user::Entity::insert(row.into_active_model()).exec_without_returning(db.write()).await.unwrap();
    id
}

#[actix_web::test]
async fn queue_is_read_in_the_order_of_its_indexes() {
    let home = Home::new().await;
    let mut queue = Db::open(&home.database_url()).await.unwrap();
    let (db, user) = (queue.clone(), insert_user(&queue).await);
    let sent = queue.record_statements();
    let owner = LeaseOwner(Uuid::from_u128(1));
    let later = NOON + Duration::from_secs(2);

    let waiting = [
        (JobKind::Index, Priority::Now),
        (JobKind::Index, Priority::Backlog),
        (JobKind::FetchFeed, Priority::Now),
    ];
    for (number, (kind, priority)) in (1..).zip(waiting) {
        let subject = Uuid::from_u128(number);
        jobs::enqueue(queue.write(), user, kind, subject, priority, NOON).await.unwrap();
        assert!(jobs::backlog_room(queue.write(), user).await.unwrap() > 0);
    }
    let slots = SlotBudget::unrestricted(4);
    let claimed =
        jobs::claim(&queue, owner, Track::Library, ClaimOrder::BacklogFirst, NOON, slots).await.unwrap();
    let [first, second] = &claimed.jobs[..] else { panic!("{claimed:?}") };
    let deferral = Deferral { counts_attempt: false, reason: None, delay: Duration::from_secs(1) };
    assert!(jobs::renew(queue.write(), &first.row, NOON).await.unwrap());
    assert!(jobs::finish(queue.write(), &first.row, NOON).await.unwrap());
    assert!(jobs::defer(queue.write(), &second.row, deferral, NOON).await.unwrap());
    jobs::promote(&queue, later).await.unwrap();
    jobs::end_leases(queue.write(), owner, later).await.unwrap();

    let plans = QueryPlan::of_each(&db, sent.take()).await.unwrap();
    for index in ["job_due", "job_deferred", "job_lease"] {
        assert_uses(&plans, index);
    }
}
