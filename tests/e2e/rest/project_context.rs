//! The context of a project: its content and how it is shortened.

use std::time::Duration;

use serde_json::{Value, json};
use values::plan::Plan;

use crate::rest::projects::create_project;
use crate::support::{Client, Key, Server, eventually};

async fn read_context(client: &Client, project: &str, query: &str) -> Value {
    client.get(&format!("/rest/v2/projects/{project}/context?{query}")).await.data(200).clone()
}

fn list_titles(data: &Value, list: &str) -> Vec<String> {
    let entries = data[list].as_array().unwrap().iter();
    entries.map(|entry| entry["title"].as_str().unwrap().to_owned()).collect()
}

async fn create_note(session: &Client, project: &str, title: &str, pinned: bool) -> Value {
    let body = json!({ "title": title, "bodyMd": format!("The heron of {title}."), "pinned": pinned });
    session.post(&format!("/app/api/projects/{project}/notes"), body).await.data(201)["note"].clone()
}

async fn add_items(key: &Key, project: &str, items: Value) -> Value {
    let added = key.post(&format!("/rest/v2/projects/{project}/items"), json!({ "items": items })).await;
    added.data(201)["added"].clone()
}

#[actix_web::test]
async fn rest_lists_all_notes_and_assistants_see_pinned_ones() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session, assistant) = (user.full_key().await, user.sign_in().await, user.assistant().await);
    let (id, other) = (create_project(&session, "P").await, create_project(&session, "Q").await);
    for (title, pinned) in [("old pin", true), ("loose", false), ("new pin", true)] {
        create_note(&session, &id, title, pinned).await;
        server.clock.advance(Duration::from_secs(1));
    }
    let foreign = create_note(&session, &other, "of Q", true).await;
    let item = add_items(&key, &id, json!([{ "noteId": foreign["noteId"] }])).await[0].clone();

    let shown = read_context(&key, &id, "").await;
    assert_eq!(list_titles(&shown, "notes"), ["new pin", "old pin", "of Q", "loose"]);
    assert_eq!(shown["sources"], json!([]));
    let seen = assistant.call("get_project_context", json!({ "projectId": id })).await.unwrap();
    assert_eq!(list_titles(&seen, "notes"), ["new pin", "old pin"]);

    let path = format!("/app/api/projects/{id}/items/{}", item["itemId"].as_str().unwrap());
    session.patch(&path, json!({ "pinned": true })).await.data(200);
    let seen = assistant.call("get_project_context", json!({ "projectId": id })).await.unwrap();
    assert_eq!(list_titles(&seen, "notes"), ["of Q", "new pin", "old pin"]);
}

#[actix_web::test]
async fn passages_come_from_current_project_items() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let id = create_project(&session, "P").await;
    let inside =
        json!({ "url": "https://example.org/in", "text": "The heron inside.", "notes": "My heron." });
    let inside = key.save(inside).await;
    let outside = key.save_text("https://example.org/out", "The heron outside.").await;
    let own = create_note(&session, &id, "own", false).await;
    eventually("all four are found", async || (key.search("heron").await.len() == 4).then_some(())).await;
    let found = async || {
        let data = read_context(&key, &id, "q=heron").await;
        let passages = data["passages"].as_array().unwrap().clone();
        passages.iter().map(|hit| hit["documentId"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found().await, [own["documentId"].as_str().unwrap()]);

    let item = add_items(&key, &id, json!([{ "bookmarkId": inside["bookmarkId"] }])).await[0].clone();
    let with_item = found().await;
    assert_eq!(with_item.len(), 3);
    assert!(with_item.contains(&inside["documentId"].as_str().unwrap().to_owned()));
    assert!(!with_item.contains(&outside["documentId"].as_str().unwrap().to_owned()));

    let path = format!("/app/api/projects/{id}/items/{}", item["itemId"].as_str().unwrap());
    session.delete(&path).await.data(200);
    assert_eq!(found().await, [own["documentId"].as_str().unwrap()]);
}

#[actix_web::test]
async fn context_length_is_exceeded_only_by_instructions() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let project = json!({ "name": "P", "instructions": "𝒳\"\n".repeat(5000) });
    let project = session.post("/app/api/projects", project).await;
    let id = project.data(201)["project"]["id"].as_str().unwrap().to_owned();
    let notes = format!("/rest/v2/projects/{id}/notes");
    for n in 0..6 {
        let body = json!({ "title": format!("n{n}"), "bodyMd": "é\t".repeat(1000) });
        key.post(&notes, body).await.data(201);
    }
    let pages: Vec<Value> = (0..40).map(|n| json!({ "url": format!("https://example.org/{n}") })).collect();
    add_items(&key, &id, json!(pages)).await;

    let mut longest = 0;
    for most in [1000, 20_000, 26_000, 31_000, 32_000] {
        let data = read_context(&key, &id, &format!("maxChars={most}")).await;
        let (size, alone) = (data.to_string().chars().count(), data["project"].to_string().chars().count());
        assert!(
            size <= most || (alone > most - 100 && list_titles(&data, "notes").is_empty()),
            "{most}: {size}"
        );
        assert_eq!(data["truncated"], true);
        assert!(list_titles(&data, "notes").len() == 6 || list_titles(&data, "sources").is_empty());
        assert_eq!(data["project"]["instructions"].as_str().unwrap().chars().count(), 15_000);
        longest = longest.max(size);
    }
    assert!(longest > 28_000, "{longest}");
    let too_long = session
        .patch(&format!("/app/api/projects/{id}"), json!({ "instructions": "x".repeat(20_001) }))
        .await;
    assert_eq!(too_long.faults(), ["instructions"]);
}

#[actix_web::test]
async fn pinned_sources_are_first_and_cut_last() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let id = create_project(&session, "P").await;
    let pages: Vec<Value> = (0..30).map(|n| json!({ "url": format!("https://example.org/{n}") })).collect();
    let added = add_items(&key, &id, json!(pages)).await;
    for n in [17, 29] {
        let path = format!("/app/api/projects/{id}/items/{}", added[n]["itemId"].as_str().unwrap());
        session.patch(&path, json!({ "pinned": true })).await.data(200);
    }

    let whole = list_titles(&read_context(&key, &id, "").await, "sources");
    assert_eq!(whole[..4], [17, 29, 0, 1].map(|n| format!("https://example.org/{n}")));
    let cut = read_context(&key, &id, "maxChars=1000").await;
    let remaining = list_titles(&cut, "sources");
    assert!((2..30).contains(&remaining.len()) && whole.starts_with(&remaining), "{remaining:?}");
    assert_eq!(cut["truncated"], true);
}
