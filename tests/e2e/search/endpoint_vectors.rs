//! Search by meaning with the vectors of an endpoint, and what is left of it while the endpoint fails.

use std::time::Duration;

use actors::ai;
use entity::{document, usage_month};
use sea_orm::EntityTrait;
use serde_json::{Value, json};
use test_qdrant::TestQdrant;
use values::kind::BudgetGroup;
use values::plan::Plan;

use crate::support::{EmbeddingEndpoint, EmbeddingReply, Key, Reply, Server, Site, eventually};

/// Shares no word with "egret", whose meaning is near in the vectors of the endpoint.
const HERON_TEXT: &str = "A heron stands in the reeds.";
const BREAD_TEXT: &str = "Leave the dough to rise for an hour.";

/// Starts a server that embeds through this endpoint, and waits until it does.
async fn start_server(endpoint: &EmbeddingEndpoint) -> Server {
    let server = Server::start_with(&endpoint.settings()).await;
    await_search_state(&server, "hybrid").await;
    server
}

async fn await_search_state(server: &Server, state: &str) {
    eventually(&format!("search is {state}"), async || {
        let ready = server.anonymous().get("/readyz").await;
        (ready.body["search"] == state).then_some(())
    })
    .await;
}

async fn search(key: &Key, words: &str) -> Value {
    key.get(&format!("/rest/v2/search?q={words}")).await.data(200).clone()
}

#[actix_web::test]
async fn endpoint_finds_documents_by_their_meaning() {
    let endpoint = EmbeddingEndpoint::start(EmbeddingReply::Vectors).await;
    let server = start_server(&endpoint).await;
    let owner = server.user(Plan::Pro).await;
    let key = owner.full_key().await;
    endpoint.set_reply(EmbeddingReply::Vectors);

    let heron = key.save_text("https://example.org/heron", HERON_TEXT).await;
    key.wait_for(&heron, "ready").await;
    let bread = key.save_text("https://example.org/bread", BREAD_TEXT).await;
    key.wait_for(&bread, "ready").await;
    let found = search(&key, "egret").await;

    assert_eq!(found["results"][0]["documentId"], heron["documentId"], "{found}");
    assert_eq!((found["results"].as_array().unwrap().len(), &found["degraded"]), (1, &Value::Null));
    let texts = endpoint.texts();
    assert!(texts.iter().any(|text| text == "query: egret"), "{texts:?}");
    assert!(texts.iter().any(|text| text.starts_with("passage: ") && text.contains(HERON_TEXT)), "{texts:?}");
    let request = endpoint.requests()[0].clone();
    assert_eq!((&request["model"], &request["encoding_format"]), (&json!("heron/eye"), &json!("float")));
    assert!(request.get("dimensions").is_none());
    let db = &server.context().core.db;
    let rows = document::Entity::visible_to(owner.id()).all(db.read()).await.unwrap();
    assert!(rows.iter().all(|row| row.embedding_model.as_deref() == Some(endpoint.vector_name().as_str())));
    let usage = usage_month::Entity::find().all(db.read()).await.unwrap();
    let tokens: i64 =
        usage.iter().filter(|row| row.budget_group == BudgetGroup::Embedding).map(|row| row.tokens).sum();
    assert_eq!(tokens, 14, "7 for each passage, as the endpoint reports");
}

#[actix_web::test]
async fn answer_compares_sentences_as_passages() {
    let endpoint = EmbeddingEndpoint::start(EmbeddingReply::Vectors).await;
    let server = start_server(&endpoint).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let heron = key.save_text("https://example.org/heron", HERON_TEXT).await;
    key.wait_for(&heron, "ready").await;
    endpoint.set_reply(EmbeddingReply::Vectors);

    let answer = key.post("/rest/v2/ask", json!({ "question": "What does an egret stand in?" })).await;

    assert_eq!(answer.data(200)["citations"][0]["documentId"], heron["documentId"]);
    let texts: Vec<String> = endpoint.texts().into_iter().filter(|text| text.contains(HERON_TEXT)).collect();
    assert!(!texts.is_empty() && texts.iter().all(|text| text.starts_with("passage: ")), "{texts:?}");
}

/// Saves a page that cannot be fetched, and whose title has a meaning.
async fn save_dead_link(key: &Key, site: &Site) -> Value {
    let url = site.page("/gone", [Reply::Status(404)]);
    let saved = key.save(json!({ "url": url, "title": "The heron in winter" })).await;
    key.wait_for(&saved, "failed").await
}

async fn wait_until_found_by_meaning(key: &Key, saved: &Value) {
    eventually("the dead link is found by the meaning of its title", async || {
        let found = search(key, "egret").await;
        (found["results"][0]["documentId"] == saved["documentId"]).then_some(())
    })
    .await;
}

#[actix_web::test]
async fn dead_link_is_found_by_the_meaning_of_its_title() {
    let endpoint = EmbeddingEndpoint::start(EmbeddingReply::Vectors).await;
    let (server, site) = (start_server(&endpoint).await, Site::start().await);
    let owner = server.user(Plan::Pro).await;
    let key = owner.full_key().await;
    endpoint.set_reply(EmbeddingReply::Vectors);

    let dead = save_dead_link(&key, &site).await;

    wait_until_found_by_meaning(&key, &dead).await;
    assert_eq!(search(&key, "dough").await["results"], json!([]));
    let texts = endpoint.texts();
    assert!(texts.iter().any(|text| text == "passage: The heron in winter"), "{texts:?}");
    eventually("the model is recorded", async || {
        let row = server.document_row(owner.id(), &dead).await;
        (row.embedding_model.as_deref() == Some(endpoint.vector_name().as_str())).then_some(())
    })
    .await;
}

#[actix_web::test]
async fn metadata_does_not_wait_for_a_slow_endpoint() {
    let endpoint = EmbeddingEndpoint::start(EmbeddingReply::Vectors).await;
    let (server, site) = (start_server(&endpoint).await, Site::start().await);
    let (owner, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let (key, other_key) = (owner.full_key().await, other.full_key().await);
    endpoint.set_reply(EmbeddingReply::SilenceOn("heron in winter"));

    let dead = save_dead_link(&key, &site).await;
    eventually("the title is sent to the endpoint", async || {
        endpoint.texts().iter().any(|text| text.contains("heron in winter")).then_some(())
    })
    .await;
    let saved = other_key.save(json!({ "url": site.page("/b", [Reply::Status(404)]) })).await;

    let row = server.wait_until_indexed(owner.id(), &dead).await;
    assert_eq!(row.embedding_model, None);
    server.wait_until_indexed(other.id(), &saved).await;
    endpoint.set_reply(EmbeddingReply::Vectors);
    wait_until_found_by_meaning(&key, &dead).await;
}

#[actix_web::test]
async fn dead_link_gets_vectors_once_there_is_a_model() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = server.user(Plan::Pro).await.full_key().await;
    let dead = save_dead_link(&key, &site).await;
    let authorization = key.header("authorization");
    let endpoint = EmbeddingEndpoint::start(EmbeddingReply::Vectors).await;

    let (home, clock) = server.stop().await;
    let server = Server::start_in(home, clock, &endpoint.settings()).await;

    await_search_state(&server, "hybrid").await;
    let key = Key::new("", server.anonymous().with("authorization", &authorization));
    wait_until_found_by_meaning(&key, &dead).await;
}

/// Covers a status of an overloaded endpoint, a wrong key, a malformed response, and vectors of another length.
#[actix_web::test]
async fn failing_endpoint_leaves_search_by_words_and_saving() {
    for reply in [
        EmbeddingReply::Refusal(500, "{}"),
        EmbeddingReply::Refusal(401, r#"{"error": {"message": "canary"}}"#),
        EmbeddingReply::Refusal(200, r#"{"data": [{"embedding": "canary"}]}"#),
        EmbeddingReply::VectorsOfLength(3),
    ] {
        let endpoint = EmbeddingEndpoint::start(EmbeddingReply::Vectors).await;
        let server = start_server(&endpoint).await;
        let key = server.user(Plan::Pro).await.full_key().await;
        endpoint.set_reply(reply);

        let heron = key.save_text("https://example.org/heron", HERON_TEXT).await;
        key.wait_for(&heron, "ready").await;
        let found = search(&key, "heron").await;

        assert_eq!(found["results"][0]["documentId"], heron["documentId"], "{reply:?}: {found}");
        assert_eq!(found["degraded"], "lexical", "{reply:?}");
        await_search_state(&server, "lexical: the embedding endpoint cannot be used").await;

        endpoint.set_reply(EmbeddingReply::Vectors);
        eventually("the document is found by its meaning", async || {
            // The job that embeds it waits for less than this.
            server.clock.advance(Duration::from_secs(15));
            let found = search(&key, "egret").await;
            let is_found = found["results"][0]["documentId"] == heron["documentId"];
            (is_found && found["degraded"] == Value::Null).then_some(())
        })
        .await;
        await_search_state(&server, "hybrid").await;
    }
}

#[actix_web::test]
async fn refused_text_is_found_by_its_words_only() {
    let endpoint = EmbeddingEndpoint::start(EmbeddingReply::Vectors).await;
    let server = start_server(&endpoint).await;
    let owner = server.user(Plan::Pro).await;
    let key = owner.full_key().await;
    endpoint.set_reply(EmbeddingReply::VectorsWithout("flagged"));

    let heron = key.save_text("https://example.org/heron", HERON_TEXT).await;
    let bread = key.save_text("https://example.org/bread", "A flagged loaf of rye.").await;
    key.wait_for(&heron, "ready").await;
    key.wait_for(&bread, "ready").await;

    for (words, document) in [("rye", &bread), ("egret", &heron), ("flagged", &bread)] {
        assert_eq!(key.search(words).await[0], document["documentId"].as_str().unwrap(), "{words}");
    }
    assert_eq!(search(&key, "rye").await["degraded"], Value::Null);
    assert_eq!(search(&key, "dough").await["results"], json!([]));
    let rows = document::Entity::visible_to(owner.id()).all(server.context().core.db.read()).await.unwrap();
    let states = rows.iter().map(|row| (row.embedding_model.as_deref(), row.index_lost_at));
    assert_eq!(states.collect::<Vec<_>>(), [(Some(endpoint.vector_name().as_str()), None); 2]);
    // A refusal of a text is no fault of the endpoint.
    await_search_state(&server, "hybrid").await;
}

#[actix_web::test]
async fn new_text_is_found_by_its_words_while_the_endpoint_fails() {
    let endpoint = EmbeddingEndpoint::start(EmbeddingReply::Vectors).await;
    let server = start_server(&endpoint).await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let project =
        session.post("/app/api/projects", json!({ "name": "P" })).await.data(201)["project"].clone();
    let notes = format!("/rest/v2/projects/{}/notes", project["id"].as_str().unwrap());
    let body = json!({ "title": "Birds", "bodyMd": HERON_TEXT });
    let note = key.post(&notes, body).await.data(201)["note"].clone();
    let find = async || document::Entity::visible_to(user.id()).one(server.context().core.db.read()).await;
    eventually("the note has vectors", async || {
        let row = find().await.unwrap()?;
        (row.embedding_model.as_deref() == Some(endpoint.vector_name().as_str())).then_some(())
    })
    .await;
    endpoint.set_reply(EmbeddingReply::Refusal(500, "{}"));

    let path = format!("/app/api/notes/{}", note["noteId"].as_str().unwrap());
    session.patch(&path, json!({ "bodyMd": BREAD_TEXT })).await.data(200);
    eventually("the index has the new text", async || {
        let row = find().await.unwrap()?;
        let has_new_text = row.indexed_version == row.version && row.version > 1;
        (has_new_text && row.embedding_model.is_none() && row.index_lost_at.is_none()).then_some(())
    })
    .await;

    assert_eq!(key.search("dough").await[0], note["documentId"].as_str().unwrap());
    endpoint.set_reply(EmbeddingReply::Vectors);
    eventually("the new text is found by its meaning", async || {
        // The job that embeds it waits for less than this.
        server.clock.advance(Duration::from_secs(15));
        let found = search(&key, "loaf").await;
        (found["results"][0]["documentId"] == note["documentId"]).then_some(())
    })
    .await;
}

#[actix_web::test]
async fn postponed_vectors_leave_search_by_meaning() {
    let endpoint = EmbeddingEndpoint::start(EmbeddingReply::Vectors).await;
    let server = start_server(&endpoint).await;
    let owner = server.user(Plan::Pro).await;
    let key = owner.full_key().await;
    let heron = key.save_text("https://example.org/heron", HERON_TEXT).await;
    key.wait_for(&heron, "ready").await;
    endpoint.set_reply(EmbeddingReply::Refusal(500, "{}"));
    let bread = key.save_text("https://example.org/bread", BREAD_TEXT).await;
    key.wait_for(&bread, "ready").await;
    let row = server.document_row(owner.id(), &bread).await;
    assert_eq!((row.embedding_model, row.index_lost_at), (None, None));
    let authorization = key.header("authorization");

    // The job that embeds the text waits: the clock stands still.
    let (home, clock) = server.stop().await;
    endpoint.set_reply(EmbeddingReply::Vectors);
    let server = Server::start_in(home, clock, &endpoint.settings()).await;

    await_search_state(&server, "hybrid").await;
    eventually("the index is complete", async || {
        let ready = server.anonymous().get("/readyz").await;
        (ready.body["index"]["state"] == "complete").then_some(())
    })
    .await;
    let key = Key::new("", server.anonymous().with("authorization", &authorization));
    let found = search(&key, "egret").await;
    assert_eq!(found["results"][0]["documentId"], heron["documentId"], "{found}");
    assert_eq!(found["degraded"], Value::Null);
    assert_eq!(key.search("dough").await[0], bread["documentId"].as_str().unwrap());
}

/// "Wafer" is a word of the library that is spelt almost like "wader", whose meaning is near to that of "heron".
#[actix_web::test]
async fn synonym_is_found_before_a_word_that_is_spelt_alike() {
    let endpoint = EmbeddingEndpoint::start(EmbeddingReply::Vectors).await;
    let server = start_server(&endpoint).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let heron = key.save_text("https://example.org/heron", HERON_TEXT).await;
    let wafer = key.save_text("https://example.org/crisp", "A wafer is thin and crisp.").await;
    key.wait_for(&heron, "ready").await;
    key.wait_for(&wafer, "ready").await;

    for (words, documents, corrected) in [
        ("wader", vec![&heron, &wafer], "wafer"),
        ("waffer", vec![&wafer], "wafer"),
        ("herpn", vec![&heron], "heron"),
    ] {
        let found = search(&key, words).await;

        let results = found["results"].as_array().unwrap();
        let found_documents: Vec<&Value> = results.iter().map(|result| &result["documentId"]).collect();
        let expected: Vec<&Value> = documents.iter().map(|saved| &saved["documentId"]).collect();
        assert_eq!(found_documents, expected, "{words}: {found}");
        assert_eq!(found["correctedQuery"], corrected, "{words}");
    }
}

#[actix_web::test]
async fn paused_ai_sends_nothing_to_the_endpoint() {
    let endpoint = EmbeddingEndpoint::start(EmbeddingReply::Vectors).await;
    let server = start_server(&endpoint).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let core = &server.context().core;
    ai::pause(&core.db, core.clock.now()).await.unwrap();
    eventually("search knows of the pause", async || {
        (search(&key, "heron").await["degraded"] == "lexical").then_some(())
    })
    .await;
    endpoint.set_reply(EmbeddingReply::Vectors);

    let heron = key.save_text("https://example.org/heron", HERON_TEXT).await;
    key.wait_for(&heron, "ready").await;

    assert_eq!(key.search("heron").await[0], heron["documentId"].as_str().unwrap());
    assert!(endpoint.requests().is_empty(), "{:?}", endpoint.texts());
}

#[actix_web::test]
async fn measured_endpoint_is_not_measured_at_the_next_start() {
    let endpoint = EmbeddingEndpoint::start(EmbeddingReply::Vectors).await;
    let (home, clock) = start_server(&endpoint).await.stop().await;
    endpoint.set_reply(EmbeddingReply::Refusal(500, "{}"));

    let server = Server::start_in(home, clock, &endpoint.settings()).await;

    // It is not called before a passage or a query needs it.
    await_search_state(&server, "hybrid").await;
    assert!(endpoint.requests().is_empty());
    let ready = server.anonymous().get("/readyz").await;
    assert_eq!(ready.body["model"], endpoint.vector_name());
}

#[actix_web::test]
async fn start_does_not_need_the_endpoint() {
    let endpoint = EmbeddingEndpoint::start(EmbeddingReply::Refusal(401, "{}")).await;
    let server = Server::start_with(&endpoint.settings()).await;
    let key = server.user(Plan::Pro).await.full_key().await;

    let heron = key.save_text("https://example.org/heron", HERON_TEXT).await;
    key.wait_for(&heron, "ready").await;
    let found = search(&key, "heron").await;

    assert_eq!(found["results"][0]["documentId"], heron["documentId"]);
    assert_eq!(found["degraded"], "lexical");
}

#[actix_web::test]
async fn endpoint_that_answers_later_is_used_without_a_restart() {
    let (qdrant, endpoint) =
        (TestQdrant::start().unwrap(), EmbeddingEndpoint::start(EmbeddingReply::Refusal(500, "{}")).await);
    let url = qdrant.url();
    let on_qdrant: Vec<_> = endpoint.settings().into_iter().chain([("VECTORS__URL", url.as_str())]).collect();
    let mut started = Vec::new();
    for settings in [&endpoint.settings()[..], &on_qdrant[..]] {
        let server = Server::start_with(settings).await;
        let key = server.user(Plan::Pro).await.full_key().await;
        let heron = key.save_text("https://example.org/heron", HERON_TEXT).await;
        key.wait_for(&heron, "ready").await;
        assert_eq!(search(&key, "egret").await["results"], json!([]));
        started.push((server, key, heron));
    }

    endpoint.set_reply(EmbeddingReply::Vectors);

    for (server, key, heron) in &started {
        await_search_state(server, "hybrid").await;
        wait_until_found_by_meaning(key, heron).await;
        assert_eq!(server.anonymous().get("/readyz").await.body["model"], endpoint.vector_name());
    }
}

#[actix_web::test]
async fn silent_endpoint_leaves_search_and_answers_by_words() {
    let endpoint = EmbeddingEndpoint::start(EmbeddingReply::Vectors).await;
    let server = start_server(&endpoint).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let heron = key.save_text("https://example.org/heron", HERON_TEXT).await;
    key.wait_for(&heron, "ready").await;

    endpoint.set_reply(EmbeddingReply::Silence);

    for words in ["heron", "heron+-loaf", "herin"] {
        let found = search(&key, words).await;
        assert_eq!(found["results"][0]["documentId"], heron["documentId"], "{words}: {found}");
        assert_eq!(found["degraded"], "lexical", "{words}");
    }
    let question = json!({ "question": "Where does the heron stand?" });
    let answer = key.post("/rest/v2/ask", question).await.data(200).clone();
    assert_eq!(answer["citations"][0]["documentId"], heron["documentId"], "{answer}");
}
