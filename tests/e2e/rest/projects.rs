//! Projects: listing, changes, archiving and deletion.

use std::collections::BTreeSet;
use std::time::Duration;

use actors::auth::accounts;
use entity::{decision, note, project, project_item};
use sea_orm::PaginatorTrait;
use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{Client, Server, eventually};

#[actix_web::test]
async fn names_with_control_characters_are_refused() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (session, key) = (user.sign_in().await, user.full_key().await);
    let project = create_project(&session, "Birds").await;

    for bad in ["a\u{1b}[31mx", "a\nb", "a\u{9b}b"] {
        let refused = [
            (session.post("/app/api/projects", json!({ "name": bad })).await, "name"),
            (
                session
                    .post(&format!("/app/api/projects/{project}/decisions"), json!({ "title": bad }))
                    .await,
                "title",
            ),
            (key.post("/rest/v1/collections", json!({ "name": bad })).await, "name"),
            (
                key.post("/rest/v1/bookmarks", json!({ "url": "https://a.example/", "tags": [bad] })).await,
                "tags[0]",
            ),
        ];
        for (response, field) in refused {
            assert_eq!(response.error_code(400), "VALIDATION_FAILED");
            assert_eq!(response.faults(), [field], "{bad:?}");
        }
    }
}

#[actix_web::test]
async fn control_characters_of_titles_become_spaces() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let key = user.full_key().await;

    let saved = key.save(json!({ "url": "https://a.example/", "title": "a\nb\u{7}c", "text": "T" })).await;
    let path = format!("/rest/v1/bookmarks/{}", saved["bookmarkId"].as_str().unwrap());
    let changed = key.patch(&path, json!({ "title": "d\te" })).await;

    let project = create_project(&user.sign_in().await, "Birds").await;
    let note = json!({ "title": "f\u{1b}g", "bodyMd": "b" });
    let noted = key.post(&format!("/rest/v2/projects/{project}/notes"), note).await;

    assert_eq!(saved["title"], "a b c");
    assert_eq!(noted.data(201)["note"]["title"], "f g");
    assert_eq!(changed.data(200)["bookmark"]["title"], "d e");
}

/// Creates a project and returns its id.
pub async fn create_project(session: &Client, name: &str) -> String {
    let created = session.post("/app/api/projects", json!({ "name": name })).await;
    created.data(201)["project"]["id"].as_str().unwrap().to_owned()
}

/// The project in the list of v2.
pub async fn find_project(client: &Client, id: &str) -> Value {
    let answer = client.get("/rest/v2/projects?limit=50").await;
    let projects = answer.data(200)["projects"].as_array().unwrap();
    projects.iter().find(|project| project["id"] == id).unwrap().clone()
}

/// The names on a page of the list, and the cursor of the next page.
async fn list_page(client: &Client, more: &str) -> (Vec<String>, Option<String>) {
    let answer = client.get(&format!("/rest/v2/projects?{more}")).await;
    let data = answer.data(200);
    let names = data["projects"].as_array().unwrap().iter();
    let names = names.map(|project| project["name"].as_str().unwrap().to_owned()).collect();
    (names, data["nextCursor"].as_str().map(str::to_owned))
}

#[actix_web::test]
async fn project_written_last_is_listed_first() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let mut ids = Vec::new();
    for name in ["a", "b", "c"] {
        ids.push(create_project(&session, name).await);
        server.clock.advance(Duration::from_secs(1));
    }

    let note = json!({ "title": "T", "bodyMd": "B" });
    key.post(&format!("/rest/v2/projects/{}/notes", ids[1]), note).await.data(201);
    assert_eq!(list_page(&key, "").await.0, ["b", "c", "a"]);

    server.clock.advance(Duration::from_secs(1));
    let path = format!("/app/api/projects/{}/decisions", ids[0]);
    session.post(&path, json!({ "title": "D" })).await.data(201);
    assert_eq!(list_page(&key, "").await.0, ["a", "b", "c"]);
}

#[actix_web::test]
async fn pages_are_complete_and_distinct_during_changes() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let mut ids = Vec::new();
    for n in 0..11 {
        ids.push(create_project(&session, &format!("p{n}")).await);
        server.clock.advance(Duration::from_secs(1));
    }

    let (mut read, mut cursor) = list_page(&key, "limit=3").await;
    let mut moved = [0, 10, 4, 1].into_iter();
    while let Some(at) = cursor {
        create_project(&session, "new").await;
        if let Some(n) = moved.next() {
            session
                .patch(&format!("/app/api/projects/{}", ids[n]), json!({ "description": "d" }))
                .await
                .data(200);
        }
        server.clock.advance(Duration::from_secs(1));
        let (names, next) = list_page(&key, &format!("limit=3&cursor={at}")).await;
        read.extend(names);
        cursor = next;
    }

    let distinct: BTreeSet<&String> = read.iter().collect();
    assert_eq!(distinct.len(), read.len(), "{read:?}");
    assert_eq!(distinct, (0..11).map(|n| format!("p{n}")).collect::<Vec<_>>().iter().collect());
}

#[actix_web::test]
async fn cursor_is_valid_for_its_own_list_only() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    for name in ["a", "b"] {
        create_project(&session, name).await;
    }
    let cursor = list_page(&key, "limit=1").await.1.unwrap();
    let other = server.user(Plan::Pro).await.full_key().await;

    for (client, query) in [(&key, "status=archived&"), (&other, "")] {
        let answer = client.get(&format!("/rest/v2/projects?{query}cursor={cursor}")).await;
        assert_eq!((answer.error_code(400), answer.faults()), ("VALIDATION_FAILED", vec!["cursor"]));
    }
}

#[actix_web::test]
async fn archived_project_refuses_changes_until_active() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let id = create_project(&session, "P").await;
    let (rest, app) = (format!("/rest/v2/projects/{id}"), format!("/app/api/projects/{id}"));
    let bookmark = key.save_text("https://example.org/a", "Text.").await;
    let items = json!({ "items": [{ "bookmarkId": bookmark["bookmarkId"] }] });
    let item = key.post(&format!("{rest}/items"), items.clone()).await.data(201)["added"][0].clone();
    let note = session.post(&format!("{app}/notes"), json!({ "title": "T", "bodyMd": "B" })).await;
    let decision = session.post(&format!("{app}/decisions"), json!({ "title": "D" })).await;
    let item = format!("{app}/items/{}", item["itemId"].as_str().unwrap());
    let note = format!("/app/api/notes/{}", note.data(201)["note"]["noteId"].as_str().unwrap());
    let decision = format!("{app}/decisions/{}", decision.data(201)["decision"]["id"].as_str().unwrap());
    session.patch(&app, json!({ "status": "archived" })).await.data(200);

    for refused in [
        key.post(&format!("{rest}/items"), items).await,
        key.post(&format!("{rest}/items"), json!({ "items": [{ "url": "http://10.0.0.1/" }] })).await,
        key.post(&format!("{rest}/notes"), json!({ "title": "T", "bodyMd": "B" })).await,
        session.post(&format!("{app}/notes"), json!({ "title": "T", "bodyMd": "B" })).await,
        session.post(&format!("{app}/decisions"), json!({ "title": "D" })).await,
        session.patch(&app, json!({ "name": "Q" })).await,
        session.patch(&item, json!({ "pinned": true })).await,
        session.delete(&item).await,
        session.patch(&note, json!({ "title": "U" })).await,
        session.delete(&note).await,
        session.patch(&decision, json!({ "status": "decided" })).await,
        session.delete(&decision).await,
    ] {
        assert_eq!(refused.error_code(409), "PROJECT_ARCHIVED");
    }
    session.patch(&app, json!({ "status": "archived" })).await.data(200);
    key.get(&format!("{rest}/context")).await.data(200);

    let renamed = session.patch(&app, json!({ "status": "active", "name": "Q" })).await;
    assert_eq!(renamed.data(200)["project"]["name"], "Q");
    session.delete(&item).await.data(200);
}

#[actix_web::test]
async fn archived_project_gets_no_concurrent_note() {
    let server = Server::start().await;
    let user = server.user(Plan::Research).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let id = create_project(&session, "P").await;
    let (notes, app) = (format!("/rest/v2/projects/{id}/notes"), format!("/app/api/projects/{id}"));

    let write = async |n: usize| key.post(&notes, json!({ "title": format!("T{n}"), "bodyMd": "B" })).await;
    let (archived, written) = futures_util::future::join(
        session.patch(&app, json!({ "status": "archived" })),
        futures_util::future::join_all((0..12).map(write)),
    )
    .await;

    archived.data(200);
    let added = written.iter().filter(|answer| answer.status == 201).count();
    assert!(
        written.iter().all(|answer| answer.status == 201 || answer.error_code(409) == "PROJECT_ARCHIVED")
    );
    let shown = session.get(&format!("{app}/notes")).await;
    assert_eq!(shown.data(200)["notes"].as_array().unwrap().len(), added);
    assert_eq!(write(99).await.error_code(409), "PROJECT_ARCHIVED");
}

#[actix_web::test]
async fn decision_has_a_time_only_while_decided() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let session = user.sign_in().await;
    let id = create_project(&session, "P").await;
    let path = format!("/app/api/projects/{id}/decisions");
    let created = session.post(&path, json!({ "title": "D", "body": "B" })).await;
    let decision = &created.data(201)["decision"];
    assert_eq!((&decision["status"], &decision["decidedAt"]), (&json!("proposed"), &Value::Null));
    let one = format!("{path}/{}", decision["id"].as_str().unwrap());

    let mut times = Vec::new();
    for status in ["decided", "decided", "rejected", "decided"] {
        server.clock.advance(Duration::from_secs(1));
        let changed = session.patch(&one, json!({ "status": status, "body": status })).await;
        times.push(changed.data(200)["decision"]["decidedAt"].clone());
    }

    assert_eq!((&times[0], &times[2]), (&times[1], &Value::Null));
    assert!(times[3].as_str() > times[0].as_str());
    session.delete(&one).await.data(200);
    assert_eq!(session.delete(&one).await.error_code(404), "NOT_FOUND");
}

#[actix_web::test]
async fn deleted_project_removes_notes_and_keeps_bookmarks() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let id = create_project(&session, "P").await;
    let bookmark = key.save_text("https://example.org/a", "A heron stands in the reeds.").await;
    let items = json!({ "items": [{ "bookmarkId": bookmark["bookmarkId"] }] });
    key.post(&format!("/rest/v2/projects/{id}/items"), items).await.data(201);
    let body = json!({ "title": "T", "bodyMd": "The heron of the note." });
    let note = key.post(&format!("/rest/v2/projects/{id}/notes"), body).await.data(201)["note"].clone();
    eventually("both are found", async || (key.search("heron").await.len() == 2).then_some(())).await;

    session.delete(&format!("/app/api/projects/{id}")).await.data(200);

    assert_eq!(key.search("heron").await, [bookmark["documentId"].as_str().unwrap()]);
    let document = format!("/rest/v2/documents/{}", note["documentId"].as_str().unwrap());
    assert_eq!(key.get(&document).await.error_code(404), "NOT_FOUND");
    assert_eq!(session.get(&format!("/app/api/projects/{id}")).await.error_code(404), "NOT_FOUND");
    key.wait_for(&bookmark, "ready").await;
}

#[actix_web::test]
async fn deleted_account_leaves_no_project_rows() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let id = create_project(&session, "P").await;
    let items = json!({ "items": [{ "url": "https://example.org/a" }] });
    key.post(&format!("/rest/v2/projects/{id}/items"), items).await.data(201);
    key.post(&format!("/rest/v2/projects/{id}/notes"), json!({ "title": "T", "bodyMd": "B" }))
        .await
        .data(201);
    session.post(&format!("/app/api/projects/{id}/decisions"), json!({ "title": "D" })).await.data(201);
    assert_eq!(key.get("/rest/v1/user").await.data(200)["counts"]["projects"], 1);

    accounts::delete(&server.context().core, user.id()).await.unwrap();

    let db = server.context().core.db.read();
    assert_eq!(project::Entity::owned_by(user.id()).count(db).await.unwrap(), 0);
    assert_eq!(project_item::Entity::visible_to(user.id()).count(db).await.unwrap(), 0);
    assert_eq!(decision::Entity::owned_by(user.id()).count(db).await.unwrap(), 0);
    assert_eq!(note::Entity::owned_by(user.id()).count(db).await.unwrap(), 0);
}
