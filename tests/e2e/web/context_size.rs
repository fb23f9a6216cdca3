//! What an assistant gets of a project, as the web app measures it.

use serde_json::{Value, json};
use values::plan::Plan;

use crate::rest::projects::create_project;
use crate::support::{Client, Key, McpClient, Server};

async fn measure(session: &Client, project: &str, max_chars: usize) -> Value {
    let path = format!("/app/api/projects/{project}/context-size?maxChars={max_chars}");
    session.get(&path).await.data(200).clone()
}

/// The length of the compact JSON of what an assistant gets.
async fn context_chars(assistant: &McpClient, project: &str, max_chars: usize) -> usize {
    let arguments = json!({ "projectId": project, "maxChars": max_chars });
    let context = assistant.call("get_project_context", arguments).await.unwrap();
    context.to_string().chars().count()
}

async fn add_pages(key: &Key, project: &str, count: usize) {
    let items: Vec<Value> = (0..count)
        .map(|n| json!({ "url": format!("https://example.org/{}/{n}", "long-address".repeat(9)) }))
        .collect();
    key.post(&format!("/rest/v2/projects/{project}/items"), json!({ "items": items })).await.data(201);
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

#[actix_web::test]
async fn size_equals_what_an_assistant_gets() {
    let server = Server::start().await;
    let user = server.user(Plan::Research).await;
    let (key, session, assistant) = (user.full_key().await, user.sign_in().await, user.assistant().await);
    let project = create_project(&session, "Harbour “book”").await;
    let instructions = json!({ "instructions": "Write plainly.\nÄ \"quoted\" line." });
    session.patch(&format!("/app/api/projects/{project}"), instructions).await.data(200);
    for pinned in [true, false] {
        let note = json!({ "title": "Chapters", "bodyMd": "One, two. ".repeat(300), "pinned": pinned });
        session.post(&format!("/app/api/projects/{project}/notes"), note).await.data(201);
    }
    let decision = json!({ "title": "It ends in 1974", "body": "No afterword.", "status": "decided" });
    session.post(&format!("/app/api/projects/{project}/decisions"), decision).await.data(201);
    add_pages(&key, &project, 60).await;

    for max_chars in [16_000, 32_000] {
        let size = measure(&session, &project, max_chars).await;

        assert_eq!(
            number(&size["chars"]),
            context_chars(&assistant, &project, max_chars).await,
            "{max_chars}"
        );
        let lists = ["decisions", "notes", "passages", "sources"].map(|part| number(&size[part]["chars"]));
        let sum = number(&size["instructionsChars"]) + lists.iter().sum::<usize>();
        assert_eq!(sum, number(&size["chars"]));
        assert_eq!(size["notes"]["total"], 1, "a note that is not pinned is given to no assistant");
        let sources = size["sourceList"].as_array().unwrap();
        let given = sources.iter().take_while(|source| source["isGiven"] == true).count();
        assert_eq!((sources.len(), number(&size["sources"]["given"])), (60, given));
        assert_eq!(size["truncated"], given < 60);
    }
    assert_eq!(measure(&session, &project, 16_000).await["truncated"], true);
}

#[actix_web::test]
async fn size_of_a_foreign_project_is_not_shown() {
    let server = Server::start().await;
    let (owner, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let project = create_project(&owner.sign_in().await, "P").await;

    let path = format!("/app/api/projects/{project}/context-size");
    assert_eq!(other.sign_in().await.get(&path).await.error_code(404), "NOT_FOUND");
}
