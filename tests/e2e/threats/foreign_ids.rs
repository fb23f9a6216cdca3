//! Ids of another account in parameters and bodies of requests (row T2).

use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::Server;

fn id<'a>(data: &'a Value, object: &str, field: &str) -> &'a str {
    data[object][field].as_str().unwrap()
}

/// Covers the threat table (row T2).
#[actix_web::test]
async fn ids_of_another_account_find_and_change_nothing() {
    let server = Server::start().await;
    let (victim, attacker) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let (theirs, session) = (victim.full_key().await, victim.sign_in().await);
    let (key, browser) = (attacker.full_key().await, attacker.sign_in().await);
    let created = theirs.post("/rest/v1/collections", json!({ "name": "Herons" })).await.data(201).clone();
    let collection = id(&created, "collection", "collectionId");
    let page = json!({
        "url": "https://example.org/heron", "text": "A heron in the reeds.", "collectionIds": [collection]
    });
    let saved = theirs.wait_for(&theirs.save(page).await, "ready").await;
    let bookmark = saved["bookmarkId"].as_str().unwrap();
    let created = session.post("/app/api/projects", json!({ "name": "Herons" })).await.data(201).clone();
    let project = id(&created, "project", "id");
    let own = key.save_text("https://example.org/own", "A heron of mine.").await;
    let own = key.wait_for(&own, "ready").await["bookmarkId"].as_str().unwrap().to_owned();

    for path in [
        format!("/rest/v2/search?q=heron&collectionId={collection}"),
        format!("/rest/v2/search?q=heron&projectId={project}"),
        format!("/rest/v1/bookmarks?collectionId={collection}"),
        format!("/rest/v1/bookmarks/{bookmark}"),
        format!("/rest/v2/projects/{project}/context"),
    ] {
        assert_eq!(key.get(&path).await.error_code(404), "NOT_FOUND", "{path}");
    }
    for (path, body) in [
        ("/rest/v2/ask".to_owned(), json!({ "question": "Where is the heron?", "bookmarkIds": [bookmark] })),
        (
            "/rest/v2/ask".to_owned(),
            json!({ "question": "Where is the heron?", "bookmarkIds": [own, bookmark] }),
        ),
        (format!("/rest/v2/projects/{project}/items"), json!({ "items": [{ "bookmarkId": own }] })),
        (
            "/rest/v1/bookmarks".to_owned(),
            json!({ "url": "https://a.example/", "collectionIds": [collection] }),
        ),
    ] {
        assert_eq!(key.post(&path, body).await.error_code(404), "NOT_FOUND", "{path}");
    }
    let page = json!({ "url": "https://a.example/", "collectionIds": [collection] });
    let refused = key.post("/rest/v1/bookmarks", page).await;
    let message = "the item (collectionIds[0]) does not exist, or it is not yours";
    assert_eq!(refused.body["error"]["message"], message);
    let nested = key.post("/rest/v1/collections", json!({ "name": "Mine", "parentId": collection })).await;
    let message = "the item (parentId) does not exist, or it is not yours";
    assert_eq!(nested.body["error"]["message"], message);
    let listed = key.get(&format!("/rest/v1/bookmarks?collectionId={collection}")).await;
    let message = "the item (collectionId) does not exist, or it is not yours";
    assert_eq!(listed.body["error"]["message"], message);
    let created = browser.post("/app/api/projects", json!({ "name": "Mine" })).await.data(201).clone();
    let items = format!("/rest/v2/projects/{}/items", id(&created, "project", "id"));
    let added = key.post(&items, json!({ "items": [{ "bookmarkId": bookmark }] })).await;
    assert_eq!(added.error_code(404), "NOT_FOUND");

    let answer = key.post("/rest/v2/ask", json!({ "question": "Where is the heron in the reeds?" })).await;
    assert!(!answer.body.to_string().contains("example.org/heron"));
    assert_eq!(theirs.get("/rest/v1/bookmarks").await.data(200)["bookmarks"].as_array().unwrap().len(), 1);
}
