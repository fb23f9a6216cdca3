//! The page of a document: its text with marks, forms without script, parts, states, pictures, and the list of all highlights.

use serde_json::{Value, json};
use values::plan::Plan;

use crate::rest::projects::create_project;
use crate::support::{Client, Key, Reply, Response, Server, Site};

const PAGE: &str = "<html lang=en><head><title>Patience</title></head><body><article><h1>Patience</h1>\
    <p>The heron stands <em>still</em> in the water for an hour, waiting for a fish.</p><h2>Its prey</h2>\
    <p>Fish of every size that comes near, and frogs when there are no fish at all.</p></article></body></html>";

pub async fn save_page(key: &Key, html: &str) -> Value {
    let saved = key.save(json!({ "url": "https://birds.example/heron", "html": html })).await;
    key.wait_for(&saved, "ready").await;
    saved
}

pub fn path_of(saved: &Value) -> String {
    format!("/read/{}", saved["documentId"].as_str().unwrap())
}

/// Returns the offsets of words in the text of a document, as an address names them.
async fn place_of(key: &Key, saved: &Value, words: &str) -> (usize, usize) {
    let path = format!("/rest/v2/documents/{}", saved["documentId"].as_str().unwrap());
    let text = key.get(&path).await.data(200)["text"].as_str().unwrap().to_owned();
    let start = text.split(words).next().unwrap().chars().count();
    (start, start + words.chars().count())
}

async fn mark(session: &Client, path: &str, place: (usize, usize), more: &[(&str, &str)]) -> Response {
    let (start, end) = (place.0.to_string(), place.1.to_string());
    let mut fields = vec![("startOffset", start.as_str()), ("endOffset", end.as_str()), ("version", "1")];
    fields.extend(more);
    session.post_form(&format!("{path}/highlights"), &fields).await
}

#[actix_web::test]
async fn words_of_an_address_are_marked_and_highlighted_by_a_form() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let saved = save_page(&key, PAGE).await;
    let (path, place) = (path_of(&saved), place_of(&key, &saved, "heron stands still in").await);

    let page = session.get(&format!("{path}?at={}-{}", place.0, place.1)).await;

    assert_eq!(page.status, 200);
    assert!(
        page.text.contains(
            "<mark id=\"at\" class=\"at\">heron stands </mark><em><mark class=\"at\">still</mark></em>"
        ),
        "{}",
        page.text
    );
    assert!(page.text.contains(&format!("name=\"startOffset\" value=\"{}\"", place.0)), "{}", page.text);
    assert!(page.text.contains("href=\"#o") && page.text.contains("Its prey"), "{}", page.text);

    let answer = mark(&session, &path, place, &[("color", "green"), ("note", "Why?")]).await;

    assert_eq!(answer.status, 303);
    assert!(answer.header("location").starts_with(&format!("{path}?at={}-{}", place.0, place.1)));
    let marked = session.get(&path).await;
    assert!(
        marked.text.contains("<mark class=\"hl c-green\" data-mark=\"") && marked.text.contains("Why?"),
        "{}",
        marked.text
    );
    let other = server.user(Plan::Pro).await.sign_in().await;
    assert_eq!(other.get(&path).await.status, 404);
    assert_eq!(mark(&other, &path, place, &[]).await.status, 404);
}

#[actix_web::test]
async fn words_are_found_without_script() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let saved = save_page(&key, PAGE).await;
    let (path, place) = (path_of(&saved), place_of(&key, &saved, "waiting for a fish").await);

    let found = session.get(&format!("{path}?find=waiting+for+a+fish")).await;
    let none = session.get(&format!("{path}?find=storks")).await;

    assert_eq!(found.status, 303);
    assert_eq!(found.header("location"), format!("{path}?at={}-{}#at", place.0, place.1));
    assert!(none.status == 200 && none.text.contains("storks"), "{}", none.text);
}

#[actix_web::test]
async fn words_become_a_source_of_a_project_by_forms() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let saved = save_page(&key, PAGE).await;
    let (path, place) = (path_of(&saved), place_of(&key, &saved, "waiting for a fish").await);
    let at = format!("{}-{}", place.0, place.1);
    let project = create_project(&session, "Birds").await;

    let form = session.get(&format!("{path}/project?at={at}")).await;
    let added =
        session.post_form(&format!("{path}/project"), &[("at", at.as_str()), ("to", project.as_str())]).await;
    let again =
        session.post_form(&format!("{path}/project"), &[("at", at.as_str()), ("to", project.as_str())]).await;

    assert_eq!(form.status, 200);
    assert!(form.text.contains("waiting for a fish") && form.text.contains("Birds"), "{}", form.text);
    assert_eq!((added.status, again.status), (303, 303), "{}", added.text);
    let listed = session.get(&format!("/app/api/projects/{project}/items")).await.data(200)["items"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(session.get("/app/api/highlights").await.data(200)["total"], 1);
    let outdated = [("at", at.as_str()), ("to", project.as_str()), ("version", "7")];
    let moved = format!("{}-{}", place.0, place.1 - 1);
    let other = [("at", moved.as_str()), ("to", project.as_str()), ("version", "7")];
    assert_eq!(session.post_form(&format!("{path}/project"), &other).await.status, 409);
    assert_eq!(session.post_form(&format!("{path}/project"), &outdated).await.status, 303);
    assert_eq!(session.get(&format!("{path}/project?at=9-3")).await.status, 404);
}

#[actix_web::test]
async fn question_begins_with_the_words_of_the_address() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let saved = save_page(&key, PAGE).await;
    let (path, place) = (path_of(&saved), place_of(&key, &saved, "waiting for a fish").await);

    let asked = session.get(&format!("{path}/ask?at={}-{}", place.0, place.1)).await;

    assert_eq!(asked.status, 303);
    let page = session.get(asked.header("location")).await;
    assert!(page.text.contains("“waiting for a fish”"), "{}", page.text);
}

#[actix_web::test]
async fn highlight_is_changed_and_deleted_by_forms() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let saved = save_page(&key, PAGE).await;
    let (path, place) = (path_of(&saved), place_of(&key, &saved, "heron").await);
    mark(&session, &path, place, &[]).await;
    let listed = session.get("/app/api/highlights").await.data(200).clone();
    let form = format!("{path}/highlights/{}", listed["highlights"][0]["highlightId"].as_str().unwrap());

    let changed = session.post_form(&form, &[("note", " Grey "), ("color", "blue")]).await;

    assert_eq!(changed.status, 303);
    let listed = session.get("/app/api/highlights").await.data(200)["highlights"][0].clone();
    assert_eq!((&listed["note"], &listed["color"]), (&json!("Grey"), &json!("blue")));
    let part = session.get_part(&path, "notes").await;
    assert!(part.text.contains("Grey") && !part.text.contains("<html"), "{}", part.text);

    session.post_form(&form, &[("action", "delete")]).await;

    assert_eq!(session.get("/app/api/highlights").await.data(200)["total"], 0);
}

#[actix_web::test]
async fn long_text_is_read_in_parts() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let paragraphs: String = (0..90)
        .map(|number| {
            format!("<p>{number}. {}</p>", format!("Heron {number} waits in the reeds. ").repeat(40))
        })
        .collect();
    let html = format!("<html><body><article><h1>Long</h1>{paragraphs}</article></body></html>");
    let saved = save_page(&key, &html).await;
    let path = path_of(&saved);

    let first = session.get(&path).await;
    let second = session.get(&format!("{path}?part=2")).await;
    let place = session.get(&format!("{path}?at=70000-70020")).await;
    let part = session.get_part(&format!("{path}?part=2"), "text-part").await;
    let main = session.get_part(&path, "main").await;

    assert!(first.text.contains("id=\"part-1\"") && first.text.contains(&format!("href=\"{path}?part=2\"")));
    assert!(second.text.contains("id=\"part-2\"") && second.text.contains("id=\"previous-part\""));
    assert!(place.text.contains("id=\"part-2\"") && place.text.contains("id=\"at\""));
    assert!(part.text.starts_with("<section") && !part.text.contains("<html"));
    assert!(main.text.contains("id=\"part-1\""), "{}", main.text);
}

#[actix_web::test]
async fn text_of_another_form_stays_open_after_its_forms() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let saved = save_page(&key, PAGE).await;
    let (path, place) = (path_of(&saved), place_of(&key, &saved, "heron").await);

    let answer = mark(&session, &path, place, &[("as", "text")]).await;
    let page = session.get(&format!("{path}?as=text")).await;

    assert!(answer.header("location").starts_with(&format!("{path}?as=text&at=")), "{}", answer.text);
    assert!(page.text.contains(&format!("href=\"{path}?as=text&#38;at=")), "{}", page.text);
    let listed = session.get("/app/api/highlights").await.data(200).clone();
    let form = format!("{path}/highlights/{}", listed["highlights"][0]["highlightId"].as_str().unwrap());
    let deleted = session.post_form(&form, &[("action", "delete"), ("as", "text")]).await;
    assert!(deleted.header("location").starts_with(&format!("{path}?as=text&done=")), "{}", deleted.text);
}

#[actix_web::test]
async fn page_of_a_document_without_text_says_why() {
    let server = Server::start_with(&[("FETCH__ALLOW_PRIVATE", "127.0.0.0/8")]).await;
    let site = Site::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let saved = key.save(json!({ "url": site.page("/gone", [Reply::Status(404)]) })).await;
    key.wait_for(&saved, "failed").await;

    let page = session.get(&path_of(&saved)).await;

    assert_eq!(page.status, 200);
    assert!(
        page.text.contains("callout is-error") && page.text.contains("value=\"refetch\""),
        "{}",
        page.text
    );
    let answer = session.post_form(&format!("{}/bookmark", path_of(&saved)), &[("action", "refetch")]).await;
    assert_eq!(answer.status, 303);
}

#[actix_web::test]
async fn bookmark_is_changed_by_forms_of_its_page() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let saved = save_page(&key, PAGE).await;
    let (path, bookmark) =
        (path_of(&saved), format!("/rest/v1/bookmarks/{}", saved["bookmarkId"].as_str().unwrap()));
    for (action, field, value) in [
        ("favorite", "favorite", json!(true)),
        ("unfavorite", "favorite", json!(false)),
        ("finish", "archived", json!(true)),
        ("unarchive", "archived", json!(false)),
    ] {
        let answer = session.post_form(&format!("{path}/bookmark"), &[("action", action)]).await;

        assert_eq!(answer.status, 303, "{action}");
        assert_eq!(key.get(&bookmark).await.data(200)["bookmark"][field], value, "{action}");
    }
    let unknown = session.post_form(&format!("{path}/bookmark"), &[("action", "explode")]).await;
    assert_eq!(unknown.status, 400);
    session.post_form(&format!("{path}/bookmark"), &[("action", "delete")]).await;
    assert_eq!(session.get(&path).await.status, 404);
}

#[actix_web::test]
async fn undo_of_finishing_restores_the_progress() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let saved = save_page(&key, PAGE).await;
    let form = format!("{}/bookmark", path_of(&saved));
    let bookmark = format!("/rest/v1/bookmarks/{}", saved["bookmarkId"].as_str().unwrap());
    key.patch(&bookmark, json!({ "progress": 0.25 })).await.data(200);

    let finished = session.post_form(&form, &[("action", "finish")]).await;

    assert_eq!(key.get(&bookmark).await.data(200)["bookmark"]["progress"], 1.0);
    let toast = session.get(finished.header("location")).await.text;
    assert!(toast.contains("name=\"action\" value=\"unfinish\""), "{toast}");
    assert!(toast.contains("name=\"progress\" value=\"0.25\""), "{toast}");

    let undo = [("action", "unfinish"), ("archived", "false"), ("progress", "0.25")];
    assert_eq!(session.post_form(&form, &undo).await.status, 303);

    let restored = key.get(&bookmark).await.data(200)["bookmark"].clone();
    assert_eq!((&restored["progress"], &restored["archived"]), (&json!(0.25), &json!(false)));
    assert_eq!(session.post_form(&form, &[("action", "unfinish"), ("progress", "2")]).await.status, 400);
}

#[actix_web::test]
async fn highlights_page_filters_and_exports() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let empty = session.get("/highlights").await;
    assert!(empty.text.contains("class=\"empty\""), "{}", empty.text);
    let saved = save_page(&key, PAGE).await;
    let path = path_of(&saved);
    mark(&session, &path, place_of(&key, &saved, "an hour").await, &[("color", "green"), ("note", "=1+1")])
        .await;
    mark(&session, &path, place_of(&key, &saved, "every size").await, &[("color", "blue")]).await;

    let page = session.get("/highlights").await;
    let green = session.get("/highlights?color=green").await;

    assert!(
        page.text.contains("an hour") && page.text.contains("every size") && page.text.contains("¶ 1"),
        "{}",
        page.text
    );
    assert!(green.text.contains("an hour") && !green.text.contains("every size"), "{}", green.text);
    let (status, headers, markdown) = session.download("/highlights.md?color=green").await;
    assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, "text/markdown; charset=utf-8"));
    assert!(String::from_utf8(markdown).unwrap().contains("> an hour\n\n=1+1\n"));
    let (_, _, csv) = session.download("/highlights.csv").await;
    assert!(String::from_utf8(csv).unwrap().contains("\"an hour\",\"'=1+1\",\"green\""));
    let (_, _, json) = session.download("/highlights.json").await;
    assert_eq!(serde_json::from_slice::<Value>(&json).unwrap().as_array().unwrap().len(), 2);
    let other = server.user(Plan::Pro).await.sign_in().await;
    assert!(!other.get("/highlights").await.text.contains("an hour"));
    assert_eq!(
        other.get(&format!("/highlights?document={}", saved["documentId"].as_str().unwrap())).await.status,
        404
    );
}

#[actix_web::test]
async fn type_of_the_reader_is_kept_for_the_account() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let path = path_of(&save_page(&key, PAGE).await);

    let fields = [
        ("panel", "1"),
        ("preset", "large"),
        ("paper", "linen"),
        ("justified", "true"),
        ("back", path.as_str()),
    ];
    let answer = session.post_form("/settings/reading/type", &fields).await;

    assert!(answer.header("location").starts_with(&path), "{}", answer.status);
    let page = session.get(&path).await;
    assert!(
        page.text.contains("data-read=\"large\"") && page.text.contains("data-paper=\"linen\""),
        "{}",
        page.text
    );
    assert!(page.text.contains("is-justified"), "{}", page.text);
}
