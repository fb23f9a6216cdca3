//! What the page of a document shows beside its text, and where its reader stopped.

use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{Key, Server};

const PAGE: &str = "<html lang=en><head><title>Patience</title></head><body><article><h1>Patience</h1>\
    <p>The heron stands still in the water for an hour, waiting for a fish.</p><h2>Its prey</h2>\
    <p>Fish of every size that comes near, and frogs when there are no fish at all.</p></article></body></html>";

async fn save_page(key: &Key) -> Value {
    let saved =
        key.save(json!({ "url": "https://birds.example/heron", "html": PAGE, "tags": ["b", "a"] })).await;
    key.wait_for(&saved, "ready").await;
    saved
}

#[actix_web::test]
async fn page_of_a_document_has_what_is_beside_its_text() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let saved = save_page(&key).await;
    let path = format!("/app/api/documents/{}", saved["documentId"].as_str().unwrap());

    let page = session.get(&path).await.data(200).clone();

    assert_eq!(page["bookmark"]["tags"], json!(["a", "b"]));
    assert_eq!(page["outline"][0]["title"], "Its prey");
    assert_eq!(
        (&page["version"], &page["status"], &page["position"]),
        (&json!(1), &json!("ready"), &Value::Null)
    );
    let other = server.user(Plan::Pro).await.sign_in().await;
    assert_eq!(other.get(&path).await.status, 404);
}

#[actix_web::test]
async fn position_is_kept_and_moves_the_progress() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let saved = save_page(&key).await;
    let document = format!("/app/api/documents/{}", saved["documentId"].as_str().unwrap());
    let bookmark = format!("/rest/v1/bookmarks/{}", saved["bookmarkId"].as_str().unwrap());
    let total = session.get(&document).await.data(200)["totalChars"].as_i64().unwrap();

    let position = json!({ "offset": total / 2, "version": 1 });
    session.post(&format!("{document}/position"), position).await.data(200);

    let kept = session.get(&document).await.data(200)["position"].clone();
    assert_eq!((&kept["offset"], &kept["version"]), (&json!(total / 2), &json!(1)));
    let progress = key.get(&bookmark).await.data(200)["bookmark"]["progress"].as_f64().unwrap();
    assert!((0.4..0.6).contains(&progress), "{progress}");

    session
        .post(&format!("{document}/position"), json!({ "offset": 9, "version": 1, "atEnd": true }))
        .await
        .data(200);
    session.post(&format!("{document}/position"), json!({ "offset": 5, "version": 1 })).await.data(200);

    // What was read to its end stays read, while the position follows.
    assert_eq!(session.get(&document).await.data(200)["position"]["offset"], 5);
    assert_eq!(key.get(&bookmark).await.data(200)["bookmark"]["progress"], 1.0);
    let other = server.user(Plan::Pro).await.sign_in().await;
    let foreign = other.post(&format!("{document}/position"), json!({ "offset": 5, "version": 1 })).await;
    assert_eq!(foreign.status, 404);
}
