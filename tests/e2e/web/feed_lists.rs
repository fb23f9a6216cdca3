//! The routes of the pages of feeds: the tree with counts and health, lists of a folder, marks that are undone, muted words.

use std::time::Duration;

use serde_json::{Value, json};
use values::plan::Plan;

use super::feed_fixture::{Reader, rss};
use crate::support::{Reply, Server, Site, eventually};

fn titles(list: &Value) -> Vec<&str> {
    list["entries"].as_array().unwrap().iter().map(|entry| entry["title"].as_str().unwrap()).collect()
}

#[actix_web::test]
async fn tree_has_folders_with_counts_of_their_feeds() {
    let (server, site) = (Server::start().await, Site::start().await);
    let reader = Reader::new(&server).await;
    let other = Reader::new(&server).await;
    reader.follow(&site, "/tides", &["High", "Low"], Some("Sea")).await;
    reader.follow(&site, "/mud", &["Grey"], Some("Sea")).await;
    reader.follow(&site, "/bread", &["Rye"], None).await;

    let tree = reader.app.get("/app/api/feeds/tree").await.data(200).clone();
    let foreign = other.app.get("/app/api/feeds/tree").await.data(200).clone();

    let folders: Vec<(&Value, &Value, usize)> = tree["folders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|folder| (&folder["name"], &folder["unread"], folder["feeds"].as_array().unwrap().len()))
        .collect();
    assert_eq!(folders, [(&json!("Sea"), &json!(3), 2), (&Value::Null, &json!(1), 1)]);
    assert_eq!((&tree["unread"], &tree["feedCount"], &tree["failing"]), (&json!(4), &json!(3), &json!(0)));
    assert_eq!((&foreign["unread"], foreign["folders"].as_array().unwrap().len()), (&json!(0), 0));
}

#[actix_web::test]
async fn renamed_folder_keeps_its_feeds_and_merges() {
    let (server, site) = (Server::start().await, Site::start().await);
    let reader = Reader::new(&server).await;
    reader.follow(&site, "/tides", &["High"], Some("Sea")).await;
    reader.follow(&site, "/mud", &["Grey"], Some("Shore")).await;

    let renamed = reader.app.post("/app/api/feeds/folder", json!({ "folder": "Sea", "name": "Shore" })).await;
    let unknown = reader.app.post("/app/api/feeds/folder", json!({ "folder": "Sea", "name": "X" })).await;

    assert_eq!(renamed.data(200)["changed"], 1);
    assert_eq!(unknown.error_code(404), "NOT_FOUND");
    let list = reader.stream("folder=Shore").await;
    assert_eq!(titles(&list).len(), 2);
    let gone = reader.app.post("/app/api/feeds/folder", json!({ "folder": "Shore", "name": "" })).await;
    assert_eq!(gone.data(200)["changed"], 2);
    let tree = reader.app.get("/app/api/feeds/tree").await.data(200).clone();
    assert_eq!(tree["folders"][0]["name"], Value::Null);
}

#[actix_web::test]
async fn entries_of_a_folder_are_paged_in_order() {
    let (server, site) = (Server::start().await, Site::start().await);
    let reader = Reader::new(&server).await;
    reader.follow(&site, "/tides", &["T1", "T2", "T3"], Some("Sea")).await;
    reader.follow(&site, "/mud", &["M1", "M2"], Some("Sea")).await;
    reader.follow(&site, "/bread", &["B1"], None).await;

    let first = reader.stream("folder=Sea&limit=3").await;
    let cursor = first["nextCursor"].as_str().unwrap();
    let second = reader.stream(&format!("folder=Sea&limit=3&cursor={cursor}")).await;

    let mut all = titles(&first);
    all.extend(titles(&second));
    all.sort_unstable();
    assert_eq!(all, ["M1", "M2", "T1", "T2", "T3"]);
    assert_eq!(second["nextCursor"], Value::Null);
    assert_eq!(first["entries"][0]["feedTitle"], "Feed");
    let wrong = reader.app.get(&format!("/app/api/entries?limit=3&cursor={cursor}")).await;
    assert_eq!(wrong.error_code(400), "VALIDATION_FAILED");
}

#[actix_web::test]
async fn open_entry_stays_in_the_list_after_it_is_read() {
    let (server, site) = (Server::start().await, Site::start().await);
    let reader = Reader::new(&server).await;
    reader.follow(&site, "/tides", &["T1", "T2", "T3"], None).await;
    let list = reader.stream("").await;
    let open = list["entries"][1]["entryId"].as_str().unwrap();

    reader.app.patch(&format!("/app/api/library/entries/{open}"), json!({ "read": true })).await.data(200);

    assert_eq!(titles(&reader.stream("").await), ["T1", "T3"]);
    assert_eq!(titles(&reader.stream(&format!("openId={open}")).await), ["T1", "T2", "T3"]);
}

#[actix_web::test]
async fn mark_above_ends_at_the_entry_and_is_undone() {
    let (server, site) = (Server::start().await, Site::start().await);
    let (reader, other) = (Reader::new(&server).await, Reader::new(&server).await);
    reader.follow(&site, "/tides", &["T1", "T2", "T3"], Some("Sea")).await;
    let list = reader.stream("").await;
    let second = list["entries"][1]["entryId"].clone();

    let foreign = other.app.post("/app/api/entries/mark", json!({ "upTo": second })).await;
    let marked = reader.app.post("/app/api/entries/mark", json!({ "folder": "Sea", "upTo": second })).await;

    assert_eq!(foreign.error_code(404), "NOT_FOUND");
    let marked = marked.data(200).clone();
    assert_eq!((&marked["marked"], &marked["hasMore"]), (&json!(2), &json!(false)));
    assert_eq!(titles(&reader.stream("").await), ["T3"]);
    let undo = format!("/app/api/entries/marks/{}/undo", marked["markId"].as_str().unwrap());
    assert_eq!(other.app.post(&undo, json!({})).await.error_code(404), "NOT_FOUND");
    assert_eq!(reader.app.post(&undo, json!({})).await.data(200)["unmarked"], 2);
    assert_eq!(titles(&reader.stream("").await), ["T1", "T2", "T3"]);
    assert_eq!(reader.app.post(&undo, json!({})).await.error_code(404), "NOT_FOUND");
}

#[actix_web::test]
async fn mark_cannot_be_undone_after_ten_minutes() {
    let (server, site) = (Server::start().await, Site::start().await);
    let reader = Reader::new(&server).await;
    reader.follow(&site, "/tides", &["T1"], None).await;
    let marked = reader.app.post("/app/api/entries/mark", json!({})).await.data(200).clone();

    server.clock.advance(Duration::from_secs(601));
    let undo = format!("/app/api/entries/marks/{}/undo", marked["markId"].as_str().unwrap());

    assert_eq!(reader.app.post(&undo, json!({})).await.error_code(409), "CONFLICT");
}

#[actix_web::test]
async fn muted_words_mark_unread_and_later_entries() {
    let (server, site) = (Server::start().await, Site::start().await);
    let reader = Reader::new(&server).await;
    let feed = reader.follow(&site, "/tides", &["The Cup begins", "Cupboards", "Low water"], None).await;

    let added = reader.app.post("/app/api/feeds/mutes", json!({ "words": "cup" })).await.data(201).clone();

    assert_eq!(added["marked"], 1);
    assert_eq!(titles(&reader.stream("").await), ["Cupboards", "Low water"]);
    site.page("/tides", [rss("Feed", &["A cup of tea", "High water", "The Cup begins"])]);
    reader.refresh(&feed).await;
    let list = eventually("the new entries arrived", async || {
        Some(reader.stream("show=all").await).filter(|list| titles(list).len() == 5)
    })
    .await;
    let read = list["entries"].as_array().unwrap().iter().filter(|entry| entry["read"] == true).count();
    assert_eq!(read, 2);
    let mutes = reader.app.get("/app/api/feeds/mutes").await.data(200)["mutes"].clone();
    let path = format!("/app/api/feeds/mutes/{}", mutes[0]["id"].as_str().unwrap());
    reader.app.delete(&path).await.data(200);
    assert_eq!(reader.app.delete(&path).await.error_code(404), "NOT_FOUND");
    let signs = reader.app.post("/app/api/feeds/mutes", json!({ "words": "--" })).await;
    assert_eq!(signs.faults(), ["words"]);
}

#[actix_web::test]
async fn failing_feed_tells_since_when() {
    let (server, site) = (Server::start().await, Site::start().await);
    let reader = Reader::new(&server).await;
    let feed = reader.follow(&site, "/tides", &["T1"], None).await;
    site.page("/tides", [Reply::Status(503)]);
    server.clock.advance(Duration::from_secs(3600));

    reader.refresh(&feed).await;
    let failing = eventually("the tree shows the failure", async || {
        let tree = reader.app.get("/app/api/feeds/tree").await.data(200).clone();
        (tree["failing"] == 1).then(|| tree["folders"][0]["feeds"][0].clone())
    })
    .await;

    assert_eq!(failing["failures"], 1);
    assert!(failing["failingSince"].as_str() > failing["lastFetchedAt"].as_str());
    assert_eq!(failing["failingSince"], failing["lastTriedAt"]);
    assert!(failing["nextFetchAt"].as_str() > failing["failingSince"].as_str());
}

#[actix_web::test]
async fn all_feeds_are_fetched_unless_they_were_just_now() {
    let (server, site) = (Server::start().await, Site::start().await);
    let reader = Reader::new(&server).await;
    reader.follow(&site, "/tides", &["T1"], None).await;

    let at_once = reader.app.post("/app/api/feeds/refresh", json!({})).await.data(202)["queued"].clone();
    server.clock.advance(Duration::from_secs(301));
    let later = reader.app.post("/app/api/feeds/refresh", json!({})).await.data(202)["queued"].clone();

    assert_eq!((at_once, later), (json!(0), json!(1)));
    eventually("the feed is requested", async || (site.request_count("/tides") == 2).then_some(())).await;
}

#[actix_web::test]
async fn saved_entry_becomes_a_bookmark_of_its_document() {
    let (server, site) = (Server::start().await, Site::start().await);
    let (reader, other) = (Reader::new(&server).await, Reader::new(&server).await);
    reader.follow(&site, "/tides", &["T1"], None).await;
    let entry = reader.stream("").await["entries"][0].clone();
    let path = format!("/app/api/entries/{}/save", entry["entryId"].as_str().unwrap());

    let foreign = other.app.post(&path, json!({})).await;
    let saved = reader.app.post(&path, json!({})).await.data(201)["bookmark"].clone();
    let again = reader.app.post(&path, json!({})).await;

    assert_eq!(foreign.error_code(404), "NOT_FOUND");
    assert_eq!(saved["documentId"], entry["documentId"]);
    assert_eq!(again.data(200)["bookmark"]["bookmarkId"], saved["bookmarkId"]);
    assert_eq!(reader.stream("").await["entries"][0]["bookmarkId"], saved["bookmarkId"]);
}

#[actix_web::test]
async fn free_plan_reads_feeds_in_the_web_app() {
    let server = Server::start().await;
    let app = server.user(Plan::Free).await.sign_in().await;

    assert_eq!(app.get("/app/api/feeds/tree").await.data(200)["feedCount"], 0);
    assert_eq!(app.get("/app/api/entries").await.data(200)["entries"].as_array().unwrap().len(), 0);
}
