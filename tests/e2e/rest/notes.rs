//! Notes: documents that are found, however they are created.

use serde_json::{Value, json};
use values::plan::Plan;

use crate::rest::projects::create_project;
use crate::support::{Key, Server, eventually};

async fn wait_until_found(key: &Key, word: &str, document: &Value) {
    let document = document.as_str().unwrap();
    eventually(&format!("{word} is found"), async || {
        key.search(word).await.iter().any(|found| found == document).then_some(())
    })
    .await;
}

#[actix_web::test]
async fn note_is_found_by_its_current_text_until_deleted() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let id = create_project(&session, "P").await;
    let body = json!({ "title": "Birds", "bodyMd": "A heron in the reeds." });
    let note = key.post(&format!("/rest/v2/projects/{id}/notes"), body).await.data(201)["note"].clone();
    assert_eq!((&note["pinned"], &note["projectId"]), (&json!(true), &json!(id)));
    wait_until_found(&key, "heron", &note["documentId"]).await;
    let path = format!("/app/api/notes/{}", note["noteId"].as_str().unwrap());

    let changed = session.patch(&path, json!({ "title": "Fish", "bodyMd": "A carp in the pond." })).await;
    assert_eq!(changed.data(200)["note"]["title"], "Fish");
    wait_until_found(&key, "carp", &note["documentId"]).await;
    assert_eq!(key.search("heron").await, [""; 0]);
    let document = format!("/rest/v2/documents/{}", note["documentId"].as_str().unwrap());
    let read = key.get(&document).await;
    let read = read.data(200);
    assert_eq!((&read["title"], &read["contentType"]), (&json!("Fish"), &json!("note")));
    assert!(
        read["url"].as_str().unwrap().ends_with(&format!("/read/{}", note["documentId"].as_str().unwrap()))
    );

    session.delete(&path).await.data(200);
    assert_eq!(key.search("carp").await, [""; 0]);
    assert_eq!(session.patch(&path, json!({ "title": "T" })).await.error_code(404), "NOT_FOUND");
}

#[actix_web::test]
async fn concurrent_paragraphs_of_a_bookmark_join_in_one_note() {
    let server = Server::start().await;
    let user = server.user(Plan::Research).await;
    let (key, assistant) = (user.full_key().await, user.assistant().await);
    let bookmark = key.save_text("https://example.org/a", "Text.").await["bookmarkId"].clone();

    let write = |n: usize| {
        let arguments = json!({ "bookmarkId": bookmark, "body": format!("Paragraph {n}.") });
        assistant.call("create_note", arguments)
    };
    let written = futures_util::future::join_all((0..10).map(write)).await;

    let first = written[0].as_ref().unwrap();
    for note in &written {
        assert_eq!(note.as_ref().unwrap(), first);
    }
    let shown = key.get(&format!("/rest/v1/bookmarks/{}", bookmark.as_str().unwrap())).await;
    let notes = shown.data(200)["bookmark"]["notes"].as_str().unwrap();
    let mut paragraphs: Vec<_> = notes.split("\n\n").collect();
    paragraphs.sort_unstable();
    assert_eq!(paragraphs, (0..10).map(|n| format!("Paragraph {n}.")).collect::<Vec<_>>());
    wait_until_found(&key, "paragraph", &first["documentId"]).await;
}

#[actix_web::test]
async fn bookmark_note_does_not_exceed_its_limit() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, assistant) = (user.full_key().await, user.assistant().await);
    let body = json!({ "url": "https://example.org/a", "text": "Text.", "notes": "é".repeat(99_990) });
    let bookmark = key.save(body).await["bookmarkId"].clone();

    let long = json!({ "bookmarkId": bookmark, "body": "123456789" });
    let refused = assistant.call("create_note", long).await.unwrap_err();
    assert_eq!(
        (&refused["code"], &refused["fields"][0]["field"]),
        (&json!("VALIDATION_FAILED"), &json!("body"))
    );
    let short = json!({ "bookmarkId": bookmark, "body": "12345678" });
    assistant.call("create_note", short).await.unwrap();
}

#[actix_web::test]
async fn note_of_assistant_gets_its_title_from_its_first_words() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (session, assistant) = (user.sign_in().await, user.assistant().await);
    let id = create_project(&session, "P").await;

    let arguments = json!({ "projectId": id, "body": "# Herons\n\nThey stand." });
    let note = assistant.call("create_note", arguments).await.unwrap();

    assert_eq!((&note["projectId"], &note["bookmarkId"]), (&json!(id), &Value::Null));
    let shown = session.get(&format!("/app/api/projects/{id}/notes")).await;
    let shown = &shown.data(200)["notes"][0];
    assert_eq!(
        (&shown["title"], &shown["bodyMd"], &shown["pinned"]),
        (&json!("Herons"), &json!("# Herons\n\nThey stand."), &json!(true))
    );
}
