//! The byte quota of a library: counted with every change, enforced by the plan, and freed when texts are deleted.

use std::time::Duration;

use actors::auth::accounts;
use database::Db;
use database::library_counts::ROW_BYTES;
use entity::library_usage::{Column, Entity};
use entity::{bookmark, feed_content, feed_source, job};
use futures_util::future::join_all;
use library::clock::Clock;
use library::{counters, library_quota};
use reqwest::Method;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, Statement};
use serde_json::{Value, json};
use uuid::Uuid;
use values::id::UserId;
use values::plan::Plan;

use crate::import::imports::{self, bookmark_list, start_import, zip_archive};
use crate::ingest::uploads;
use crate::rest::projects::create_project;
use crate::support::{Client, Home, Key, Reply, Response, Server, Site, eventually};

const BOOKMARKS: &str = "/rest/v1/bookmarks";

async fn start_server(library_bytes: usize) -> Server {
    Server::start_with(&[("PLANS__PRO__LIBRARY_BYTES", &library_bytes.to_string())]).await
}

/// The bytes that rows with texts count.
fn counted(rows: usize, text_bytes: usize) -> u64 {
    (rows * ROW_BYTES + text_bytes) as u64
}

/// The bytes of the library, and the plan's limit.
async fn library_usage(client: &Client) -> (u64, u64) {
    let usage = client.get("/rest/v2/usage").await;
    let library = usage.data(200)["library"].clone();
    (library["bytes"].as_u64().unwrap(), library["limit"].as_u64().unwrap())
}

async fn used_bytes(client: &Client) -> u64 {
    library_usage(client).await.0
}

fn text_of_bytes(bytes: usize) -> String {
    "heron ".chars().cycle().take(bytes).collect()
}

fn bookmark_body(name: &str, bytes: usize) -> Value {
    json!({ "url": format!("https://example.org/{name}"), "text": text_of_bytes(bytes) })
}

async fn save_when_ready(key: &Key, name: &str, bytes: usize) -> Value {
    let bookmark = key.save(bookmark_body(name, bytes)).await;
    key.wait_for(&bookmark, "ready").await
}

fn path(bookmark: &Value) -> String {
    format!("{BOOKMARKS}/{}", bookmark["bookmarkId"].as_str().unwrap())
}

/// Creates a collection and returns its path.
async fn create_collection(key: &Key, name: &str) -> String {
    let created = key.post("/rest/v1/collections", json!({ "name": name })).await;
    format!("/rest/v1/collections/{}", created.data(201)["collection"]["collectionId"].as_str().unwrap())
}

fn membership(collection: &str, bookmark: &Value) -> String {
    format!("{collection}/bookmarks/{}", bookmark["bookmarkId"].as_str().unwrap())
}

async fn put(client: &Client, path: &str) -> Response {
    client.send(Method::PUT, path, Some(json!({}))).await
}

async fn add_item(key: &Key, project: &str, bookmark: &Value) -> Response {
    let items = json!({ "items": [{ "bookmarkId": bookmark["bookmarkId"] }] });
    key.post(&format!("/rest/v2/projects/{project}/items"), items).await
}

async fn count_bookmarks(client: &Client) -> usize {
    client.get(BOOKMARKS).await.data(200)["bookmarks"].as_array().unwrap().len()
}

/// A page with this number of sentences about a subject.
fn page_reply(subject: &str, sentences: usize) -> Reply {
    let sentence =
        |n| format!("<p>On morning number {n} whoever has seen {subject} remembers it for long.</p>");
    let prose: String = (0..sentences).map(sentence).collect();
    Reply::Html(format!(
        "<html><head><title>Birds</title></head><body><article><h1>Birds</h1>{prose}</article></body></html>"
    ))
}

async fn upgrade(server: &Server, user: UserId) {
    accounts::set_plan(&server.context().core, user, Plan::Research).await.unwrap();
}

#[actix_web::test]
async fn save_over_the_limit_is_refused_and_keeps_nothing() {
    // Two texts of 4000 bytes are ten rows: two bookmarks, their documents, and three passages of each.
    let limit = 10_000 + 10 * ROW_BYTES;
    let server = start_server(limit).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    save_when_ready(&key, "a", 4000).await;
    let before = library_usage(&key).await;

    let refused = key.post(BOOKMARKS, bookmark_body("b", 8000)).await;

    assert_eq!(refused.error_code(402), "PLAN_LIMIT_REACHED");
    let details = &refused.body["error"]["details"];
    assert_eq!(
        (details["usedBytes"].as_u64(), details["limitBytes"].as_u64()),
        (Some(before.0), Some(limit as u64))
    );
    assert_eq!((count_bookmarks(&key).await, library_usage(&key).await), (1, before));
    let exists = key.get(&format!("{BOOKMARKS}/exists?url=https://example.org/b")).await;
    assert_eq!(exists.data(200)["exists"], false);
    // A text that fits is accepted, and an existing URL takes its tags however large the sent text is.
    save_when_ready(&key, "c", 4000).await;
    let again = json!({ "url": "https://example.org/c", "text": text_of_bytes(8000), "tags": ["reeds"] });
    let again = key.post(BOOKMARKS, again).await;
    assert_eq!(
        (&again.data(200)["created"], &again.data(200)["bookmark"]["tags"]),
        (&json!(false), &json!(["reeds"]))
    );
}

#[actix_web::test]
async fn concurrent_saves_do_not_exceed_the_limit() {
    let limit = 10_000 + 10 * ROW_BYTES;
    let server = start_server(limit).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let bodies: Vec<Value> = (0..8).map(|n| bookmark_body(&n.to_string(), 4000)).collect();

    let answers = join_all(bodies.into_iter().map(|body| key.post(BOOKMARKS, body))).await;

    let created = answers.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(created, 2);
    for answer in answers.iter().filter(|answer| answer.status != 201) {
        assert_eq!(answer.error_code(402), "PLAN_LIMIT_REACHED");
    }
    assert!(used_bytes(&key).await <= limit as u64);
}

#[actix_web::test]
async fn library_with_zero_bytes_accepts_nothing() {
    let (server, site) = (start_server(0).await, Site::start().await);
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let feed = site.page(
        "/feed",
        [Reply::File(
            "application/rss+xml",
            b"<rss version=\"2.0\"><channel><title>F</title><item><title>A</title><guid>a</guid></item></channel></rss>"
                .to_vec(),
        )],
    );
    let opml =
        "<opml version=\"2.0\"><body><outline text=\"A\" xmlUrl=\"https://example.org/feed\"/></body></opml>";
    let additions = [
        (BOOKMARKS, json!({ "url": "https://example.org/a" })),
        ("/rest/v1/feeds", json!({ "url": feed })),
        ("/rest/v1/feeds/opml", json!({ "opml": opml })),
        ("/rest/v1/collections", json!({ "name": "Birds" })),
        ("/rest/v2/uploads", json!({ "filename": "a.pdf", "contentType": "application/pdf", "bytes": 9 })),
    ];

    for (path, body) in additions {
        assert_eq!(key.post(path, body).await.error_code(402), "PLAN_LIMIT_REACHED", "{path}");
    }
    let refused = session.post("/app/api/projects", json!({ "name": "P" })).await;
    assert_eq!(refused.error_code(402), "PLAN_LIMIT_REACHED");
    let file = bookmark_list("<DT><A HREF=\"https://example.org/a\">A</A>");
    let import = session.post_file("/app/api/imports", file.as_bytes(), &[]).await;
    assert_eq!(import.error_code(402), "PLAN_LIMIT_REACHED");
    assert_eq!((count_bookmarks(&key).await, library_usage(&key).await), (0, (0, 0)));
}

#[actix_web::test]
async fn tool_in_a_full_library_returns_plan_required() {
    // A bookmark, its document and its passage.
    let limit = 1000 + 3 * ROW_BYTES;
    let server = start_server(limit).await;
    let user = server.user(Plan::Pro).await;
    let (key, assistant) = (user.full_key().await, user.assistant().await);
    let bookmark = save_when_ready(&key, "a", 850).await;
    let used = used_bytes(&key).await;

    let page = json!({ "url": format!("https://example.org/{}", "b".repeat(100)) });
    let note = json!({ "bookmarkId": bookmark["bookmarkId"], "body": "n".repeat(200) });
    for (tool, arguments) in [("add_bookmark", page), ("create_note", note)] {
        let error = assistant.call(tool, arguments).await.unwrap_err();
        assert_eq!(
            (&error["code"], error["usedBytes"].as_u64(), error["limitBytes"].as_u64()),
            (&json!("PLAN_REQUIRED"), Some(used), Some(limit as u64)),
            "{tool}"
        );
    }
    assert_eq!((count_bookmarks(&key).await, used_bytes(&key).await), (1, used));
}

#[actix_web::test]
async fn note_can_be_shortened_but_not_grown_in_a_full_library() {
    // A project, the document of a note and two passages of it.
    let server = start_server(2500 + 4 * ROW_BYTES).await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let id = create_project(&session, "P").await;
    let notes = format!("/rest/v2/projects/{id}/notes");
    let note = |bytes: usize| json!({ "title": "T", "bodyMd": text_of_bytes(bytes) });
    let created = key.post(&notes, note(2000)).await.data(201)["note"].clone();
    assert_eq!(key.post(&notes, note(2000)).await.error_code(402), "PLAN_LIMIT_REACHED");

    let one = format!("/app/api/notes/{}", created["noteId"].as_str().unwrap());
    let change = async |bytes: usize| session.patch(&one, json!({ "bodyMd": text_of_bytes(bytes) })).await;
    change(1000).await.data(200);
    assert_eq!(change(2600).await.error_code(402), "PLAN_LIMIT_REACHED");

    let shown = session.get(&format!("/app/api/projects/{id}/notes")).await;
    assert_eq!(shown.data(200)["notes"][0]["bodyMd"], text_of_bytes(1000));
    session.delete(&one).await.data(200);
    key.post(&notes, note(2000)).await.data(201);
}

#[actix_web::test]
async fn full_library_refuses_growing_tags_feeds_and_files() {
    let (server, site) = (start_server(100).await, Site::start().await);
    let user = server.user(Plan::Research).await;
    let key = user.full_key().await;
    let bookmark = key.save(json!({ "url": "https://example.org/a", "text": "T", "tags": ["reeds"] })).await;
    key.wait_for(&bookmark, "ready").await;
    let feed = b"<rss version=\"2.0\"><channel><title>F</title><item><title>A</title><guid>a</guid></item></channel></rss>";
    let address = site.page("/feed", [Reply::File("application/rss+xml", feed.to_vec())]);
    let followed = key.post("/rest/v1/feeds", json!({ "url": address, "title": "Birds" })).await;
    let feed = format!("/rest/v1/feeds/{}", followed.data(201)["feed"]["feedId"].as_str().unwrap());
    let paper = b"%PDF-1.7 as far as its first bytes say";
    let announced =
        json!({ "filename": "paper.pdf", "contentType": "application/pdf", "bytes": paper.len() });
    let ticket = key.post("/rest/v2/uploads", announced).await.data(201).clone();
    assert!(matches!(uploads::put(&ticket, paper).await, 200 | 201 | 204));
    accounts::set_plan(&server.context().core, user.id(), Plan::Pro).await.unwrap();
    eventually("the smaller plan applies", async || (library_usage(&key).await.1 == 100).then_some(())).await;

    let again = json!({ "url": "https://example.org/a", "tags": ["marsh"] });
    let refusals = [
        key.post(BOOKMARKS, again).await,
        key.patch(&path(&bookmark), json!({ "tags": ["reeds", "marsh"] })).await,
        key.patch("/rest/v1/tags/reeds", json!({ "name": "reed beds" })).await,
        key.patch(&feed, json!({ "folder": "Nature" })).await,
        uploads::complete(&key, &ticket).await,
    ];
    for refused in refusals {
        assert_eq!(refused.error_code(402), "PLAN_LIMIT_REACHED");
    }
    assert_eq!(key.get(&path(&bookmark)).await.data(200)["bookmark"]["tags"], json!(["reeds"]));
    // Changes that remove text or add none are accepted.
    key.patch("/rest/v1/tags/reeds", json!({ "name": "reed" })).await.data(200);
    key.patch(&path(&bookmark), json!({ "favorite": true })).await.data(200);
    key.patch(&feed, json!({ "title": "" })).await.data(200);
    key.delete("/rest/v1/tags/reed").await.data(200);
    upgrade(&server, user.id()).await;
    eventually("the larger plan applies", async || (library_usage(&key).await.1 > 100).then_some(())).await;
    uploads::complete(&key, &ticket).await.data(202);
}

#[actix_web::test]
async fn deleted_bookmark_frees_bytes_when_purged() {
    let settings = [("PLANS__PRO__LIBRARY_BYTES", "10000")];
    let server = Server::start_with(&settings).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let secret = key.header("authorization");
    let first = save_when_ready(&key, "a", 6000).await;
    let used = used_bytes(&key).await;

    key.delete(&path(&first)).await.data(200);
    assert_eq!(used_bytes(&key).await, used);
    assert_eq!(key.post(BOOKMARKS, bookmark_body("b", 6000)).await.error_code(402), "PLAN_LIMIT_REACHED");
    server.clock.advance(bookmark::RESTORE_PERIOD + Duration::from_millis(1));
    let (home, clock) = server.stop().await;
    let server = Server::start_in(home, clock, &settings).await;
    let key = server.anonymous().with("authorization", &secret);

    eventually("the bookmark is purged", async || (used_bytes(&key).await == 0).then_some(())).await;
    key.post(BOOKMARKS, bookmark_body("b", 6000)).await.data(201);
}

#[actix_web::test]
async fn fetched_text_over_the_limit_fails_and_can_be_refetched() {
    let (server, site) = (start_server(3000).await, Site::start().await);
    let user = server.user(Plan::Pro).await;
    let key = user.full_key().await;
    let address = site.page("/birds", [page_reply("herons", 100)]);

    let bookmark = key.save(json!({ "url": address })).await;
    let failed = key.wait_for(&bookmark, "failed").await;

    let reason = failed["error"].as_str().unwrap();
    assert!(reason.starts_with("the library of this account is full: "), "{reason}");
    assert!(reason.contains(" of 3000 bytes are used; "), "{reason}");
    assert!(used_bytes(&key).await < 3000);
    upgrade(&server, user.id()).await;
    key.post(&format!("{}/refetch", path(&bookmark)), json!({})).await.data(202);
    key.wait_for(&bookmark, "ready").await;
}

#[actix_web::test]
async fn refetch_replaces_a_text_within_the_limit() {
    let (server, site) = (start_server(30_000).await, Site::start().await);
    let key = server.user(Plan::Pro).await.full_key().await;
    let address = site.page("/birds", [page_reply("herons", 100)]);
    let bookmark = key.save(json!({ "url": address })).await;
    let bookmark = key.wait_for(&bookmark, "ready").await;
    // Leaves room for less than 300 bytes and 20 rows: only a refetch that counts the difference to the old text fits.
    let remaining = 30_000 - usize::try_from(used_bytes(&key).await).unwrap();
    save_when_ready(&key, "rest", remaining - 300 - 20 * ROW_BYTES).await;
    let document = format!("/rest/v2/documents/{}", bookmark["documentId"].as_str().unwrap());
    let refetch = async || {
        key.post(&format!("{}/refetch", path(&bookmark)), json!({})).await.data(202);
    };

    site.page("/birds", [page_reply("egrets", 100)]);
    refetch().await;
    eventually("the text is replaced", async || {
        key.get(&document).await.data(200)["text"].as_str().unwrap().contains("egrets").then_some(())
    })
    .await;
    key.wait_for(&bookmark, "ready").await;

    site.page("/birds", [page_reply("plovers", 300)]);
    refetch().await;
    let shown = eventually("the larger text is refused", async || {
        let shown = key.get(&path(&bookmark)).await.data(200)["bookmark"].clone();
        shown["error"].as_str().is_some_and(|reason| reason.contains("is full")).then_some(shown)
    })
    .await;
    assert_eq!(shown["status"], "ready");
    let text = key.get(&document).await.data(200)["text"].clone();
    assert!(text.as_str().unwrap().contains("egrets"));
    assert!(used_bytes(&key).await <= 30_000);
}

#[actix_web::test]
async fn entries_over_the_limit_are_delivered_when_there_is_room() {
    let (server, site) = (start_server(4000).await, Site::start().await);
    let user = server.user(Plan::Pro).await;
    let key = user.full_key().await;
    let feed = |second: &str| {
        let item = |name: &str, text: &str| {
            format!(
                "<item><title>{name}</title><link>/{name}</link><guid>{name}</guid><description>{text}</description></item>"
            )
        };
        let items = item("one", "A heron.") + second;
        let body = format!("<rss version=\"2.0\"><channel><title>F</title>{items}</channel></rss>");
        Reply::File("application/rss+xml", body.into_bytes())
    };
    let large = format!(
        "<item><title>two</title><link>/two</link><guid>two</guid><description>{}</description></item>",
        "An egret in the reeds. ".repeat(300)
    );
    let address = site.page("/feed", [feed("")]);
    let followed = key.post("/rest/v1/feeds", json!({ "url": address })).await.data(201)["feed"].clone();
    let refresh = format!("/rest/v1/feeds/{}/refresh", followed["feedId"].as_str().unwrap());
    let entries = async || {
        let listed = key.get("/rest/v1/entries").await;
        listed.data(200)["entries"].as_array().unwrap().len()
    };

    site.page("/feed", [feed(&large)]);
    key.post(&refresh, json!({})).await.data(202);
    let delivery = eventually("the entries do not fit", async || {
        let deliveries = job::Entity::owned_by(user.id()).filter(job::Column::Kind.eq("deliver_entries"));
        let rows = deliveries.all(server.context().core.db.read()).await.unwrap();
        rows.into_iter().find(|row| row.error.as_deref().is_some_and(|reason| reason.contains("is full")))
    })
    .await;

    // The room may come with a deletion or a larger plan, so the job retries seldom: after an hour at the earliest.
    assert!(delivery.run_at >= server.context().core.clock.now() + Duration::from_secs(3600));
    assert_eq!(entries().await, 1);
    let shown = key.get(refresh.trim_end_matches("/refresh")).await.data(200)["feed"].clone();
    assert_eq!(shown["lastError"].as_str(), delivery.error.as_deref());
    upgrade(&server, user.id()).await;
    key.post(&refresh, json!({})).await.data(202);
    eventually("the entries are delivered", async || (entries().await == 2).then_some(())).await;
}

/// A feed with these entries: name and description.
fn feed_reply(entries: &[(&str, &str)]) -> Reply {
    let item = |(name, text): &(&str, &str)| {
        format!(
            "<item><title>{name}</title><link>/{name}</link><guid>{name}</guid><description>{text}</description></item>"
        )
    };
    let items: String = entries.iter().map(item).collect();
    let body = format!("<rss version=\"2.0\"><channel><title>F</title>{items}</channel></rss>");
    Reply::File("application/rss+xml", body.into_bytes())
}

/// Follows a feed and returns its path.
async fn follow(key: &Key, url: &str) -> String {
    let followed = key.post("/rest/v1/feeds", json!({ "url": url })).await;
    format!("/rest/v1/feeds/{}", followed.data(201)["feed"]["feedId"].as_str().unwrap())
}

/// Follows a feed of a list, which is fetched in the background.
async fn follow_listed(key: &Key, url: &str) {
    let opml = format!("<opml version='2.0'><body><outline xmlUrl='{url}'/></body></opml>");
    let report = key.post("/rest/v1/feeds/opml", json!({ "opml": opml })).await;
    assert_eq!(report.data(202)["new"], 1);
}

async fn wait_for_entries(key: &Key, count: usize) {
    eventually(&format!("there are {count} entries"), async || {
        let listed = key.get("/rest/v1/entries").await;
        (listed.data(200)["entries"].as_array().unwrap().len() == count).then_some(())
    })
    .await;
}

/// Waits until the only feed, or the one at this URL, says that the library has no room for it.
async fn wait_for_no_room(key: &Key, url: &str) {
    eventually("the feed has no room", async || {
        let listed = key.get("/rest/v1/feeds").await;
        let feeds = listed.data(200)["feeds"].as_array().unwrap().clone();
        let shown = feeds.into_iter().find(|feed| feed["url"] == url).unwrap();
        let reason = shown["lastError"].as_str()?.to_owned();
        reason.starts_with("the library of this account is full: it has no room").then_some(())
    })
    .await;
}

async fn source_of(server: &Server, url: &str) -> feed_source::Model {
    let found = feed_source::Entity::find().filter(feed_source::Column::Url.eq(url));
    found.one(server.context().core.db.read()).await.unwrap().unwrap()
}

/// A user who follows `/small`, with one entry, and `/large`, and then has a plan whose library is too small for both.
async fn fill_library_with_feeds(server: &Server, site: &Site) -> (Key, String, String) {
    let user = server.user(Plan::Research).await;
    let key = user.full_key().await;
    let text = "An egret in the reeds. ".repeat(300);
    let small = follow(&key, &site.page("/small", [feed_reply(&[("one", "A heron.")])])).await;
    let large = follow(&key, &site.page("/large", [feed_reply(&[("long", &text)])])).await;
    accounts::set_plan(&server.context().core, user.id(), Plan::Pro).await.unwrap();
    eventually("the library is full", async || {
        let (used, limit) = library_usage(&key).await;
        (used > limit).then_some(())
    })
    .await;
    (key, small, large)
}

#[actix_web::test]
async fn feed_of_a_full_library_is_fetched_once_there_is_room() {
    let (server, site) = (start_server(4000).await, Site::start().await);
    let (key, small, large) = fill_library_with_feeds(&server, &site).await;
    let url = site.page("/small", [feed_reply(&[("two", "A stork."), ("one", "A heron.")])]);

    key.post(&format!("{small}/refresh"), json!({})).await.data(202);
    wait_for_no_room(&key, &url).await;

    assert_eq!(site.request_count("/small"), 1);
    let source = source_of(&server, &url).await;
    assert!(source.next_fetch_at >= Some(server.clock.now() + Duration::from_secs(15 * 60)));
    assert_eq!(source.failures, 0);
    let copies = feed_content::Entity::find().all(server.context().core.db.read()).await.unwrap();
    assert_eq!(copies.len(), 2, "the copy is kept");
    // A deletion makes room, and the next scheduled fetch uses it.
    key.delete(&large).await.data(200);
    eventually("there is room", async || (used_bytes(&key).await < 3000).then_some(())).await;
    server.clock.advance(Duration::from_secs(25 * 3600));
    wait_for_entries(&key, 2).await;
    assert_eq!(site.request_count("/small"), 2);
    let shown = key.get(&small).await.data(200)["feed"].clone();
    assert_eq!(shown["lastError"], Value::Null);
}

#[actix_web::test]
async fn feed_without_room_is_fetched_for_a_follower_with_room() {
    let (server, site) = (start_server(4000).await, Site::start().await);
    let (full, small, _) = fill_library_with_feeds(&server, &site).await;
    let free = server.user(Plan::Pro).await.full_key().await;
    let url = site.page("/small", [feed_reply(&[("two", "A stork."), ("one", "A heron.")])]);
    full.post(&format!("{small}/refresh"), json!({})).await.data(202);
    wait_for_no_room(&full, &url).await;

    follow_listed(&free, &url).await;
    wait_for_entries(&free, 2).await;

    assert_eq!(site.request_count("/small"), 2);
    // The full library keeps the entries that it has.
    wait_for_entries(&full, 2).await;
    assert_eq!(full.get(&small).await.data(200)["feed"]["entryCount"], 1);
}

#[actix_web::test]
async fn content_larger_than_the_room_of_each_follower_is_not_stored() {
    let (server, site) = (start_server(30_000).await, Site::start().await);
    let user = server.user(Plan::Pro).await;
    let key = user.full_key().await;
    let text = "An egret in the reeds. ".repeat(4000);
    let url = site.page("/large", [feed_reply(&[("long", &text)])]);

    follow_listed(&key, &url).await;
    wait_for_no_room(&key, &url).await;

    assert_eq!(site.request_count("/large"), 1);
    let copy = feed_content::Entity::find().one(server.context().core.db.read()).await.unwrap();
    assert_eq!(copy, None);
    upgrade(&server, user.id()).await;
    server.clock.advance(Duration::from_secs(25 * 3600));
    wait_for_entries(&key, 1).await;
}

#[actix_web::test]
async fn import_stops_before_rows_over_the_limit() {
    // A row of the file is four rows of the library: a bookmark, its document, its text and the record of the import. One batch of
    // 100 rows fits, two do not.
    let limit = 120_000 + 600 * ROW_BYTES;
    let server = start_server(limit).await;
    let user = server.user(Plan::Pro).await;
    let session = user.sign_in().await;
    let row = |n: usize| bookmark_body(&n.to_string(), 500).to_string() + "\n";
    let file: String = (0..300).map(row).collect();

    let id = start_import(&session, file.as_bytes(), &[("format", "jsonl")]).await;
    let failed = imports::wait_for(&session, &id, "failed").await;

    assert!(failed["error"].as_str().unwrap().contains("is full"), "{failed}");
    assert_eq!((&failed["rows"], &failed["report"]["created"]), (&json!(100), &json!(100)));
    let used = library_quota::used_bytes(server.context().core.db.read(), user.id()).await.unwrap();
    assert!(used <= limit as u64, "{used}");
    upgrade(&server, user.id()).await;
    imports::post_step(&session, &id, "resume").await;
    let done = imports::wait_for(&session, &id, "done").await;
    assert_eq!(done["report"]["created"], 300);
}

#[actix_web::test]
async fn import_of_one_repeated_page_stops_in_a_full_library() {
    // Of the rows of the library almost all are records of the import, without a name and without details.
    let server = start_server(150 * ROW_BYTES).await;
    let user = server.user(Plan::Pro).await;
    let session = user.sign_in().await;
    let row = json!({ "url": "https://example.org/a", "text": "T" }).to_string() + "\n";

    let id = start_import(&session, row.repeat(300).as_bytes(), &[("format", "jsonl")]).await;
    let failed = imports::wait_for(&session, &id, "failed").await;

    assert!(failed["error"].as_str().unwrap().contains("is full"), "{failed}");
    let report = &failed["report"];
    assert_eq!(
        (&failed["rows"], &report["created"], &report["updated"]),
        (&json!(100), &json!(1), &json!(99))
    );
    let used = library_quota::used_bytes(server.context().core.db.read(), user.id()).await.unwrap();
    assert!((counted(100, 0)..=counted(150, 0)).contains(&used), "{used}");
    upgrade(&server, user.id()).await;
    imports::post_step(&session, &id, "resume").await;
    let done = imports::wait_for(&session, &id, "done").await;
    assert_eq!(done["report"]["updated"], 299);
}

#[actix_web::test]
async fn row_counts_a_constant_besides_its_texts() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);

    // `P`, `D` and `b`, and `Birds`.
    let project = create_project(&session, "P").await;
    let decision = json!({ "title": "D", "body": "b" });
    session.post(&format!("/app/api/projects/{project}/decisions"), decision).await.data(201);
    let collection = create_collection(&key, "Birds").await;
    assert_eq!(used_bytes(&key).await, counted(3, 8));
    // A longer name, `Waders`, is no other row.
    key.patch(&collection, json!({ "name": "Waders" })).await.data(200);
    assert_eq!(used_bytes(&key).await, counted(3, 9));
    // The bookmark has its URL of 21 bytes twice, its document as URL and title, and the passage is its text.
    let bookmark = save_when_ready(&key, "a", 50).await;
    assert_eq!(used_bytes(&key).await, counted(6, 9 + 4 * 21 + 50));
    for _ in 0..2 {
        put(&key, &membership(&collection, &bookmark)).await.data(200);
        add_item(&key, &project, &bookmark).await.data(201);
        assert_eq!(used_bytes(&key).await, counted(8, 143));
    }
    key.delete(&membership(&collection, &bookmark)).await.data(200);
    assert_eq!(used_bytes(&key).await, counted(7, 143));
    // The project is deleted with its decision and its item.
    session.delete(&format!("/app/api/projects/{project}")).await.data(200);
    assert_eq!(used_bytes(&key).await, counted(4, 140));
}

#[actix_web::test]
async fn full_library_refuses_items_of_collections_and_projects() {
    let server = start_server(100).await;
    let user = server.user(Plan::Research).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let (project, collection) = (create_project(&session, "P").await, create_collection(&key, "Birds").await);
    let (first, second) = (save_when_ready(&key, "a", 50).await, save_when_ready(&key, "b", 50).await);
    put(&key, &membership(&collection, &first)).await.data(200);
    add_item(&key, &project, &first).await.data(201);
    accounts::set_plan(&server.context().core, user.id(), Plan::Pro).await.unwrap();
    eventually("the smaller plan applies", async || (library_usage(&key).await.1 == 100).then_some(())).await;
    let used = used_bytes(&key).await;

    let collections = json!({ "collectionIds": [collection.rsplit('/').next().unwrap()] });
    let refusals = [
        put(&key, &membership(&collection, &second)).await,
        key.patch(&path(&second), collections).await,
        add_item(&key, &project, &second).await,
    ];

    for refused in refusals {
        assert_eq!(refused.error_code(402), "PLAN_LIMIT_REACHED");
    }
    let shown = key.get(&path(&second)).await;
    assert_eq!(shown.data(200)["bookmark"]["collectionIds"], json!([]));
    // What is in them already adds nothing.
    put(&key, &membership(&collection, &first)).await.data(200);
    let again = add_item(&key, &project, &first).await;
    assert_eq!(again.data(201)["alreadyPresent"].as_array().unwrap().len(), 1);
    assert_eq!(used_bytes(&key).await, used);
    key.delete(&membership(&collection, &first)).await.data(200);
    assert_eq!(used_bytes(&key).await, used - counted(1, 0));
}

#[actix_web::test]
async fn count_equals_the_rows_after_a_mixed_load() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let other = server.user(Plan::Pro).await.full_key().await;
    let db = &server.context().core.db;
    let address = site.page("/birds", [page_reply("herons", 20)]);
    let fetched = key.save(json!({ "url": address, "notes": "Of herons." })).await;
    let id = create_project(&session, "P").await;

    let (keys, others) = (&key, &other);
    let saves = join_all((0..10_usize).map(|n| async move {
        let (key, other) = (keys, others);
        let bookmark = key.save(bookmark_body(&n.to_string(), 100 + n)).await;
        let ready = key.wait_for(&bookmark, "ready").await;
        let highlight = json!({ "text": "he", "startOffset": 0, "endOffset": 2, "note": "Twö." });
        key.post(&format!("{}/highlights", path(&ready)), highlight).await.data(201);
        key.patch(&path(&ready), json!({ "title": "Another", "notes": "n".repeat(n) })).await.data(200);
        other.save(bookmark_body(&n.to_string(), 10)).await;
        ready
    }))
    .await;
    for n in 0..3 {
        let note = json!({ "title": "T", "bodyMd": "Über die Reiher." });
        let once = Client::clone(&key).with("idempotency-key", &n.to_string());
        once.post(&format!("/rest/v2/projects/{id}/notes"), note).await.data(201);
    }
    let collection = create_collection(&key, "Birds").await;
    for saved in &saves[..3] {
        put(&key, &membership(&collection, saved)).await.data(200);
        add_item(&key, &id, saved).await.data(201);
    }
    key.patch(&collection, json!({ "description": "d" })).await.data(200);
    let decision = json!({ "title": "D", "body": "b", "status": "decided" });
    session.post(&format!("/app/api/projects/{id}/decisions"), decision).await.data(201);
    let listed = site.page("/listed", [page_reply("plovers", 10)]);
    let file =
        bookmark_list(&format!("<DT><A HREF=\"{listed}\">A</A>\n<DT><A HREF=\"javascript:b\">B</A>\n"));
    let import = start_import(&session, file.as_bytes(), &[]).await;
    imports::wait_for(&session, &import, "done").await;
    key.wait_for(&fetched, "ready").await;
    site.page("/birds", [page_reply("egrets", 30)]);
    key.post(&format!("{}/refetch", path(&fetched)), json!({})).await.data(202);
    key.delete(&path(&saves[0])).await.data(200);

    assert!(used_bytes(&key).await > 1000);
    assert!(library_quota::find_miscounted_users(db).await.unwrap().is_empty());
    session.delete(&format!("/app/api/projects/{id}")).await.data(200);
    imports::post_step(&session, &import, "undo").await;
    imports::wait_for(&session, &import, "undone").await;
    assert!(library_quota::find_miscounted_users(db).await.unwrap().is_empty());
    accounts::delete(&server.context().core, user.id()).await.unwrap();
    assert!(library_quota::find_miscounted_users(db).await.unwrap().is_empty());
    assert!(Entity::owned_by(user.id()).one(db.read()).await.unwrap().is_none());
}

#[actix_web::test]
async fn count_equals_the_rows_after_any_statements() {
    // Counters are kept by triggers, so the statements need not be those of the server. Two seeds: each covers other sequences.
    for seed in [1, 2] {
        let home = Home::new().await;
        let mut load = RandomLoad { db: Db::open(&home.database_url()).await.unwrap(), state: seed };
        // Twice and in this order, so that every table has rows and every child a parent.
        for (_, statement) in INSERTS.iter().chain(&INSERTS) {
            load.run(&statement.replace("{row}", "0")).await;
        }
        for (table, _) in INSERTS {
            assert!(load.rows(table).await > 0, "{table} has no row");
        }

        for step in 1..=400 {
            let statement = load.next_statement();
            load.run(&statement).await;
            // Recounting all rows takes longer than a statement, so not after each one.
            if step % 10 == 0 {
                let differing = library_quota::find_miscounted_users(&load.db).await.unwrap();
                assert!(differing.is_empty(), "seed {seed}, step {step}: {statement}");
                let differing = counters::find_miscounted_users(&load.db).await.unwrap();
                assert!(differing.is_empty(), "counters, seed {seed}, step {step}: {statement}");
            }
        }

        load.run("DELETE FROM \"user\"").await;
        assert_eq!((load.rows("library_usage").await, load.rows("chunk").await), (0, 0));
        for table in ["account_count", "collection_count", "feed_count", "job", "project_count", "tag_count"]
        {
            assert_eq!(load.rows(table).await, 0, "{table}");
        }
        load.db.close().await.unwrap();
    }
}

/// Statements that insert a row of each counted table and of its parent tables. Placeholders: `{id}` is a new id, `{hex}` its digits,
/// `{text}` a random text, `{maybe}` a random text or NULL, `{number}` a random number and `{row}` the index of a parent row.
const INSERTS: [(&str, &str); 22] = [
    (
        "user",
        "INSERT INTO \"user\" (id, email, password_hash, plan, created_at) VALUES ({id}, {hex}, 'h', 'pro', 1)",
    ),
    (
        "document",
        "INSERT INTO document (id, user_id, content_type, title, url, missing_reason, author, has_user_title, total_chars, version, \
         indexed_version, status, created_at, updated_at) SELECT {id}, id, 'article', {text}, {maybe}, {maybe}, {maybe}, \
         false, 0, 0, 0, 'waiting', 1, 1 FROM \"user\" ORDER BY created_at, \"user\".id LIMIT 1 OFFSET {row}",
    ),
    (
        "chunk",
        "INSERT INTO chunk (id, document_id, user_id, version, ordinal, start_offset, end_offset, text) \
         SELECT {id}, document.id, user_id, 1, {number}, 0, 1, {text} FROM document ORDER BY document.id LIMIT 1 OFFSET {row}",
    ),
    (
        "source",
        "INSERT INTO source (document_id, user_id, format, body, html, outline) \
         SELECT document.id, user_id, 'text', {text}, {maybe}, {maybe} FROM document WHERE true \
         ORDER BY document.id LIMIT 1 OFFSET {row} \
         ON CONFLICT (document_id) DO UPDATE SET body = excluded.body, html = excluded.html",
    ),
    (
        "rendition",
        "INSERT INTO rendition (document_id, user_id, html, outline) SELECT document.id, user_id, {maybe}, {text} \
         FROM document WHERE true ORDER BY document.id LIMIT 1 OFFSET {row} \
         ON CONFLICT (document_id) DO UPDATE SET html = excluded.html, outline = excluded.outline",
    ),
    (
        "bookmark",
        "INSERT INTO bookmark (id, user_id, document_id, kind, content_type, title, url, normalized_url, favorite, archived, \
         progress, saved_at, created_at, updated_at) \
         SELECT {id}, user_id, document.id, 'page', content_type, title, {text}, {hex}, false, false, 0, 1, 1, 1 \
         FROM document ORDER BY document.id LIMIT 1 OFFSET {row}",
    ),
    (
        "bookmark_tag",
        "INSERT INTO bookmark_tag (bookmark_id, name, user_id, saved_at, flags, title_key) \
         SELECT bookmark.id, {text}, user_id, saved_at, flags, title_key FROM bookmark \
         WHERE true ORDER BY bookmark.id LIMIT 3 OFFSET {row} ON CONFLICT DO NOTHING",
    ),
    (
        "highlight",
        "INSERT INTO highlight (id, user_id, bookmark_id, text, note, color, start_offset, end_offset, created_at) \
         SELECT {id}, user_id, bookmark.id, {text}, {maybe}, {maybe}, 0, 1, 1 FROM bookmark \
         ORDER BY bookmark.id LIMIT 1 OFFSET {row}",
    ),
    (
        "collection",
        "INSERT INTO collection (id, user_id, name, description, created_at, updated_at) \
         SELECT {id}, \"user\".id, {text}, {maybe}, 1, 1 FROM \"user\" ORDER BY \"user\".id LIMIT 1 OFFSET {row}",
    ),
    (
        "collection_bookmark",
        "INSERT INTO collection_bookmark (collection_id, bookmark_id, user_id, added_at, saved_at, flags, title_key) \
         SELECT collection.id, bookmark.id, collection.user_id, {number}, bookmark.saved_at, flags, title_key \
         FROM collection JOIN bookmark \
         ON bookmark.user_id = collection.user_id WHERE true ORDER BY bookmark.id, collection.id LIMIT 3 OFFSET {row} \
         ON CONFLICT DO NOTHING",
    ),
    (
        "project",
        "INSERT INTO project (id, user_id, name, description, instructions, status, created_at, updated_at) \
         SELECT {id}, \"user\".id, {text}, {maybe}, {text}, 'active', 1, 1 FROM \"user\" ORDER BY \"user\".id LIMIT 1 OFFSET {row}",
    ),
    (
        "project_item",
        "INSERT INTO project_item (id, user_id, project_id, kind, object_id, document_id, role, pinned, added_at) \
         SELECT {id}, project.user_id, project.id, 'bookmark', document.id, document.id, 'source', false, {number} \
         FROM project JOIN document ON document.user_id = project.user_id WHERE true \
         ORDER BY document.id, project.id LIMIT 1 OFFSET {row} ON CONFLICT DO NOTHING",
    ),
    (
        "decision",
        "INSERT INTO decision (id, user_id, project_id, title, body, status, created_at, updated_at) \
         SELECT {id}, user_id, project.id, {text}, {text}, 'decided', 1, 1 FROM project \
         ORDER BY project.id LIMIT 1 OFFSET {row}",
    ),
    (
        "feed_source",
        "INSERT INTO feed_source (id, url, interval_seconds, failures, created_at) VALUES ({id}, {hex}, 1, 0, 1)",
    ),
    (
        "feed",
        "INSERT INTO feed (id, user_id, source_id, url, title, folder, full_text, created_at) \
         SELECT {id}, \"user\".id, feed_source.id, {text}, {maybe}, {maybe}, false, 1 FROM \"user\" CROSS JOIN feed_source \
         WHERE true ORDER BY feed_source.id, \"user\".id LIMIT 1 OFFSET {row} ON CONFLICT DO NOTHING",
    ),
    (
        "entry",
        "INSERT INTO entry (id, user_id, feed_id, document_id, key_hash, content_hash, url, normalized_url, title, author, \
         summary, has_full_text, enclosure_url, enclosure_type, sorted_at, read, starred, created_at) \
         SELECT {id}, feed.user_id, feed.id, document.id, {bytes}, {bytes}, {text}, {text}, {text}, {maybe}, {maybe}, false, \
         {maybe}, {maybe}, 1, false, false, 1 FROM feed JOIN document ON document.user_id = feed.user_id \
         ORDER BY document.id, feed.id LIMIT 1 OFFSET {row}",
    ),
    (
        "upload",
        "INSERT INTO upload (id, user_id, filename, content_type, bytes, created_at, expires_at) \
         SELECT {id}, \"user\".id, {text}, {text}, 1, 1, 1 FROM \"user\" ORDER BY \"user\".id LIMIT 1 OFFSET {row}",
    ),
    (
        "import",
        "INSERT INTO import (id, user_id, state, is_dry_run, unread_columns, done, created, updated, skipped, created_at) \
         SELECT {id}, \"user\".id, 'done', false, {maybe}, 0, 0, 0, 0, 1 FROM \"user\" ORDER BY \"user\".id LIMIT 1 OFFSET {row}",
    ),
    (
        "import_row",
        "INSERT INTO import_row (id, import_id, user_id, line, outcome, name, detail) \
         SELECT {id}, import.id, user_id, 1, 'created', {maybe}, {maybe} FROM import ORDER BY import.id LIMIT 1 OFFSET {row}",
    ),
    (
        "api_key",
        "INSERT INTO api_key (id, user_id, name, kind, secret_hash, display, scopes, created_at) \
         SELECT {id}, \"user\".id, 'k', 'rest', {bytes}, 'd', 's', 1 FROM \"user\" ORDER BY \"user\".id LIMIT 1 OFFSET {row}",
    ),
    (
        "idempotency",
        "INSERT INTO idempotency (key_id, idempotency_key_hash, user_id, request_hash, body, created_at, heartbeat_at) \
         SELECT api_key.id, {bytes}, user_id, {bytes}, {maybe}, 1, 1 FROM api_key ORDER BY api_key.id LIMIT 1 OFFSET {row}",
    ),
    (
        "job",
        "INSERT INTO job (id, user_id, kind, subject, state, priority, run_at, attempts, created_at) \
         SELECT {id}, user_id, CASE {number} % 3 WHEN 0 THEN 'index' WHEN 1 THEN 'fetch_page' ELSE 'remove_from_index' END, \
         document.id, 'queued', 0, 1, 0, 1 FROM document WHERE true ORDER BY document.id LIMIT 1 OFFSET {row} \
         ON CONFLICT DO NOTHING",
    ),
];

/// Statements that change the states and kinds of jobs.
const JOB_CHANGES: [&str; 6] = [
    "UPDATE job SET state = 'running' WHERE id IN (SELECT id FROM job WHERE state = 'queued' \
     AND subject NOT IN (SELECT subject FROM job WHERE state = 'running') ORDER BY id LIMIT 1 OFFSET {row})",
    "UPDATE job SET state = 'done', finished_at = 1 WHERE state = 'running'",
    "UPDATE job SET state = 'given_up', finished_at = 1 WHERE id IN (SELECT id FROM job ORDER BY id LIMIT 1 OFFSET {row})",
    "UPDATE job SET state = 'queued', finished_at = NULL WHERE id IN (SELECT id FROM job AS ended WHERE state <> 'queued' \
     AND NOT EXISTS (SELECT 1 FROM job AS same WHERE same.kind = ended.kind AND same.subject = ended.subject \
     AND same.state = 'queued') ORDER BY id LIMIT 1 OFFSET {row})",
    "UPDATE job SET kind = 'index' WHERE state <> 'queued'",
    "UPDATE job SET kind = 'remove_from_index' WHERE state = 'running'",
];

/// Columns whose texts are made longer.
const GROWING_COLUMNS: [(&str, &str); 13] = [
    ("document", "title"),
    ("chunk", "text"),
    ("source", "html"),
    ("rendition", "outline"),
    ("bookmark", "normalized_url"),
    ("bookmark_tag", "name"),
    ("highlight", "note"),
    ("project", "instructions"),
    ("feed", "title"),
    ("entry", "summary"),
    ("upload", "filename"),
    ("import", "unread_columns"),
    ("idempotency", "body"),
];

/// Columns that are set to NULL.
const NULLABLE_COLUMNS: [(&str, &str); 8] = [
    ("document", "missing_reason"),
    ("source", "outline"),
    ("rendition", "html"),
    ("highlight", "color"),
    ("collection", "description"),
    ("feed", "folder"),
    ("import_row", "detail"),
    ("idempotency", "body"),
];

/// Columns that are not counted.
const COLUMNS_NOT_COUNTED: [(&str, &str); 6] = [
    ("bookmark", "updated_at"),
    ("document", "updated_at"),
    ("entry", "sorted_at"),
    ("import_row", "line"),
    ("collection_bookmark", "added_at"),
    ("project_item", "added_at"),
];

/// Columns on which it depends whether a row counts, with two values.
const COUNTING_COLUMNS: [(&str, &str, [&str; 2]); 9] = [
    ("bookmark", "deleted_at", ["1", "NULL"]),
    ("document", "hidden_at", ["1", "NULL"]),
    ("document", "status", ["'failed'", "'ready'"]),
    ("document", "error", ["'the page is not reached'", "NULL"]),
    // Items of projects that refer to a bookmark are visible while the document has one, whichever it is.
    ("document", "bookmark_id", ["id", "NULL"]),
    ("project_item", "kind", ["'note'", "'bookmark'"]),
    ("entry", "read", ["true", "false"]),
    ("upload", "completed_at", ["1", "NULL"]),
    ("upload", "arrived_at", ["1", "NULL"]),
];

/// Columns by which rows are deleted, together with the rows that reference them.
const DELETION_KEYS: [(&str, &str); 21] = [
    ("user", "id"),
    ("document", "id"),
    ("chunk", "id"),
    ("source", "document_id"),
    ("rendition", "document_id"),
    ("bookmark", "id"),
    ("bookmark_tag", "bookmark_id"),
    ("highlight", "id"),
    ("collection", "id"),
    ("collection_bookmark", "bookmark_id"),
    ("project", "id"),
    ("project_item", "id"),
    ("decision", "id"),
    ("feed", "id"),
    ("entry", "id"),
    ("upload", "id"),
    ("import", "id"),
    ("import_row", "id"),
    ("api_key", "id"),
    ("idempotency", "key_id"),
    ("job", "id"),
];

/// Random statements over the real tables, reproducible from a seed.
struct RandomLoad {
    db: Db,
    state: u64,
}

impl RandomLoad {
    /// Returns a random number below `bound` (splitmix64).
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.random() % bound as u64).unwrap()
    }

    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Returns a text as an SQL literal, with characters of one to four bytes.
    fn text(&mut self) -> String {
        let chars = self.below(40);
        let text: String =
            (0..chars).map(|_| self.pick(&['a', ' ', '\u{e9}', '\u{6f22}', '\u{1fab6}'])).collect();
        format!("'{text}'")
    }

    fn next_statement(&mut self) -> String {
        match self.below(27) {
            24.. => self.pick(&JOB_CHANGES).to_owned(),
            20..24 => {
                let (table, column, values) = self.pick(&COUNTING_COLUMNS);
                let value = self.pick(&values);
                // All rows or one of them.
                let rows = if self.below(3) == 0 {
                    String::new()
                } else {
                    format!(" WHERE id IN (SELECT id FROM {table} ORDER BY id LIMIT 1 OFFSET {{row}})")
                };
                format!("UPDATE {table} SET {column} = {value}{rows}")
            }
            0..11 => self.pick(&INSERTS).1.to_owned(),
            11..14 => {
                let (table, column) = self.pick(&GROWING_COLUMNS);
                format!("UPDATE {table} SET {column} = COALESCE({column}, '') || {{text}} || {{hex}}")
            }
            14 => {
                let (table, column) = self.pick(&NULLABLE_COLUMNS);
                format!("UPDATE {table} SET {column} = NULL")
            }
            15 => {
                let (table, column) = self.pick(&COLUMNS_NOT_COUNTED);
                format!("UPDATE {table} SET {column} = {column} + 1")
            }
            _ => {
                let (table, column) = self.pick(&DELETION_KEYS);
                format!(
                    "DELETE FROM \"{table}\" WHERE {column} IN (SELECT {column} FROM \"{table}\" ORDER BY {column} LIMIT 1 OFFSET {{row}})"
                )
            }
        }
    }

    /// Runs a statement; sometimes first in a transaction that is rolled back.
    async fn run(&mut self, statement: &str) {
        let statement = self.fill_placeholders(statement);
        if self.below(10) == 0 {
            let txn = self.db.begin().await.unwrap();
            txn.execute_unprepared(&statement).await.unwrap();
        }
        let done = self.db.write().execute_unprepared(&statement).await;
        assert!(done.is_ok(), "{statement}: {done:?}");
    }

    fn fill_placeholders(&mut self, statement: &str) -> String {
        let id = (u128::from(self.random()) << 64) | u128::from(self.random());
        let hex = Uuid::from_u128(id).simple().to_string();
        let (uuid, bytes) = if self.db.is_postgres() {
            (format!("CAST('{hex}' AS UUID)"), format!("CAST('\\x{hex}' AS BYTEA)"))
        } else {
            (format!("x'{hex}'"), format!("x'{hex}'"))
        };
        let statement = statement
            .replace("{id}", &uuid)
            .replace("{bytes}", &bytes)
            .replace("{hex}", &format!("'{hex}'"))
            .replace("{number}", &self.below(1_000_000_000).to_string())
            .replace("{row}", &self.below(3).to_string());
        let mut parts = statement.split('{');
        let mut filled = parts.next().unwrap().to_owned();
        for part in parts {
            let (name, rest) = part.split_once('}').unwrap();
            let text = if name == "maybe" && self.below(3) == 0 { "NULL".to_owned() } else { self.text() };
            filled.push_str(&text);
            filled.push_str(rest);
        }
        filled
    }

    async fn rows(&self, table: &str) -> i64 {
        let count = format!("SELECT COUNT(*) AS row_count FROM \"{table}\"");
        let backend = self.db.read().get_database_backend();
        let row = self.db.read().query_one_raw(Statement::from_string(backend, count)).await.unwrap();
        row.unwrap().try_get("", "row_count").unwrap()
    }
}

#[actix_web::test]
async fn wrong_count_is_found_and_repaired_from_the_rows() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let key = user.full_key().await;
    save_when_ready(&key, "a", 500).await;
    let (db, right) = (&server.context().core.db, used_bytes(&key).await);
    Entity::update_many()
        .col_expr(Column::Bytes, Expr::value(7_i64))
        .filter(Column::UserId.eq(user.id()))
        .exec(db.write())
        .await
        .unwrap();

    assert_eq!(library_quota::find_miscounted_users(db).await.unwrap(), vec![user.id()]);
    library_quota::recount(db, user.id()).await.unwrap();

    assert_eq!(used_bytes(&key).await, right);
    assert!(library_quota::find_miscounted_users(db).await.unwrap().is_empty());
}

#[actix_web::test]
async fn unlisted_faulty_import_rows_are_counted_by_reason() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let row = |n: usize| match n % 5_001 {
        5_000 => json!({ "url": format!("https://example.org/{n}"), "text": "T" }).to_string() + "\n",
        _ => "no object\n".to_owned(),
    };
    let file: String = (0..30_006).map(row).collect();

    let id = start_import(&session, file.as_bytes(), &[("format", "jsonl")]).await;
    let done = imports::wait_for(&session, &id, "done").await;

    let report = &done["report"];
    assert_eq!((report["created"].as_i64(), report["skippedRows"].as_i64()), (Some(6), Some(30_000)));
    assert_eq!(report["skipped"].as_array().unwrap().len(), 10_000);
    let counted = report["unlistedFaults"].as_array().unwrap();
    assert_eq!((counted.len(), counted[0]["rows"].as_u64()), (1, Some(20_000)));
    assert_eq!(counted[0]["reason"], report["skipped"][0]["reason"]);
}

#[actix_web::test]
async fn import_rows_over_the_plan_are_skipped() {
    let server = Server::start_with(&[("PLANS__PRO__UPLOAD_BYTES", "8")]).await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let id = Uuid::from_u128(7);
    let file =
        json!({ "path": "files/a.pdf", "filename": "a.pdf", "contentType": "application/pdf", "bytes": 9 });
    let upload = json!({
        "kind": "bookmark", "id": id, "form": "upload", "url": "https://example.org/a", "tags": [], "notes": null,
        "collections": [], "favorite": false, "archived": false, "progress": 0.0,
        "savedAt": "2023-11-14T22:13:20.000Z", "document": id, "file": file,
    });
    let lines = format!("{upload}\n").repeat(10_100);
    let archive = zip_archive(&[
        ("carrel.json", br#"{"format": "carrel", "version": 1}"#),
        ("library.jsonl", lines.as_bytes()),
    ]);

    let import = start_import(&session, &archive, &[]).await;
    let done = imports::wait_for(&session, &import, "done").await;

    let skipped = &done["report"]["skipped"];
    assert_eq!(done["report"]["skippedRows"], 10_100, "{}", skipped[0]);
    assert_eq!(skipped[0]["reason"], "its file is larger than the plan allows");
}

#[actix_web::test]
async fn import_with_only_faulty_rows_fails() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let file = "no object\n".repeat(40_000);

    let id = start_import(&session, file.as_bytes(), &[("format", "jsonl")]).await;
    let failed = imports::wait_for(&session, &id, "failed").await;

    let rows = failed["rows"].as_i64().unwrap();
    assert!((10_000..20_000).contains(&rows), "{rows}");
    assert!(failed["error"].as_str().unwrap().contains("none of the last 10000 rows"), "{failed}");
    assert_eq!(failed["report"]["created"], 0);
    // A resumed import reads on behind the faulty rows until as many have failed once more.
    imports::post_step(&session, &id, "resume").await;
    let again = eventually("the reader has read more", async || {
        let import = imports::show_import(&session, &id).await;
        (import["status"] == "failed" && import["rows"].as_i64() > Some(rows)).then_some(import)
    })
    .await;
    assert!(again["rows"].as_i64().unwrap() < 40_000);
}
