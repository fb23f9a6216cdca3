//! Feeds: one fetch serves all followers, each of them has separate entries, and saved entries outlive the feed.

use std::time::Duration;

use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{Key, Reply, Server, Site, article, eventually};

const HOUR: Duration = Duration::from_secs(3600);

/// An entry: its slug, its title and its description.
type EntryFields<'a> = (&'a str, &'a str, &'a str);

/// A feed with these entries, each an hour older than the one before.
fn rss(entries: &[EntryFields]) -> Reply {
    let item = |(n, (slug, title, text)): (usize, &EntryFields)| {
        format!(
            "<item><title>{title}</title><link>/{slug}</link><guid>{slug}</guid>\
             <pubDate>Mon, 06 May 2024 {:02}:00:00 GMT</pubDate><description>{text}</description></item>",
            11 - n
        )
    };
    let items: String = entries.iter().enumerate().map(item).collect();
    let body = format!("<rss version=\"2.0\"><channel><title>The Reeds</title>{items}</channel></rss>");
    let etag = format!("\"{}\"", body.len());
    raw_reply(200, &[("content-type", "application/rss+xml"), ("etag", &etag)], &body)
}

fn raw_reply(status: u16, headers: &[(&'static str, &str)], body: &str) -> Reply {
    let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    Reply::Plain { status, headers, body: body.to_owned() }
}

async fn key(server: &Server) -> Key {
    server.user(Plan::Pro).await.full_key().await
}

async fn follow_feed(key: &Key, url: &str) -> Value {
    key.post("/rest/v1/feeds", json!({ "url": url })).await.data(201)["feed"].clone()
}

fn id<'a>(of: &'a Value, name: &str) -> &'a str {
    of[name].as_str().unwrap()
}

fn path(feed: &Value) -> String {
    format!("/rest/v1/feeds/{}", id(feed, "feedId"))
}

async fn show_feed(key: &Key, feed: &Value) -> Value {
    key.get(&path(feed)).await.data(200)["feed"].clone()
}

async fn refresh_feed(key: &Key, feed: &Value) {
    key.post(&format!("{}/refresh", path(feed)), json!({})).await.data(202);
}

async fn list_entries(key: &Key) -> Vec<Value> {
    key.get("/rest/v1/entries").await.data(200)["entries"].as_array().unwrap().clone()
}

async fn wait_for_entries(key: &Key, count: usize) -> Vec<Value> {
    eventually(&format!("there are {count} entries"), async || {
        Some(list_entries(key).await).filter(|entries| entries.len() == count)
    })
    .await
}

/// Waits until the text of the entry's document contains these words, and returns it.
async fn wait_for_text(key: &Key, entry: &Value, words: &str) -> String {
    let path = format!("/rest/v2/documents/{}", id(entry, "documentId"));
    eventually(&format!("the text has the words {words}"), async || {
        let document = key.get(&path).await.data(200).clone();
        let text = document["text"].as_str().unwrap().to_owned();
        (text.contains(words) && document["status"] == "ready").then_some(text)
    })
    .await
}

#[actix_web::test]
async fn one_fetch_serves_all_followers_with_separate_entries() {
    let (server, site) = (Server::start().await, Site::start().await);
    let (ada, bea) = (key(&server).await, key(&server).await);
    let url = site.page("/feed", [rss(&[("one", "One", "The first heron.")])]);

    let adas = follow_feed(&ada, &format!("{url}?utm_source=ada")).await;
    let beas = follow_feed(&bea, &url).await;
    assert_eq!(site.request_count("/feed"), 1);
    assert_eq!((adas["entryCount"].as_i64(), adas["unreadCount"].as_i64()), (Some(1), Some(1)));
    assert_eq!((id(&beas, "url"), id(&beas, "title")), (url.as_str(), "The Reeds"));

    site.page("/feed", [rss(&[("two", "Two", "The second heron."), ("one", "One", "The first heron.")])]);
    refresh_feed(&bea, &beas).await;
    let (of_ada, of_bea) = (wait_for_entries(&ada, 2).await, wait_for_entries(&bea, 2).await);

    assert_eq!(site.request_count("/feed"), 2);
    for name in ["entryId", "documentId", "feedId"] {
        assert!(of_ada.iter().all(|entry| of_bea.iter().all(|other| entry[name] != other[name])));
    }
    let foreign = bea.get(&format!("/rest/v1/entries/{}", id(&of_ada[0], "entryId"))).await;
    assert_eq!(foreign.error_code(404), "NOT_FOUND");
    assert_eq!(bea.get(&path(&adas)).await.error_code(404), "NOT_FOUND");
}

#[actix_web::test]
async fn feed_is_refetched_on_schedule_with_a_conditional_request() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = key(&server).await;
    let followed = follow_feed(&key, &site.page("/feed", [rss(&[("one", "One", "A heron.")])])).await;

    // The longest interval between two fetches is a day.
    server.clock.advance(25 * HOUR);
    eventually("the feed is requested again", async || (site.not_modified_count("/feed") == 1).then_some(()))
        .await;
    let again = eventually("the feed shows the second fetch", async || {
        let now = show_feed(&key, &followed).await;
        (now["lastFetchedAt"] != followed["lastFetchedAt"]).then_some(now)
    })
    .await;

    assert_eq!(again["lastError"], Value::Null);
    assert!(id(&again, "nextFetchAt") > id(&again, "lastFetchedAt"));
    assert_eq!(list_entries(&key).await.len(), 1);
}

#[actix_web::test]
async fn failing_feed_keeps_its_entries_and_backs_off() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = key(&server).await;
    let followed = follow_feed(&key, &site.page("/feed", [rss(&[("one", "One", "A heron.")])])).await;
    site.page("/feed", [raw_reply(500, &[], "an error")]);

    let mut waits = Vec::new();
    for failures in 1..=2 {
        refresh_feed(&key, &followed).await;
        eventually("the feed is requested", async || {
            (site.request_count("/feed") == failures + 1).then_some(())
        })
        .await;
        let failed = eventually("the feed shows the error", async || {
            let now = show_feed(&key, &followed).await;
            (now["lastError"].is_string() && !waits.contains(&now["nextFetchAt"])).then_some(now)
        })
        .await;
        assert_eq!(
            failed["lastError"],
            "the server answered with status 500; if this continues, check the URL of the feed"
        );
        waits.push(failed["nextFetchAt"].clone());
    }

    assert!(waits[0].as_str() < waits[1].as_str());
    assert_eq!(list_entries(&key).await.len(), 1);
}

#[actix_web::test]
async fn retry_after_of_a_host_is_respected_for_all_users() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = key(&server).await;
    let followed = follow_feed(&key, &site.page("/feed", [rss(&[("one", "One", "A heron.")])])).await;
    site.page("/feed", [raw_reply(429, &[("retry-after", "7200")], "")]);
    refresh_feed(&key, &followed).await;
    eventually("the feed shows the error", async || {
        show_feed(&key, &followed).await["lastError"].as_str().map(drop)
    })
    .await;

    refresh_feed(&key, &followed).await;
    eventually("the second refresh has ended", async || queue_is_empty(&server).await.then_some(())).await;

    // The second refresh ended without a request, because the time of `Retry-After` has not passed.
    assert_eq!(site.request_count("/feed"), 2);
}

/// Returns whether no job waits or runs.
async fn queue_is_empty(server: &Server) -> bool {
    use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
    use values::kind::JobState;
    let open = entity::job::Column::State.is_in([JobState::Queued, JobState::Running]);
    entity::job::Entity::find().filter(open).one(server.context().core.db.read()).await.unwrap().is_none()
}

#[actix_web::test]
async fn feed_with_status_410_is_not_fetched_again() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = key(&server).await;
    let followed = follow_feed(&key, &site.page("/feed", [rss(&[("one", "One", "A heron.")])])).await;
    site.page("/feed", [Reply::Status(410)]);

    refresh_feed(&key, &followed).await;
    let gone = eventually("the feed shows the error", async || {
        Some(show_feed(&key, &followed).await).filter(|feed| feed["lastError"].is_string())
    })
    .await;

    assert_eq!(gone["nextFetchAt"], Value::Null);
    assert_eq!(gone["entryCount"], 1);
}

#[actix_web::test]
async fn permanently_moved_feed_is_followed_at_its_new_url() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = key(&server).await;
    let followed = follow_feed(&key, &site.page("/old", [rss(&[("one", "One", "A heron.")])])).await;
    let new = site.page("/new", [rss(&[("one", "One", "A heron.")])]);
    site.page("/old", [raw_reply(301, &[("location", "/new")], "")]);

    refresh_feed(&key, &followed).await;
    eventually("the feed is at its new URL", async || {
        (id(&show_feed(&key, &followed).await, "url") == new).then_some(())
    })
    .await;

    assert_eq!(list_entries(&key).await.len(), 1);
    assert_eq!(
        key.post("/rest/v1/feeds", json!({ "url": new })).await.data(200)["feed"]["feedId"],
        followed["feedId"]
    );
}

#[actix_web::test]
async fn follower_of_moved_feed_gets_existing_entries() {
    let (server, site) = (Server::start().await, Site::start().await);
    let (ada, bea) = (key(&server).await, key(&server).await);
    let items = [("two", "Two", "The second heron."), ("one", "One", "The first heron.")];
    follow_feed(&ada, &site.page("/new", [rss(&items)])).await;
    let beas = follow_feed(&bea, &site.page("/old", [rss(&items[1..])])).await;
    site.page("/old", [raw_reply(301, &[("location", "/new")], "")]);

    refresh_feed(&bea, &beas).await;

    wait_for_entries(&bea, 2).await;
    eventually("the new URL receives a conditional request", async || {
        (site.not_modified_count("/new") > 0).then_some(())
    })
    .await;
    assert_eq!(list_entries(&ada).await.len(), 2);
}

#[actix_web::test]
async fn manual_refresh_of_unchanged_feed_adds_missing_entries() {
    use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
    let (server, site) = (Server::start().await, Site::start().await);
    let ada = server.user(Plan::Pro).await;
    let key = ada.full_key().await;
    let followed = follow_feed(&key, &site.page("/feed", [rss(&[("one", "One", "A heron.")])])).await;
    wait_for_entries(&key, 1).await;
    // The feed answers "not modified", so only the stored copy of its last response can restore the entry.
    let own = entity::entry::Column::UserId.eq(ada.id());
    entity::entry::Entity::delete_many().filter(own).exec(server.context().core.db.write()).await.unwrap();

    refresh_feed(&key, &followed).await;

    wait_for_entries(&key, 1).await;
    eventually("the feed receives a conditional request", async || {
        (site.not_modified_count("/feed") == 1).then_some(())
    })
    .await;
}

#[actix_web::test]
async fn entries_without_own_pages_keep_the_text_of_the_feed() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = key(&server).await;
    let home = site.page("/", [article("The home page", "Nothing of a heron")]);
    let saved = key.save(json!({ "url": home })).await;
    key.wait_for(&saved, "ready").await;
    let status = |numbers: &[u32]| {
        let item = |n: &u32| {
            format!(
                "<item><title>Status</title><guid isPermaLink=\"false\">{n}</guid><description>Heron {n} flew.</description></item>"
            )
        };
        let items: String = numbers.iter().map(item).collect();
        let body = format!(
            "<rss version=\"2.0\"><channel><title>Birds</title><link>{home}</link>{items}</channel></rss>"
        );
        raw_reply(200, &[("content-type", "application/rss+xml")], &body)
    };
    let url = site.page("/feed", [status(&[1])]);
    let followed =
        key.post("/rest/v1/feeds", json!({ "url": url, "fullText": true })).await.data(201)["feed"].clone();

    let first = wait_for_entries(&key, 1).await.remove(0);
    assert!(wait_for_text(&key, &first, "Heron 1 flew.").await.contains("Heron 1"));
    assert_ne!(first["documentId"], saved["documentId"]);
    site.page("/feed", [status(&[2, 3])]);
    server.clock.advance(HOUR);
    refresh_feed(&key, &followed).await;

    let all = wait_for_entries(&key, 3).await;
    for entry in &all {
        wait_for_text(&key, entry, "flew.").await;
    }
    assert!(all.iter().any(|entry| entry["entryId"] == first["entryId"]));
    assert_eq!(site.request_count("/"), 1);
}

#[actix_web::test]
async fn entries_without_ids_keep_their_identity_in_any_feed() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = key(&server).await;
    for link in ["<link>/x</link>", ""] {
        let changes = |numbers: &[u32]| {
            let item = |n: &u32| {
                format!(
                    "<item><title>Changes</title>{link}<description>Change {n}.</description>\
                     <pubDate>Fri, 0{n} Mar 2024 10:00:00 GMT</pubDate></item>"
                )
            };
            let items: String = numbers.iter().map(item).collect();
            let body = format!("<rss version=\"2.0\"><channel><title>X</title>{items}</channel></rss>");
            raw_reply(200, &[("content-type", "application/rss+xml")], &body)
        };
        let path = format!("/feed{}", link.len());
        let followed = follow_feed(&key, &site.page(&path, [changes(&[1])])).await;
        let before = list_entries(&key).await.len();
        for numbers in [&[2, 1][..], &[2], &[3, 2], &[3]] {
            site.page(&path, [changes(numbers)]);
            server.clock.advance(HOUR);
            refresh_feed(&key, &followed).await;
            eventually("the entries are delivered", async || queue_is_empty(&server).await.then_some(()))
                .await;
        }

        let all = wait_for_entries(&key, before + 2).await;
        let mut summaries: Vec<&str> = all
            .iter()
            .filter(|entry| entry["feedId"] == followed["feedId"])
            .map(|entry| id(entry, "summary"))
            .collect();
        summaries.sort_unstable();
        assert_eq!(summaries, ["Change 1.", "Change 2.", "Change 3."], "{link}");
    }
}

#[actix_web::test]
async fn comments_with_same_title_and_page_are_separate_entries() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = key(&server).await;
    let comments = |numbers: &[u32]| {
        let item = |n: &u32| {
            format!(
                "<item><title>By: Ada</title><link>/post#comment-{n}</link><guid>{n}</guid>\
                 <description>Comment {n}.</description></item>"
            )
        };
        let items: String = numbers.iter().map(item).collect();
        let body = format!("<rss version=\"2.0\"><channel><title>Comments</title>{items}</channel></rss>");
        raw_reply(200, &[("content-type", "application/rss+xml")], &body)
    };
    let followed = follow_feed(&key, &site.page("/feed", [comments(&[7])])).await;

    site.page("/feed", [comments(&[9, 7])]);
    refresh_feed(&key, &followed).await;
    let both = wait_for_entries(&key, 2).await;
    site.page("/feed", [comments(&[11, 9])]);
    server.clock.advance(HOUR);
    refresh_feed(&key, &followed).await;
    let all = wait_for_entries(&key, 3).await;

    let mut summaries: Vec<&str> = all.iter().map(|entry| id(entry, "summary")).collect();
    summaries.sort_unstable();
    assert_eq!(summaries, ["Comment 11.", "Comment 7.", "Comment 9."]);
    assert!(both.iter().all(|entry| all.iter().any(|other| other["entryId"] == entry["entryId"])));
}

#[actix_web::test]
async fn full_text_setting_fetches_pages_of_summary_entries() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = key(&server).await;
    site.page("/one", [article("One", "kingfishers")]);
    let followed = follow_feed(&key, &site.page("/feed", [rss(&[("one", "One", "A few words.")])])).await;
    let entry = list_entries(&key).await.remove(0);

    assert_eq!(wait_for_text(&key, &entry, "few words").await, "A few words.");
    assert_eq!(site.request_count("/one"), 0);
    let changed = key.send(reqwest::Method::PATCH, &path(&followed), Some(json!({ "fullText": true }))).await;
    assert_eq!(changed.data(200)["feed"]["fullText"], true);

    wait_for_text(&key, &entry, "kingfishers").await;
}

#[actix_web::test]
async fn changed_entry_keeps_its_id_and_gets_the_new_text() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = key(&server).await;
    let followed = follow_feed(&key, &site.page("/feed", [rss(&[("one", "One", "Before.")])])).await;
    let before = list_entries(&key).await.remove(0);
    wait_for_text(&key, &before, "Before.").await;

    site.page("/feed", [rss(&[("one", "One, mended", "After that.")])]);
    refresh_feed(&key, &followed).await;
    wait_for_text(&key, &before, "After that.").await;

    let after = list_entries(&key).await;
    assert_eq!((after.len(), id(&after[0], "title")), (1, "One, mended"));
    assert_eq!(after[0]["entryId"], before["entryId"]);
}

#[actix_web::test]
async fn saved_entry_keeps_its_document_after_unfollow() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = key(&server).await;
    site.page("/one", [article("One", "kingfishers")]);
    let items = [("one", "One", "A kingfisher."), ("two", "Two", "A kingfisher too.")];
    let followed = follow_feed(&key, &site.page("/feed", [rss(&items)])).await;
    let [one, two] = list_entries(&key).await.try_into().unwrap();
    wait_for_text(&key, &two, "kingfisher too").await;

    let saved = key.save(json!({ "url": one["url"] })).await;
    assert_eq!(saved["documentId"], one["documentId"]);
    wait_for_text(&key, &one, "remembers it").await;
    let shown = key.get(&format!("/rest/v1/entries/{}", id(&one, "entryId"))).await;
    assert_eq!(shown.data(200)["entry"]["bookmarkId"], saved["bookmarkId"]);
    let search = format!("/rest/v2/search?q=kingfisher&feedId={}", id(&followed, "feedId"));
    key.get(&search).await.data(200);

    key.delete(&path(&followed)).await.data(200);

    assert_eq!(key.get(&search).await.error_code(404), "NOT_FOUND");
    assert!(list_entries(&key).await.is_empty());
    let saved_document = key.get(&format!("/rest/v2/documents/{}", id(&one, "documentId"))).await;
    assert_eq!(
        (&saved_document.data(200)["bookmarkId"], &saved_document.data(200)["entryId"]),
        (&saved["bookmarkId"], &Value::Null)
    );
    let gone = key.get(&format!("/rest/v2/documents/{}", id(&two, "documentId"))).await;
    assert_eq!(gone.error_code(404), "NOT_FOUND");
    eventually("search finds only the saved entry", async || {
        (key.search("kingfisher").await == [id(&one, "documentId")]).then_some(())
    })
    .await;
}

#[actix_web::test]
async fn entries_saved_during_unfollow_become_bookmarks() {
    let slugs: Vec<String> = (0..8).map(|n| format!("heron-{n}")).collect();
    let items: Vec<EntryFields> =
        slugs.iter().map(|slug| (slug.as_str(), "A heron", "A heron in the water.")).collect();
    let (server, site) = (Server::start().await, Site::start().await);
    let key = key(&server).await;
    let pages: Vec<String> =
        slugs.iter().map(|slug| site.page(&format!("/{slug}"), [article(slug, "a heron")])).collect();
    let followed = path(&follow_feed(&key, &site.page("/feed", [rss(&items)])).await);

    let save = |url: &String| key.post("/rest/v1/bookmarks", json!({ "url": url }));
    let (saved, unfollowed) = join(join_all(pages.iter().map(save)), key.delete(&followed)).await;

    unfollowed.data(200);
    for answer in &saved {
        key.wait_for(&answer.data(201)["bookmark"], "ready").await;
    }
    eventually("no job waits or runs", async || queue_is_empty(&server).await.then_some(())).await;
    assert!(list_entries(&key).await.is_empty());
    for answer in &saved {
        let document = id(&answer.data(201)["bookmark"], "documentId");
        let read = key.get(&format!("/rest/v2/documents/{document}")).await;
        assert!(read.data(200)["text"].as_str().unwrap().contains("heron"), "{}", read.body);
    }
}

#[actix_web::test]
async fn entry_outlives_its_bookmark_and_is_linked_on_restore() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = key(&server).await;
    site.page("/one", [article("One", "kingfishers")]);
    let followed = follow_feed(&key, &site.page("/feed", [rss(&[("one", "One", "A kingfisher.")])])).await;
    let entry = list_entries(&key).await.remove(0);
    let saved = key.save(json!({ "url": entry["url"] })).await;
    let bookmark = format!("/rest/v1/bookmarks/{}", id(&saved, "bookmarkId"));

    key.delete(&bookmark).await.data(200);
    assert_eq!(list_entries(&key).await[0]["bookmarkId"], Value::Null);
    let document = format!("/rest/v2/documents/{}", id(&entry, "documentId"));
    assert_eq!(key.get(&document).await.data(200)["entryId"], entry["entryId"]);

    key.post(&format!("{bookmark}/restore"), json!({})).await.data(200);
    assert_eq!(list_entries(&key).await[0]["bookmarkId"], saved["bookmarkId"]);

    key.delete(&bookmark).await.data(200);
    key.delete(&path(&followed)).await.data(200);
    assert_eq!(key.get(&document).await.error_code(404), "NOT_FOUND");
    key.post(&format!("{bookmark}/restore"), json!({})).await.data(200);
    assert_eq!(key.get(&document).await.data(200)["bookmarkId"], saved["bookmarkId"]);
}

#[actix_web::test]
async fn page_saved_before_its_feed_entry_is_one_document() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = key(&server).await;
    let page = site.page("/one", [article("One", "kingfishers")]);
    let saved = key.save_text(&page, "As it was given.").await;
    key.wait_for(&saved, "ready").await;

    follow_feed(&key, &site.page("/feed", [rss(&[("one", "One", "A kingfisher.")])])).await;

    let entry = list_entries(&key).await.remove(0);
    assert_eq!((&entry["documentId"], &entry["bookmarkId"]), (&saved["documentId"], &saved["bookmarkId"]));
    assert_eq!(wait_for_text(&key, &entry, "given").await, "As it was given.");
}

#[actix_web::test]
async fn url_without_feed_is_refused() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = key(&server).await;
    let linking =
        |href: &str| Reply::Html(format!("<link rel=alternate type='application/rss+xml' href='{href}'>"));
    site.page("/empty.xml", [rss(&[])]);
    for (url, code) in [
        (site.page("/page", [article("A page", "herons")]), "FEED_NOT_FOUND"),
        (site.page("/direct.xml", [rss(&[])]), "FEED_NOT_FOUND"),
        (site.page("/names-empty", [linking("/empty.xml")]), "FEED_NOT_FOUND"),
        (site.page("/names-private", [linking("http://127.0.0.2/feed")]), "FEED_NOT_FOUND"),
        (
            site.page("/broken", [raw_reply(200, &[("content-type", "application/rss+xml")], "<rss><")]),
            "FEED_NOT_FOUND",
        ),
        (site.page("/away", [Reply::Status(404)]), "FEED_NOT_FOUND"),
        (
            site.page("/inside", [raw_reply(302, &[("location", "http://127.0.0.2/feed")], "")]),
            "URL_REJECTED",
        ),
        ("http://10.0.0.1/feed".to_owned(), "URL_REJECTED"),
        ("ftp://example.org/feed".to_owned(), "URL_REJECTED"),
    ] {
        let refused = key.post("/rest/v1/feeds", json!({ "url": url })).await;
        assert_eq!(refused.error_code(422), code, "{url}");
    }
    let empty = site.page("/direct.xml", [rss(&[])]);
    let refused = key.post("/rest/v1/feeds/discover", json!({ "url": empty })).await;
    assert_eq!(refused.error_code(422), "FEED_NOT_FOUND");
    assert!(key.get("/rest/v1/feeds").await.data(200)["feeds"].as_array().unwrap().is_empty());
}

#[actix_web::test]
async fn feed_at_common_path_is_discovered_but_not_followed() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = key(&server).await;
    let page = site.page("/blog/", [article("A blog", "herons")]);
    let url = site.page("/blog/rss.xml", [rss(&[("one", "One", "A heron.")])]);

    let found = key.post("/rest/v1/feeds/discover", json!({ "url": page })).await;
    assert_eq!(found.data(200)["candidates"][0]["url"], url);
    assert_eq!(key.post("/rest/v1/feeds", json!({ "url": page })).await.error_code(422), "FEED_NOT_FOUND");
    assert_eq!(follow_feed(&key, &url).await["url"], url);
}

#[actix_web::test]
async fn entries_are_paged_newest_first_and_marked_read_before_a_time() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = key(&server).await;
    let fields: Vec<(String, String)> = (0..7).map(|n| (format!("e{n}"), format!("Entry {n}"))).collect();
    let items: Vec<EntryFields> = fields.iter().map(|(slug, title)| (&**slug, &**title, "Words.")).collect();
    let followed = follow_feed(&key, &site.page("/feed", [rss(&items)])).await;

    let (mut titles, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = key.get(&format!("/rest/v1/entries?limit=3{cursor}")).await.data(200).clone();
        titles.extend(page["entries"].as_array().unwrap().iter().map(|entry| id(entry, "title").to_owned()));
        let Some(next) = page["nextCursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    let expected: Vec<String> = (0..7).map(|n| format!("Entry {n}")).collect();
    assert_eq!(titles, expected);

    let before = json!({ "feedId": followed["feedId"], "before": "2024-05-06T08:30:00.000Z" });
    assert_eq!(key.post("/rest/v1/entries/read", before).await.data(200)["marked"], 4);
    let unread = key.get("/rest/v1/entries?unread=true&after=2024-05-06T09:30:00.000Z").await;
    assert_eq!(unread.data(200)["entries"].as_array().unwrap().len(), 2);
    assert_eq!(show_feed(&key, &followed).await["unreadCount"], 3);
}

#[actix_web::test]
async fn opml_export_keeps_folders_when_another_user_imports_it() {
    let (server, site) = (Server::start().await, Site::start().await);
    let (ada, bea) = (key(&server).await, key(&server).await);
    let one = follow_feed(&ada, &site.page("/one", [rss(&[("one", "One", "A heron.")])])).await;
    let two = follow_feed(&ada, &site.page("/two", [rss(&[("two", "Two", "A stork.")])])).await;
    let named = json!({ "folder": "Birds & co", "title": "A \"quoted\" <title>" });
    ada.send(reqwest::Method::PATCH, &path(&one), Some(named)).await.data(200);
    let opml = ada.get("/rest/v1/feeds/opml").await.data(200)["opml"].as_str().unwrap().to_owned();
    follow_feed(&bea, id(&two, "url")).await;

    let report = bea.post("/rest/v1/feeds/opml", json!({ "opml": opml })).await.data(202).clone();
    assert_eq!(
        (&report["found"], &report["new"], &report["alreadyFollowed"]),
        (&2.into(), &1.into(), &1.into())
    );
    wait_for_entries(&bea, 2).await;
    let feeds = bea.get("/rest/v1/feeds").await.data(200)["feeds"].as_array().unwrap().clone();
    assert!(
        feeds.iter().any(|feed| feed["folder"] == "Birds & co" && feed["title"] == "A \"quoted\" <title>")
    );

    let private = "<opml version='2.0'><body><outline xmlUrl='http://10.0.0.1/f'/></body></opml>";
    let report = bea.post("/rest/v1/feeds/opml", json!({ "opml": private })).await.data(202).clone();
    assert_eq!((&report["found"], &report["new"], &report["refused"]), (&1.into(), &0.into(), &1.into()));
    assert_eq!(bea.post("/rest/v1/feeds/opml", json!({ "opml": "no list" })).await.faults(), ["opml"]);
}

#[actix_web::test]
async fn enclosure_is_listed_and_not_fetched_with_full_text() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = key(&server).await;
    let enclosure = site.page("/a.mp3", [Reply::Status(404)]);
    let item = format!(
        "<item><title>Talk</title><guid isPermaLink=\"false\">t</guid><description>About reeds.</description>\
         <enclosure url=\"{enclosure}\" type=\"audio/mpeg\" length=\"77\"/></item>"
    );
    let body = format!("<rss version=\"2.0\"><channel><title>Talks</title>{item}</channel></rss>");
    let url = site.page("/feed", [raw_reply(200, &[("content-type", "application/rss+xml")], &body)]);

    key.post("/rest/v1/feeds", json!({ "url": url, "fullText": true })).await.data(201);
    let entry = list_entries(&key).await.remove(0);
    wait_for_text(&key, &entry, "reeds").await;
    eventually("no job waits or runs", async || queue_is_empty(&server).await.then_some(())).await;

    assert_eq!(entry["enclosure"], json!({ "url": enclosure, "type": "audio/mpeg", "bytes": 77 }));
    assert_eq!((id(&entry, "url"), site.request_count("/a.mp3")), (enclosure.as_str(), 0));
}

#[actix_web::test]
async fn opml_import_is_reported_and_can_be_undone() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (session, key) = (user.sign_in().await, user.full_key().await);
    let site = Site::start().await;
    let (feed, other) =
        (site.page("/feed?a=1", [Reply::Status(404)]), site.page("/other", [Reply::Status(404)]));
    let list = format!(
        "<opml><body><outline xmlUrl=\"{feed}&b=2\"/></outline><outline xmlUrl=\"{other}\"/><outline xmlUrl=\"http://10.0.0.1/\"/></body></opml>"
    );

    let report = key.post("/rest/v1/feeds/opml", json!({ "opml": list })).await.data(202).clone();

    assert_eq!((&report["found"], &report["new"], &report["refused"]), (&json!(3), &json!(2), &json!(1)));
    let import = format!("/app/api/imports/{}", report["importId"].as_str().unwrap());
    let shown = session.get(&import).await.data(200)["import"].clone();
    assert_eq!(
        (&shown["status"], &shown["format"], &shown["report"]["created"]),
        (&json!("done"), &json!("opml"), &json!(2))
    );
    assert_eq!(shown["report"]["skipped"][0]["reason"], "the URL may not be fetched: `http://10.0.0.1/`");
    session.post(&format!("{import}/undo"), json!({})).await.data(200);
    eventually("the followed feed is removed", async || {
        (key.get("/rest/v1/feeds").await.data(200)["feeds"] == json!([])).then_some(())
    })
    .await;
}

/// The same body after a delay, in which the other requests of a test arrive.
fn delayed_reply(reply: Reply) -> Reply {
    let Reply::Plain { body, .. } = reply else { panic!("only a plain reply can be delayed") };
    Reply::Slow(Duration::from_millis(300), body)
}

#[actix_web::test]
async fn parallel_follows_by_one_user_share_one_fetch() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = key(&server).await;
    let url = site.page("/feed", [delayed_reply(rss(&[("one", "One", "A heron.")]))]);
    let body = json!({ "url": url });

    let answers = join_all((0..10).map(|_| key.post("/rest/v1/feeds", body.clone()))).await;

    let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 200, 200, 200, 201]);
    let first = &answers[0].body["data"]["feed"]["feedId"];
    assert!(answers.iter().all(|answer| answer.body["data"]["feed"]["feedId"] == *first));
    assert_eq!((site.request_count("/feed"), list_entries(&key).await.len()), (1, 1));
}

#[actix_web::test]
async fn parallel_follows_by_ten_users_share_one_fetch() {
    let (server, site) = (Server::start().await, Site::start().await);
    let mut keys = Vec::new();
    for _ in 0..10 {
        keys.push(key(&server).await);
    }
    let url =
        site.page("/feed", [delayed_reply(rss(&[("two", "Two", "A stork."), ("one", "One", "A heron.")]))]);

    let answers = join_all(keys.iter().map(|key| key.post("/rest/v1/feeds", json!({ "url": url })))).await;

    for (key, answer) in keys.iter().zip(&answers) {
        assert_eq!(answer.data(201)["feed"]["entryCount"], 2);
        assert_eq!(list_entries(key).await.len(), 2);
    }
    assert_eq!(site.request_count("/feed"), 1);
}

#[actix_web::test]
async fn parallel_follows_of_many_feeds_wait_for_each_other() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = key(&server).await;
    let page = |n| site.page(&format!("/feed{n}"), [delayed_reply(rss(&[("one", "One", "A heron.")]))]);
    let urls: Vec<String> = (0..12).map(page).collect();

    let answers = join_all(urls.iter().map(|url| key.post("/rest/v1/feeds", json!({ "url": url })))).await;

    for answer in &answers {
        answer.data(201);
    }
}

#[actix_web::test]
async fn parallel_follows_of_a_page_without_feed_share_a_refusal() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = key(&server).await;
    let page = Reply::Slow(Duration::from_millis(300), "<p>A heron.</p>".to_owned());
    let url = site.page("/page", [page]);

    let answers = join_all((0..10).map(|_| key.post("/rest/v1/feeds", json!({ "url": url })))).await;

    for answer in &answers {
        assert_eq!(answer.error_code(422), "FEED_NOT_FOUND");
    }
    // A request that arrives after the first fetch has ended fetches again, so the number of fetches is not always one.
    assert!(site.request_count("/page") < answers.len(), "{}", site.request_count("/page"));
}
