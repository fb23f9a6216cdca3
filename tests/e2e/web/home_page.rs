//! The pages of home: what a new user sees, and what stands there later.

use serde_json::{Value, json};
use values::plan::Plan;

use super::feed_fixture::Reader;
use crate::support::{Client, Response, Server, Site, eventually};

async fn end_onboarding(app: &Client) {
    assert_eq!(app.post_form("/welcome/end", &[]).await.status, 303);
}

/// Asserts that a form was taken, and returns the page to which the browser is sent.
async fn follow(app: &Client, answer: &Response) -> Response {
    assert_eq!(answer.status, 303, "{}", answer.text);
    app.get(answer.header("location")).await
}

#[actix_web::test]
async fn new_user_sees_four_ways_to_start_and_can_skip_them() {
    let server = Server::start().await;
    let app = server.user(Plan::Pro).await.sign_in().await;

    let welcome = app.get("/").await;
    assert_eq!(welcome.status, 200);
    assert_eq!(welcome.text.matches("class=\"step\"").count(), 4, "{}", welcome.text);
    let refused = app.post_form("/welcome/save", &[("url", "not an address")]).await;
    assert_eq!(refused.status, 422);
    assert!(refused.text.contains("aria-invalid=\"true\"") && refused.text.contains("not an address"));
    end_onboarding(&app).await;
    let home = app.get("/").await;

    assert!(!home.text.contains("class=\"step\""));
    assert!(home.text.contains("Nothing saved yet"));
}

#[actix_web::test]
async fn first_page_is_saved_in_place() {
    let (server, site) = (Server::start().await, Site::start().await);
    let app = server.user(Plan::Pro).await.sign_in().await;
    let url = site.page("/a", [crate::support::Reply::Html("<p>The tide turned.</p>".to_owned())]);

    let saved = app.post_form("/welcome/save", &[("url", &url)]).await;
    let welcome = follow(&app, &saved).await;

    assert!(welcome.text.contains("step is-done"), "{}", welcome.text);
    assert!(welcome.text.contains("id=\"toast\""));
}

#[actix_web::test]
async fn sample_project_is_added_and_removed_by_forms() {
    let server = Server::start().await;
    let app = server.user(Plan::Pro).await.sign_in().await;

    let added = app.post_form("/welcome/sample", &[]).await;
    let welcome = follow(&app, &added).await;
    assert!(welcome.text.contains("How tides work, with 5 sources"), "{}", welcome.text);
    let removed = app.post_form("/welcome/sample/remove", &[]).await;
    let without = follow(&app, &removed).await;

    assert!(!without.text.contains("with 5 sources"));
    assert!(without.text.contains("action=\"/welcome/sample\""));
}

#[actix_web::test]
async fn sample_text_has_a_page() {
    let server = Server::start().await;
    let anonymous = server.anonymous();

    let page = anonymous.get("/samples/why-tides").await;

    assert_eq!(page.status, 200);
    assert!(page.text.contains("Why the sea rises twice a day"));
    assert!(page.header("content-security-policy").contains("default-src 'none'"));
    assert_eq!(anonymous.get("/samples/other").await.status, 404);
}

#[actix_web::test]
async fn home_escapes_names_and_shows_what_is_new() {
    let (server, site) = (Server::start().await, Site::start().await);
    let reader = Reader::new(&server).await;
    end_onboarding(&reader.app).await;
    reader.follow(&site, "/tides", &["High &amp; <b>low</b>"], None).await;
    let body = json!({ "url": "https://tides.example/a", "title": "<i>Mud</i> \u{202e}", "text": "The tide turned." });
    reader.app.post("/app/api/library/bookmarks", body).await.data(201);

    let home = reader.app.get("/").await;
    let saved = reader.app.get_part("/", "part-saved").await;

    assert!(home.text.contains("New in your feeds"), "{}", home.text);
    assert!(saved.text.starts_with("<section") && saved.text.contains("Mud"), "{}", saved.text);
    assert!(!home.text.contains("<i>Mud") && home.text.contains("Mud"));
    assert!(!home.text.contains('\u{202e}'));
    assert!(!home.text.contains(" style=") && !home.text.contains("<script>"));
    assert_eq!(home.text.matches("<h1").count(), 1);
}

#[actix_web::test]
async fn failed_save_stands_with_its_reason_and_is_retried() {
    let (server, site) = (Server::start().await, Site::start().await);
    let app = server.user(Plan::Pro).await.sign_in().await;
    end_onboarding(&app).await;
    let url = site.page("/a", [crate::support::Reply::Status(404)]);
    let saved = app.post("/app/api/library/bookmarks", json!({ "url": url })).await.data(201).clone();
    let document = saved["bookmark"]["documentId"].as_str().unwrap();
    let failed = eventually("the page failed", async || {
        let home = app.get("/").await;
        home.text.contains("state is-error").then_some(home)
    })
    .await;

    assert!(failed.text.contains("action=\"/home/retry\""));
    let retried = app.post_form("/home/retry", &[("document", document)]).await;
    let home = follow(&app, &retried).await;

    assert!(home.text.contains("id=\"toast\""));
    let foreign = server.user(Plan::Pro).await.sign_in().await;
    assert_eq!(foreign.post_form("/home/retry", &[("document", document)]).await.status, 404);
}

#[actix_web::test]
async fn notice_ends_the_access_of_its_key_at_once() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (app, key) = (user.sign_in().await, user.key([values::scope::Scope::ReadUser]).await);
    key.get("/rest/v1/user").await.data(200);
    let notice: Value = eventually("the notice is written", async || {
        app.get("/app/api/notices").await.data(200)["notices"].get(0).cloned()
    })
    .await;
    let id = notice["id"].as_str().unwrap();
    let page = app.get("/notices").await;
    assert!(page.text.contains("Not you? Revoke") && page.text.contains("is-new"), "{}", page.text);

    let fields = [("kind", "key"), ("subject", key.id.as_str()), ("name", "reader")];
    let stranger = server.user(Plan::Pro).await.sign_in().await;
    stranger.post_form(&format!("/notices/{id}/end"), &fields).await;
    key.get("/rest/v1/user").await.data(200);
    let ended = app.post_form(&format!("/notices/{id}/end"), &fields).await;
    let after = follow(&app, &ended).await;

    assert_eq!(key.get("/rest/v1/user").await.error_code(401), "API_KEY_INVALID");
    assert!(after.text.contains("id=\"toast\"") && !after.text.contains("Not you? Revoke"));
    assert_eq!(app.post_form("/notices/read", &[]).await.status, 303);
}

#[actix_web::test]
async fn extension_is_downloaded_as_an_archive() {
    let server = Server::start().await;
    let app = server.user(Plan::Pro).await.sign_in().await;

    let page = app.get("/settings/extension").await;
    let (status, headers, archive) =
        app.receive(reqwest::Method::GET, "/settings/extension/carrel-extension.zip", None).await;

    assert!(
        page.text.contains("carrel-extension.zip") && page.text.contains(app.base_url()),
        "{}",
        page.text
    );
    assert!(page.text.contains("href=\"javascript:void(open("), "{}", page.text);
    assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, "application/zip"));
    assert!(archive.starts_with(b"PK"));
}
