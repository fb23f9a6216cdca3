//! The pages of projects, over HTTP.

use serde_json::{Value, json};
use values::plan::Plan;

use crate::rest::projects::create_project;
use crate::support::{Client, Server};

async fn first_note(session: &Client, project: &str) -> Value {
    session.get(&format!("/app/api/projects/{project}/notes")).await.data(200)["notes"][0].clone()
}

#[actix_web::test]
async fn project_is_created_and_changed_by_forms() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;

    let created = session
        .post_form("/projects", &[("name", "Harbour <b>book</b>"), ("instructions", "Plainly.")])
        .await;
    assert_eq!(created.status, 303, "{}", created.text);
    let path = created.header("location").to_owned();
    let decision = [("title", "It ends in 1974"), ("status", "decided")];
    assert_eq!(session.post_form(&format!("{path}/decisions"), &decision).await.status, 303);
    let note = [("title", "Chapters"), ("bodyMd", "One, two."), ("pinned", "true")];
    assert_eq!(session.post_form(&format!("{path}/notes"), &note).await.status, 303);
    let sources = [("urls", "https://example.org/a\nhttps://example.org/b"), ("role", "background")];
    assert_eq!(session.post_form(&format!("{path}/sources"), &sources).await.status, 303);

    let page = session.get(&path).await.text;
    assert!(page.contains("Harbour &#60;b&#62;book") && !page.contains("<b>book</b>"), "{page}");
    for text in ["Plainly.", "It ends in 1974", "Chapters", "example.org"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let unnamed = session.post_form("/projects", &[("name", " ")]).await;
    assert!(unnamed.status == 422 && unnamed.text.contains("aria-invalid"), "{}", unnamed.text);
    let wrong =
        session.post_form(&format!("{path}/sources"), &[("urls", "ftp://x https://example.org/c")]).await;
    assert!(wrong.status == 422 && wrong.text.contains("ftp://x"), "{}", wrong.text);
}

#[actix_web::test]
async fn form_of_an_outdated_note_is_answered_with_both_versions() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let project = create_project(&session, "P").await;
    let new = json!({ "title": "Chapters", "bodyMd": "First." });
    session.post(&format!("/app/api/projects/{project}/notes"), new).await.data(201);
    let note = first_note(&session, &project).await;
    let path = format!("/projects/{project}/notes/{}", note["noteId"].as_str().unwrap());
    let form = session.get(&path).await.text;
    let mark = form.split("name=\"mark\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let api = format!("/app/api/notes/{}", note["noteId"].as_str().unwrap());
    session.patch(&api, json!({ "bodyMd": "Second." })).await.data(200);

    let sent = [("title", "Chapters"), ("bodyMd", "Mine."), ("mark", mark.as_str())];
    let refused = session.post_form(&path, &sent).await;

    assert_eq!(refused.status, 409);
    assert!(refused.text.contains("Second.") && refused.text.contains("Mine."), "{}", refused.text);
    assert_eq!(first_note(&session, &project).await["bodyMd"], "Second.");
    let again =
        refused.text.split("name=\"mark\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let sent = [("title", "Chapters"), ("bodyMd", "Mine."), ("mark", again.as_str())];
    assert_eq!(session.post_form(&path, &sent).await.status, 303);
    assert_eq!(first_note(&session, &project).await["bodyMd"], "Mine.");
}

#[actix_web::test]
async fn archived_project_is_shown_without_forms() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let session = user.sign_in().await;
    let project = create_project(&session, "P").await;
    let path = format!("/projects/{project}");
    let archived = session.post_form(&format!("{path}/status"), &[("status", "archived")]).await;
    assert_eq!(archived.status, 303);

    let page = session.get(&path).await.text;

    assert!(page.contains("This project is archived.") && !page.contains("/decisions/new"), "{page}");
    let refused = session.post_form(&format!("{path}/notes"), &[("title", "A"), ("bodyMd", "b")]).await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    assert!(session.get("/projects?status=archived").await.text.contains(&path));
    assert!(!session.get("/projects").await.text.contains(&path));
}

#[actix_web::test]
async fn project_pages_of_others_do_not_exist() {
    let server = Server::start().await;
    let (owner, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let project = create_project(&owner.sign_in().await, "Private").await;
    let session = other.sign_in().await;

    for page in ["", "/edit", "/delete", "/decisions/new", "/notes/new", "/sources/new"] {
        assert_eq!(session.get(&format!("/projects/{project}{page}")).await.status, 404, "{page}");
    }
    for (action, fields) in [
        ("/edit", vec![("name", "Mine")]),
        ("/status", vec![("status", "archived")]),
        ("/delete", vec![]),
        ("/decisions", vec![("title", "Mine")]),
        ("/notes", vec![("title", "Mine"), ("bodyMd", "b")]),
        ("/sources", vec![("urls", "https://example.org/a")]),
    ] {
        let answer = session.post_form(&format!("/projects/{project}{action}"), &fields).await;
        assert_eq!(answer.status, 404, "{action}");
    }
    assert!(!session.get("/projects").await.text.contains("Private"));
}

#[actix_web::test]
async fn highlights_of_one_text_are_told_apart_as_sources() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let project = create_project(&session, "P").await;
    let saved = key.save_text("https://example.org/a", "A heron stands in the reeds.").await;
    let bookmark = key.wait_for(&saved, "ready").await;
    let path = format!("/rest/v1/bookmarks/{}/highlights", bookmark["bookmarkId"].as_str().unwrap());
    let mut items = Vec::new();
    for (words, start, end) in [("heron", 2, 7), ("reeds", 22, 27)] {
        let highlight = json!({ "text": words, "startOffset": start, "endOffset": end });
        let marked = key.post(&path, highlight).await.data(201)["highlight"]["highlightId"].clone();
        items.push(json!({ "highlightId": marked }));
    }
    let path = format!("/rest/v2/projects/{project}/items");
    key.post(&path, json!({ "items": items })).await.data(201);

    let page = session.get(&format!("/projects/{project}")).await.text;

    let read = format!("/read/{}", saved["documentId"].as_str().unwrap());
    for (words, place) in [("heron", "2-7"), ("reeds", "22-27")] {
        let link = format!("href=\"{read}?at={place}#at\" dir=\"auto\">{words}</a>");
        assert_eq!(page.matches(&link).count(), 1, "{link}: {page}");
    }
}
