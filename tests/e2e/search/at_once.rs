//! What was acknowledged is found by the next search, whatever the jobs are doing: here the worker is stopped. Once the index has it, the
//! same is found, and nothing twice.

use std::time::Duration;

use entity::job;
use library::clock::Clock;
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter};
use serde_json::{Value, json};
use uuid::Uuid;
use values::id::UserId;
use values::kind::JobState;
use values::plan::Plan;

use crate::support::{Key, Reply, Server, Site, eventually};

fn text_of(object: &Value, name: &str) -> String {
    object[name].as_str().unwrap().to_owned()
}

fn path_of(saved: &Value) -> String {
    format!("/rest/v1/bookmarks/{}", text_of(saved, "bookmarkId"))
}

/// Returns the results of a search; the words need no encoding.
async fn results(key: &Key, words: &str, filters: &str) -> Vec<Value> {
    let answer = key.get(&format!("/rest/v2/search?q={}&limit=20{filters}", words.replace(' ', "+"))).await;
    answer.data(200)["results"].as_array().unwrap().clone()
}

/// Returns the results in a document.
async fn results_in(key: &Key, words: &str, saved: &Value) -> Vec<Value> {
    let all = results(key, words, "").await;
    all.into_iter().filter(|result| result["documentId"] == saved["documentId"]).collect()
}

/// Asserts that a search finds a save once, and returns the result.
async fn find_once(key: &Key, words: &str, saved: &Value) -> Value {
    let found = results_in(key, words, saved).await;
    assert_eq!(found.len(), 1, "{words}: {found:#?}");
    found.into_iter().next().unwrap()
}

async fn is_found(key: &Key, words: &str, saved: &Value) -> bool {
    !results_in(key, words, saved).await.is_empty()
}

/// Returns the ids of the passages of a document.
async fn passages(key: &Key, document: &str) -> Vec<String> {
    let listed = key.get(&format!("/rest/v2/documents/{document}/chunks")).await;
    listed.data(200)["chunks"].as_array().unwrap().iter().map(|chunk| text_of(chunk, "chunkId")).collect()
}

/// Asserts that a result is of a document without a text, in this state.
async fn assert_without_text(key: &Key, result: &Value, status: &str) {
    assert_eq!(result["status"], status, "{result:#?}");
    assert_eq!(result["chunkId"], result["documentId"]);
    assert!(!text_of(result, "snippet").is_empty());
    assert!(passages(key, &text_of(result, "documentId")).await.is_empty());
}

/// Asserts that a result is a passage of the current text of its document.
async fn assert_with_text(key: &Key, result: &Value) {
    let listed = passages(key, &text_of(result, "documentId")).await;
    assert!(listed.contains(&text_of(result, "chunkId")), "{result:#?}");
}

/// Follows a feed with one entry, and returns the URL of the entry.
async fn follow_feed(key: &Key, site: &Site) -> String {
    let link = site.page("/entry", [Reply::Status(404)]);
    let body = format!(
        "<rss version=\"2.0\"><channel><title>Herons</title><item><title>Bitterns</title><link>{link}</link>\
         <guid>1</guid><description>A bittern booms.</description></item></channel></rss>"
    );
    let headers = vec![("content-type", "application/rss+xml".to_owned())];
    let url = site.page("/feed.xml", [Reply::Plain { status: 200, headers, body }]);
    key.post("/rest/v1/feeds", json!({ "url": url })).await.data(201);
    eventually("the text of the entry is found", async || {
        let found = results(key, "bittern", "").await;
        found.iter().any(|result| result["chunkId"] != result["documentId"]).then_some(())
    })
    .await;
    link
}

#[actix_web::test]
async fn save_is_found_by_its_metadata_before_any_job_ran() {
    let (server, site) = (Server::start().await, Site::start().await);
    let (owner, other) = (server.user(Plan::Research).await, server.user(Plan::Research).await);
    let (key, foreign) = (owner.full_key().await, other.full_key().await);
    server.service().stop_worker().await;
    let url = site.page("/spoonbill-colony", [Reply::Status(404)]);

    let page = json!({ "url": url, "title": "Feeding habits", "tags": ["ornithology"], "notes": "Ask Ada." });
    let saved = key.save(page).await;

    let fields = ["spoonbill", "Feeding habits", "ornithology", "habits ornithology colony"];
    for words in fields {
        assert_without_text(&key, &find_once(&key, words, &saved).await, "processing").await;
        assert!(results(&foreign, words, "").await.is_empty(), "{words}");
    }
    // Its notes are a text of their own.
    let notes = results(&key, "ask ada", "").await;
    assert_eq!((notes.len(), &notes[0]["contentType"]), (1, &json!("note")));
    assert_eq!(notes[0]["bookmarkId"], saved["bookmarkId"]);
    assert_with_text(&key, &notes[0]).await;
    assert_eq!(notes[0]["status"], "processing");

    server.restart_worker().await;
    key.wait_for(&saved, "failed").await;
    for shown in [&saved, &notes[0]] {
        server.wait_until_indexed(owner.id(), shown).await;
    }
    for words in fields {
        assert_without_text(&key, &find_once(&key, words, &saved).await, "failed").await;
    }
    let notes = results(&key, "ask ada", "").await;
    // The note can be read, the page cannot.
    assert_eq!((notes.len(), &notes[0]["status"]), (1, &json!("failed")));
    assert!(results(&foreign, "spoonbill", "").await.is_empty());
}

#[actix_web::test]
async fn save_with_a_text_is_found_by_its_host_before_any_job_ran() {
    let server = Server::start().await;
    let owner = server.user(Plan::Research).await;
    let key = owner.full_key().await;
    server.service().stop_worker().await;

    let saved = key.save_text("https://wetlands.example/about", "Godwits probe the mud.").await;

    assert_eq!(find_once(&key, "wetlands", &saved).await["status"], "processing");
    server.restart_worker().await;
    key.wait_for(&saved, "ready").await;
    server.wait_until_indexed(owner.id(), &saved).await;
    for words in ["wetlands", "godwits"] {
        assert_with_text(&key, &find_once(&key, words, &saved).await).await;
    }
}

#[actix_web::test]
async fn changes_of_an_indexed_text_are_found_at_once() {
    let server = Server::start().await;
    let owner = server.user(Plan::Research).await;
    let key = owner.full_key().await;
    let page = json!({ "url": "https://marsh.example/a", "text": "Godwits probe.", "tags": ["shore"] });
    let saved = key.save(page).await;
    key.wait_for(&saved, "ready").await;
    assert!(is_found(&key, "shore", &saved).await);
    server.service().stop_worker().await;

    key.patch(&path_of(&saved), json!({ "title": "Dunlins", "tags": ["estuary"] })).await.data(200);
    let note = json!({ "text": "Godwits", "startOffset": 0, "endOffset": 7, "note": "longest migration" });
    key.post(&format!("{}/highlights", path_of(&saved)), note).await.data(201);

    let fields = ["dunlins", "estuary", "migration", "godwits", "godwits estuary dunlins"];
    for words in fields {
        assert_with_text(&key, &find_once(&key, words, &saved).await).await;
    }
    assert!(!is_found(&key, "shore", &saved).await, "the former tag");
    // The tag counts, although no passage has it.
    assert!(find_once(&key, "estuary", &saved).await["score"].as_f64().unwrap() > 0.5);

    server.restart_worker().await;
    server.wait_until_indexed(owner.id(), &saved).await;
    for words in fields {
        assert_with_text(&key, &find_once(&key, words, &saved).await).await;
    }
    assert!(!is_found(&key, "shore", &saved).await);
}

/// Adds a job of the backlog that indexes a document an hour later: the clock stands still.
async fn add_backlog_job(server: &Server, owner: UserId, document: Uuid) {
    let later = server.clock.now() + Duration::from_secs(3600);
    let job = job::Model::queued(owner, "index", document, (1, 10), later);
    let insert = job::Entity::insert(job.into_active_model());
    insert.exec_without_returning(server.context().core.db.write()).await.unwrap();
}

#[actix_web::test]
async fn change_does_not_wait_for_the_backlog() {
    let server = Server::start().await;
    let owner = server.user(Plan::Research).await;
    let key = owner.full_key().await;
    let page = json!({ "url": "https://marsh.example/a", "text": "Godwits probe.", "tags": ["shore"] });
    let saved = key.save(page).await;
    key.wait_for(&saved, "ready").await;
    server.wait_until_indexed(owner.id(), &saved).await;
    let document: Uuid = text_of(&saved, "documentId").parse().unwrap();
    add_backlog_job(&server, owner.id(), document).await;

    key.patch(&path_of(&saved), json!({ "tags": ["estuary"] })).await.data(200);
    server.wait_until_indexed(owner.id(), &saved).await;

    assert!(is_found(&key, "estuary", &saved).await && !is_found(&key, "shore", &saved).await);
    let waiting = job::Entity::of_every_user()
        .filter(job::Column::Subject.eq(document))
        .filter(job::Column::State.eq(JobState::Queued));
    let waiting = waiting.all(server.context().core.db.read()).await.unwrap();
    assert_eq!(waiting.len(), 1, "{waiting:?}");
}

#[actix_web::test]
async fn failed_save_is_found_while_it_is_not_deleted() {
    let (server, site) = (Server::start().await, Site::start().await);
    let owner = server.user(Plan::Research).await;
    let key = owner.full_key().await;
    let saved = key.save(json!({ "url": site.page("/spoonbills", [Reply::Status(404)]) })).await;
    key.wait_for(&saved, "failed").await;
    server.service().stop_worker().await;
    assert_without_text(&key, &find_once(&key, "spoonbills", &saved).await, "failed").await;

    key.patch(&path_of(&saved), json!({ "tags": ["waders"] })).await.data(200);
    assert_without_text(&key, &find_once(&key, "waders", &saved).await, "failed").await;

    key.delete(&path_of(&saved)).await.data(200);
    assert!(!is_found(&key, "spoonbills", &saved).await && !is_found(&key, "waders", &saved).await);

    key.post(&format!("{}/restore", path_of(&saved)), json!({})).await.data(200);
    for words in ["spoonbills", "waders"] {
        find_once(&key, words, &saved).await;
    }
    server.restart_worker().await;
    server.wait_until_indexed(owner.id(), &saved).await;
    for words in ["spoonbills", "waders"] {
        find_once(&key, words, &saved).await;
    }
}

#[actix_web::test]
async fn entry_is_found_as_a_bookmark_as_soon_as_it_is_one() {
    let (server, site) = (Server::start().await, Site::start().await);
    let owner = server.user(Plan::Research).await;
    let key = owner.full_key().await;
    let link = follow_feed(&key, &site).await;
    server.service().stop_worker().await;
    assert!(results(&key, "bittern", "&source=bookmarks").await.is_empty());

    let saved = key.post("/rest/v1/bookmarks", json!({ "url": link, "tags": ["reedbed"] })).await;
    let saved = saved.data(201)["bookmark"].clone();

    for words in ["bittern", "reedbed"] {
        assert_eq!(results(&key, words, "&source=bookmarks").await.len(), 1, "{words}");
        assert!(results(&key, words, "&source=feeds").await.is_empty(), "{words}");
        assert_with_text(&key, &find_once(&key, words, &saved).await).await;
    }
    server.restart_worker().await;
    server.wait_until_indexed(owner.id(), &saved).await;
    for words in ["bittern", "reedbed"] {
        assert_with_text(&key, &find_once(&key, words, &saved).await).await;
        assert!(results(&key, words, "&source=feeds").await.is_empty(), "{words}");
    }
    key.delete(&path_of(&saved)).await.data(200);
    eventually("the entry is an entry again", async || {
        (results(&key, "bittern", "&source=feeds").await.len() == 1).then_some(())
    })
    .await;
    server.wait_until_indexed(owner.id(), &saved).await;
    assert_eq!(results(&key, "bittern", "&source=feeds").await.len(), 1);
    assert!(results(&key, "bittern", "&source=bookmarks").await.is_empty());
    assert!(results(&key, "reedbed", "").await.is_empty());
}

#[actix_web::test]
async fn unindexed_saves_pass_the_same_filters() {
    let server = Server::start().await;
    let owner = server.user(Plan::Research).await;
    let key = owner.full_key().await;
    server.service().stop_worker().await;
    let page = |name: &str, archived: bool| json!({ "url": format!("https://herons.example/{name}"), "tags": [name], "archived": archived });
    key.save(page("grey", false)).await;
    key.save(page("purple", true)).await;

    for (filters, count) in [
        ("", 2),
        ("&tag=grey", 1),
        ("&tag=white", 0),
        ("&archived=true", 1),
        ("&archived=true&tag=grey", 0),
        ("&source=feeds", 0),
        ("&source=bookmarks&contentType=article", 2),
        ("&contentType=pdf", 0),
    ] {
        assert_eq!(results(&key, "herons", filters).await.len(), count, "{filters}");
    }
}

#[actix_web::test]
async fn phrases_and_exclusions_hold_for_unindexed_saves() {
    let server = Server::start().await;
    let owner = server.user(Plan::Research).await;
    let key = owner.full_key().await;
    server.service().stop_worker().await;
    let page =
        |name: &str, title: &str| json!({ "url": format!("https://pond.example/{name}"), "title": title });
    key.save(page("a", "The grey heron")).await;
    key.save(page("b", "A heron of grey reeds")).await;

    assert_eq!(results(&key, "heron", "").await.len(), 2);
    for (words, title) in [("%22grey heron%22", "The grey heron"), ("heron -reeds", "The grey heron")] {
        let found = results(&key, words, "").await;
        let titles: Vec<&str> = found.iter().map(|result| result["title"].as_str().unwrap()).collect();
        assert_eq!(titles, [title], "{words}");
    }
}
