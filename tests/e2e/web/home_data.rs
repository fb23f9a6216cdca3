//! What the home page shows, and onboarding with its sample project.

use std::time::Duration;

use serde_json::{Value, json};
use values::plan::Plan;
use values::scope::Scope;

use super::feed_fixture::{Reader, rss};
use crate::support::{Client, Server, Site, eventually};

const HOUR: Duration = Duration::from_secs(3600);

async fn home(app: &Client) -> Value {
    app.get("/app/api/home").await.data(200).clone()
}

/// Saves a text and waits until it is ready. Returns the bookmark.
async fn save_ready(app: &Client, url: &str, text: &str) -> Value {
    let saved = app.post("/app/api/library/bookmarks", json!({ "url": url, "text": text })).await;
    let id = saved.data(201)["bookmark"]["bookmarkId"].as_str().unwrap().to_owned();
    eventually("the text is ready", async || {
        let path = format!("/app/api/library/bookmarks/{id}");
        let bookmark = app.get(&path).await.data(200)["bookmark"].clone();
        (bookmark["status"] == "ready").then_some(bookmark)
    })
    .await
}

fn path_of(bookmark: &Value) -> String {
    format!("/app/api/library/bookmarks/{}", bookmark["bookmarkId"].as_str().unwrap())
}

#[actix_web::test]
async fn begun_text_names_the_sentence_at_which_one_stopped() {
    let server = Server::start().await;
    let app = server.user(Plan::Pro).await.sign_in().await;
    let text = "The tide turned. Nobody saw it. Then the boats swung round.";
    let begun = save_ready(&app, "https://tides.example/turn", text).await;
    save_ready(&app, "https://tides.example/other", "A text that nobody has begun.").await;

    app.patch(&path_of(&begun), json!({ "progress": 0.6 })).await.data(200);
    let shown = home(&app).await;

    assert_eq!(shown["continuedCount"], 1);
    assert_eq!(shown["continued"][0]["lastSentence"], "Nobody saw it.");
    assert_eq!(shown["continued"][0]["minutesLeft"], 1);
    assert_eq!(shown["saved"].as_array().unwrap().len(), 2);
    app.patch(&path_of(&begun), json!({ "archived": true })).await.data(200);
    assert_eq!(home(&app).await["continued"], json!([]));
    app.patch(&path_of(&begun), json!({ "archived": false, "progress": 1.0 })).await.data(200);
    assert_eq!(home(&app).await["continued"], json!([]));
}

#[actix_web::test]
async fn new_entries_count_from_the_end_of_the_last_visit() {
    let (server, site) = (Server::start().await, Site::start().await);
    let reader = Reader::new(&server).await;
    let feed = reader.follow(&site, "/tides", &["T1", "T2"], None).await;
    server.clock.advance(HOUR / 60);

    let first = home(&reader.app).await;
    server.clock.advance(HOUR);
    site.page("/tides", [rss("Feed", &["T0", "T1", "T2"])]);
    reader.refresh(&feed).await;
    eventually("the entry arrived", async || {
        let entries = reader.stream("").await;
        (entries["entries"].as_array().unwrap().len() == 3).then_some(())
    })
    .await;
    let second = home(&reader.app).await;

    assert_eq!((&first["lastVisitAt"], &first["newEntryCount"]), (&Value::Null, &json!(0)));
    assert_eq!(first["newEntries"].as_array().unwrap().len(), 2);
    assert!(second["lastVisitAt"].is_string());
    assert_eq!(second["newEntries"][0]["feedTitle"], "Feed");
    assert_eq!(second["newEntryCount"], 1);
    server.clock.advance(HOUR / 6);
    assert_eq!(home(&reader.app).await["lastVisitAt"], second["lastVisitAt"]);
    let tree = reader.app.get("/app/api/feeds/tree").await.data(200).clone();
    assert_eq!(tree["lastVisitAt"], second["lastVisitAt"]);
}

#[actix_web::test]
async fn highlight_of_the_day_is_one_of_the_users_own() {
    let server = Server::start().await;
    let (app, other) =
        (server.user(Plan::Pro).await.sign_in().await, server.user(Plan::Pro).await.sign_in().await);
    let bookmark = save_ready(&app, "https://tides.example/turn", "The tide turned. Nobody saw it.").await;
    let highlights = format!("{}/highlights", path_of(&bookmark));
    app.post(&highlights, json!({ "text": "Nobody saw it.", "startOffset": 17, "endOffset": 31 }))
        .await
        .data(201);

    let (shown, again) = (home(&app).await, home(&app).await);

    assert_eq!(shown["highlight"]["text"], "Nobody saw it.");
    assert_eq!(shown["highlight"]["documentId"], bookmark["documentId"]);
    assert_eq!(shown["highlight"], again["highlight"]);
    assert_eq!(home(&other).await["highlight"], Value::Null);
    app.delete(&path_of(&bookmark)).await.data(200);
    assert_eq!(home(&app).await["highlight"], Value::Null);
}

#[actix_web::test]
async fn onboarding_is_over_when_all_four_are_done() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Pro).await;
    let app = user.sign_in().await;
    let fresh = app.get("/app/api/onboarding").await.data(200).clone();

    save_ready(&app, "https://tides.example/turn", "The tide turned.").await;
    let feed = site.page("/feed", [rss("Feed", &["T1"])]);
    app.post("/app/api/library/feeds", json!({ "url": feed })).await.data(201);
    let bookmarks = b"<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><DT><A HREF=\"https://a.example/\">A</A></DL>";
    let import = app.post_file("/app/api/imports", bookmarks, &[("dryRun", "true")]).await;
    assert!(import.status < 300, "{}", import.text);
    let almost = app.get("/app/api/onboarding").await.data(200).clone();
    user.key([Scope::ReadUser]).await.get("/rest/v1/user").await.data(200);
    let done = eventually("the use of the key is recorded", async || {
        let shown = app.get("/app/api/onboarding").await.data(200).clone();
        (shown["hasConnected"] == true).then_some(shown)
    })
    .await;

    for name in ["hasSaved", "hasImported", "hasFollowed", "hasConnected", "isOver"] {
        assert_eq!(fresh[name], false, "{name}");
    }
    assert_eq!((&almost["hasImported"], &almost["isOver"]), (&json!(true), &json!(false)));
    assert_eq!(done["isOver"], true);
    assert_eq!(home(&app).await["onboarding"], Value::Null);
}

#[actix_web::test]
async fn ended_onboarding_is_not_shown_again() {
    let server = Server::start().await;
    let app = server.user(Plan::Pro).await.sign_in().await;

    assert_eq!(home(&app).await["onboarding"]["hasSaved"], false);
    assert_eq!(app.post("/app/api/onboarding/end", json!({})).await.data(200)["isOver"], true);

    assert_eq!(home(&app).await["onboarding"], Value::Null);
}

#[actix_web::test]
async fn sample_project_is_searchable_and_removed_with_its_texts() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let app = user.sign_in().await;

    let created = app.post("/app/api/onboarding/sample", json!({})).await.data(201).clone();
    let again = app.post("/app/api/onboarding/sample", json!({})).await.data(201).clone();

    let project = &created["sampleProject"];
    assert_eq!((&project["name"], &project["sourceCount"]), (&json!("How tides work"), &json!(5)));
    assert_eq!((&again["sampleProject"], &created["hasSaved"]), (project, &json!(false)));
    eventually("a sample text is found", async || {
        let found = app.get("/app/api/library/search?q=twelfths").await.data(200).clone();
        let results = found["results"].as_array().unwrap();
        results.iter().any(|hit| hit["title"] == "The rule of twelfths").then_some(())
    })
    .await;
    let removed = app.delete("/app/api/onboarding/sample").await.data(200).clone();
    assert_eq!(removed["sampleProject"], Value::Null);
    let left = app.get("/app/api/library/bookmarks").await.data(200)["bookmarks"].clone();
    assert_eq!(left, json!([]));
    assert_eq!(app.get("/app/api/projects").await.data(200)["projects"], json!([]));
    app.delete("/app/api/onboarding/sample").await.data(200);
}

#[actix_web::test]
async fn notice_names_the_key_that_can_be_revoked() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (app, key) = (user.sign_in().await, user.key([Scope::ReadUser]).await);
    key.get("/rest/v1/user").await.data(200);
    let notice = eventually("the notice is written", async || {
        let list = app.get("/app/api/notices").await.data(200).clone();
        list["notices"].get(0).cloned()
    })
    .await;

    assert_eq!(notice["action"]["subjectId"], key.id);
    assert_eq!((&notice["action"]["name"], &notice["action"]["isActive"]), (&json!("reader"), &json!(true)));
    assert_eq!(home(&app).await["notices"][0]["id"], notice["id"]);
    app.delete(&format!("/app/api/keys/{}", key.id)).await.data(200);
    let revoked = app.get("/app/api/notices").await.data(200)["notices"][0]["action"].clone();
    assert_eq!((&revoked["isActive"], &revoked["scopes"]), (&json!(false), &json!([])));
    assert_eq!(key.get("/rest/v1/user").await.error_code(401), "API_KEY_INVALID");
}
