//! Highlights by document and version, over all documents, and lost ones.

use actors::operations::highlights::{FindHighlight, ListAllHighlights, ListDocumentHighlights};
use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{Client, OperationPlans, Reply, Server, Site, article, eventually};

const TEXT: &str = "Größer: the heron waits in the reeds.\n\nThen it strikes, and the water is still.";

/// Marks the first occurrence of these words in a text and returns the highlight.
async fn mark(session: &Client, document: &Value, text: &str, words: &str, more: Value) -> Value {
    let start = text.split(words).next().unwrap().chars().count();
    let end = start + words.chars().count();
    let mut body = json!({ "startOffset": start, "endOffset": end, "version": 1 });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let path = format!("/app/api/documents/{}/highlights", document.as_str().unwrap());
    session.post(&path, body).await.data(201).clone()
}

async fn texts(session: &Client, query: &str) -> Vec<String> {
    let reply = session.get(&format!("/app/api/highlights?{query}")).await;
    let highlights = reply.data(200)["highlights"].as_array().unwrap().clone();
    highlights.iter().map(|highlight| highlight["text"].as_str().unwrap().to_owned()).collect()
}

#[actix_web::test]
async fn words_are_cut_out_by_the_server() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let saved = key.save_text("https://example.org/heron", TEXT).await;
    key.wait_for(&saved, "ready").await;

    let marked = mark(&session, &saved["documentId"], TEXT, "heron waits", json!({ "color": "green" })).await;

    assert_eq!(marked["highlight"]["text"], "heron waits");
    assert_eq!(marked["highlight"]["anchorState"], "exact");
    assert_eq!(marked["bookmarkId"], saved["bookmarkId"]);
    assert_eq!(marked["wasSaved"], false);
    let path = format!("/app/api/documents/{}/highlights", saved["documentId"].as_str().unwrap());
    let listed = session.get(&path).await.data(200).clone();
    assert_eq!((&listed["version"], &listed["highlights"][0]), (&json!(1), &marked["highlight"]));
    for (start, end, version, status) in [(0, 6, 2, 409), (6, 6, 1, 400), (0, 9_999, 1, 400), (7, 8, 1, 400)]
    {
        let body = json!({ "startOffset": start, "endOffset": end, "version": version });
        assert_eq!(session.post(&path, body).await.status, status, "{start} {end} {version}");
    }
    let other = server.user(Plan::Pro).await.sign_in().await;
    assert_eq!(other.get(&path).await.status, 404);
    let body = json!({ "startOffset": 0, "endOffset": 6, "version": 1 });
    assert_eq!(other.post(&path, body).await.status, 404);
}

#[actix_web::test]
async fn highlights_of_all_documents_are_filtered() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let first = key.save(json!({ "url": "https://example.org/1", "text": TEXT, "tags": ["birds"] })).await;
    let second = key.save_text("https://example.org/2", TEXT).await;
    for saved in [&first, &second] {
        key.wait_for(saved, "ready").await;
    }
    mark(&session, &first["documentId"], TEXT, "water", json!({ "color": "green" })).await;
    mark(&session, &first["documentId"], TEXT, "heron", json!({ "note": "Which?" })).await;
    mark(&session, &second["documentId"], TEXT, "reeds", json!({ "color": "blue" })).await;

    assert_eq!(texts(&session, "").await, ["reeds", "heron", "water"]);
    assert_eq!(texts(&session, "color=green").await, ["water"]);
    assert_eq!(texts(&session, "note=true").await, ["heron"]);
    assert_eq!(texts(&session, "note=false&tag=birds").await, ["water"]);
    let listed = session.get("/highlights").await.text;
    assert_eq!(listed.matches("href=\"/highlights?tag=birds\"").count(), 1, "{listed}");
    assert_eq!(texts(&session, "lost=true").await, [""; 0]);
    let of_first = format!("documentId={}", first["documentId"].as_str().unwrap());
    assert_eq!(texts(&session, &of_first).await, ["heron", "water"]);
    let page = session.get("/app/api/highlights?limit=2").await.data(200).clone();
    assert_eq!((&page["total"], page["highlights"].as_array().unwrap().len()), (&json!(3), 2));
    let next = format!("limit=2&cursor={}", page["nextCursor"].as_str().unwrap());
    assert_eq!(texts(&session, &next).await, ["water"]);
    let places: Vec<_> =
        page["highlights"].as_array().unwrap().iter().map(|one| one["paragraph"].clone()).collect();
    assert_eq!(places, [json!(1), json!(1)]);
    let other = server.user(Plan::Pro).await.sign_in().await;
    assert_eq!(texts(&other, "").await, [""; 0]);

    key.delete(&format!("/rest/v1/bookmarks/{}", first["bookmarkId"].as_str().unwrap())).await.data(200);

    assert_eq!(texts(&session, "").await, ["reeds"]);
}

#[actix_web::test]
async fn lost_highlight_is_found_again() {
    let server = Server::start_with(&[("FETCH__ALLOW_PRIVATE", "127.0.0.0/8")]).await;
    let site = Site::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let changed = article("Herons", "a tall heron that stood in the reeds all day");
    let url =
        site.page("/page", [article("Herons", "the tall heron that stands in the reeds all day"), changed]);
    let saved = key.save(json!({ "url": url })).await;
    key.wait_for(&saved, "ready").await;
    let document = saved["documentId"].as_str().unwrap();
    let text = key.get(&format!("/rest/v2/documents/{document}")).await.data(200)["text"].clone();
    let words = "the tall heron that stands in the reeds";
    let marked = mark(&session, &saved["documentId"], text.as_str().unwrap(), words, json!({})).await;
    let id = marked["highlight"]["highlightId"].as_str().unwrap().to_owned();
    key.post(&format!("/rest/v1/bookmarks/{}/refetch", saved["bookmarkId"].as_str().unwrap()), json!({}))
        .await
        .data(202);
    let path = format!("/app/api/documents/{document}/highlights");
    eventually("the words are lost", async || {
        let listed = session.get(&path).await.data(200).clone();
        (listed["highlights"][0]["anchorState"] == "lost").then_some(())
    })
    .await;
    assert_eq!(texts(&session, "lost=true").await, [words]);
    let counts_lost = async || session.get("/highlights").await.text.contains("id=\"lost-head\"");
    assert!(counts_lost().await);
    let bookmark = format!("/rest/v1/bookmarks/{}", saved["bookmarkId"].as_str().unwrap());
    key.delete(&bookmark).await.data(200);
    assert!(!counts_lost().await);
    key.post(&format!("{bookmark}/restore"), json!({})).await.data(200);

    let found = session.get(&format!("/app/api/highlights/{id}/candidates")).await.data(200).clone();
    let best = &found["candidates"][0];
    assert!(best["text"].as_str().unwrap().contains("tall heron that stood in the reeds"), "{found}");
    let place = json!({ "startOffset": best["startOffset"], "endOffset": best["endOffset"], "version": found["version"] });
    let placed = session.post(&format!("/app/api/highlights/{id}/anchor"), place).await.data(200).clone();

    assert_eq!(placed["highlight"]["anchorState"], "exact");
    assert_eq!(placed["highlight"]["text"], best["text"]);
    assert!(!counts_lost().await);
    assert_eq!(texts(&session, "lost=true").await, [""; 0]);
    let other = server.user(Plan::Pro).await.sign_in().await;
    assert_eq!(other.get(&format!("/app/api/highlights/{id}/candidates")).await.status, 404);
}

#[actix_web::test]
async fn marked_entry_is_saved_first() {
    let server = Server::start_with(&[("FETCH__ALLOW_PRIVATE", "127.0.0.0/8")]).await;
    let site = Site::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let rss = "<rss version=\"2.0\"><channel><title>Birds</title><item><title>Herons</title><guid>1</guid>\
        <link>https://birds.example/herons</link><description>The heron waits in the reeds.</description></item></channel></rss>";
    let url = site.page("/feed", [Reply::File("application/rss+xml", rss.as_bytes().to_vec())]);
    key.post("/rest/v1/feeds", json!({ "url": url })).await.data(201);
    let entry = eventually("the entry is there", async || {
        let entries = key.get("/rest/v1/entries").await.data(200)["entries"].clone();
        entries.get(0).cloned()
    })
    .await;
    let text = eventually("the entry has a text", async || {
        let path = format!("/rest/v2/documents/{}", entry["documentId"].as_str().unwrap());
        let text = key.get(&path).await.data(200)["text"].as_str().unwrap().to_owned();
        (!text.is_empty()).then_some(text)
    })
    .await;

    let marked = mark(&session, &entry["documentId"], &text, "heron waits", json!({})).await;

    assert_eq!(marked["wasSaved"], true);
    let saved = key.get(&format!("/rest/v1/bookmarks/{}", marked["bookmarkId"].as_str().unwrap())).await;
    assert_eq!(saved.data(200)["bookmark"]["documentId"], entry["documentId"]);
}

#[actix_web::test]
async fn highlights_across_documents_are_read_by_indexes() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let saved = key.save(json!({ "url": "https://example.org/1", "text": TEXT, "tags": ["birds"] })).await;
    key.wait_for(&saved, "ready").await;
    let marked = mark(&session, &saved["documentId"], TEXT, "water", json!({ "color": "green" })).await;
    mark(&session, &saved["documentId"], TEXT, "heron", json!({ "color": "green" })).await;
    let plans = OperationPlans::of_user(&server, &user).await;
    let (document, highlight) =
        (saved["documentId"].as_str().unwrap(), marked["highlight"]["highlightId"].as_str().unwrap());
    let queries =
        ["limit=1", "limit=1&color=green&note=false&tag=birds", "limit=1&lost=true"].map(str::to_owned);
    let mut explained = Vec::new();
    for query in queries.into_iter().chain([format!("limit=1&documentId={document}")]) {
        explained.extend(plans.explain::<ListAllHighlights>(&[], &query).await);
    }
    explained.extend(plans.explain::<ListDocumentHighlights>(&[document], "").await);
    explained.extend(plans.explain::<FindHighlight>(&[highlight], "").await);

    let slow: Vec<_> = explained
        .iter()
        .filter(|plan| !plan.full_scans().is_empty() || plan.contains_limit() && plan.sorts())
        .collect();
    assert!(!explained.is_empty() && slow.is_empty(), "{slow:#?}");
}
