//! The main path: saved pages are found and can be read; deleted ones are hidden and can be restored.

use reqwest::Method;
use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{Key, Reply, Server, Site, article};

fn bookmark_path(bookmark: &Value, rest: &str) -> String {
    format!("/rest/v1/bookmarks/{}{rest}", bookmark["bookmarkId"].as_str().unwrap())
}

fn document_id(bookmark: &Value) -> String {
    bookmark["documentId"].as_str().unwrap().to_owned()
}

async fn read_text(key: &Key, document: &str) -> String {
    let answer = key.get(&format!("/rest/v2/documents/{document}")).await;
    answer.data(200)["text"].as_str().unwrap().to_owned()
}

#[actix_web::test]
async fn saved_text_is_found_and_returned_unchanged() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let text = "The heron stands still in the water for an hour, waiting.";

    let saved = key.save_text("https://example.org/heron", text).await;
    key.wait_for(&saved, "ready").await;

    assert_eq!(key.search("heron waiting").await, [document_id(&saved)]);
    assert_eq!(read_text(&key, &document_id(&saved)).await, text);
    let chunks = key.get(&format!("/rest/v2/documents/{}/chunks", document_id(&saved))).await;
    assert_eq!(chunks.data(200)["chunks"][0]["text"], text);
}

#[actix_web::test]
async fn saved_url_is_fetched_and_its_article_is_found() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = server.user(Plan::Pro).await.full_key().await;
    let url = site.page("/patience", [article("Patience", "a heron")]);

    let saved = key.save(json!({ "url": url })).await;
    let ready = key.wait_for(&saved, "ready").await;

    assert_eq!(ready["title"], "Patience");
    assert_eq!(key.search("heron").await, [document_id(&saved)]);
    let text = read_text(&key, &document_id(&saved)).await;
    assert!(text.contains("Whoever has seen a heron in the morning"), "{text}");
    assert!(!text.contains('<'), "{text}");
}

/// Covers the threat table (row T1).
#[actix_web::test]
async fn saved_text_is_visible_to_its_owner_only() {
    let server = Server::start().await;
    let (mine, other) =
        (server.user(Plan::Pro).await.full_key().await, server.user(Plan::Pro).await.full_key().await);

    let saved = mine.save_text("https://example.org/heron", "The heron stands still in the water.").await;
    mine.wait_for(&saved, "ready").await;

    assert!(other.search("heron").await.is_empty());
    for path in [bookmark_path(&saved, ""), format!("/rest/v2/documents/{}", document_id(&saved))] {
        assert_eq!(other.get(&path).await.error_code(404), "NOT_FOUND");
    }
}

#[actix_web::test]
async fn deleted_bookmark_is_hidden_and_restored_one_is_found() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let saved = key.save_text("https://example.org/heron", "The heron stands still in the water.").await;
    key.wait_for(&saved, "ready").await;

    key.delete(&bookmark_path(&saved, "")).await.data(200);

    assert!(key.search("heron").await.is_empty());
    assert_eq!(key.get(&bookmark_path(&saved, "")).await.error_code(404), "NOT_FOUND");
    let read = key.get(&format!("/rest/v2/documents/{}", document_id(&saved))).await;
    assert_eq!(read.error_code(404), "NOT_FOUND");

    key.post(&bookmark_path(&saved, "/restore"), json!({})).await.data(200);
    crate::support::eventually("the restored bookmark is found", async || {
        (key.search("heron").await == [document_id(&saved)]).then_some(())
    })
    .await;
}

#[actix_web::test]
async fn refetched_page_is_found_by_its_new_words_only() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = server.user(Plan::Pro).await.full_key().await;
    let url = site.page("/birds", [article("Birds", "a heron"), article("Birds", "a kingfisher")]);
    let saved = key.save(json!({ "url": url })).await;
    key.wait_for(&saved, "ready").await;

    key.post(&bookmark_path(&saved, "/refetch"), json!({})).await.data(202);

    crate::support::eventually("the new text is found", async || {
        (key.search("kingfisher").await == [document_id(&saved)]).then_some(())
    })
    .await;
    assert!(key.search("heron").await.is_empty());
    assert_eq!(site.request_count("/birds"), 2);
}

#[actix_web::test]
async fn failed_refetch_keeps_the_previous_text() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = server.user(Plan::Pro).await.full_key().await;
    let url = site.page("/birds", [article("Birds", "a heron"), Reply::Status(404)]);
    let saved = key.save(json!({ "url": url })).await;
    key.wait_for(&saved, "ready").await;

    key.send(Method::POST, &bookmark_path(&saved, "/refetch"), None).await.data(202);

    let shown = crate::support::eventually("the failure is shown", async || {
        let shown = key.get(&bookmark_path(&saved, "")).await.data(200)["bookmark"].clone();
        shown["error"].is_string().then_some(shown)
    })
    .await;
    assert_eq!(shown["status"], "ready");
    assert_eq!(key.search("heron").await, [document_id(&saved)]);
    assert!(read_text(&key, &document_id(&saved)).await.contains("a heron"));
}
