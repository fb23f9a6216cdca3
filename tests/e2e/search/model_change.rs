//! A change of the embedding model: the former vectors are searched until every document has those of the next model.

use std::time::Duration;

use actors::service_state::{self, ServiceStateKey};
use entity::document;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, QueryFilter};
use search::index::IndexStoreId;
use serde_json::{Value, json};
use test_qdrant::TestQdrant;
use values::plan::Plan;

use crate::support::program::create_account;
use crate::support::{
    Client, EmbeddingEndpoint, EmbeddingReply, Home, Key, Program, Reply, Server, Site, eventually,
};

/// Shares no word with "egret", whose meaning is near in the vectors of the endpoint.
const HERON_TEXT: &str = "A heron stands in the reeds.";
/// Shares no word with "loaf", whose meaning is near in the vectors of the endpoint.
const BREAD_TEXT: &str = "Leave the dough to rise for an hour.";
const FORMER: &str = "heron/eye";
const NEXT: &str = "heron/wing";

/// The settings of a server with this model, whose index outlives a restart.
fn settings_of<'a>(
    endpoint: &'a EmbeddingEndpoint,
    model: &'a str,
    qdrant_url: &'a str,
) -> Vec<(&'a str, &'a str)> {
    endpoint.settings_of(model).into_iter().chain([("VECTORS__URL", qdrant_url)]).collect()
}

/// Waits until searches use the vectors of the model `searched`, while `next` is the next one; `None` if none is to be.
async fn await_models(
    anonymous: &Client,
    endpoint: &EmbeddingEndpoint,
    searched: &str,
    next: Option<&str>,
    mut pass: impl FnMut(),
) {
    let name_of = |model: &str| Value::from(endpoint.vector_name_of(model));
    let (searched, next) = (name_of(searched), next.map_or(Value::Null, name_of));
    eventually(&format!("searches use {searched}"), async || {
        pass();
        let ready = anonymous.get("/readyz").await.body;
        let is_next = ready["index"]["modelChange"]["model"] == next;
        (ready["model"] == searched && ready["search"] == "hybrid" && is_next).then_some(())
    })
    .await;
}

/// Asserts that a search by meaning finds this document alone.
async fn assert_found(key: &Key, words: &str, document: &Value) {
    let found = key.get(&format!("/rest/v2/search?q={words}")).await.data(200).clone();
    assert_eq!(found["results"][0]["documentId"], document["documentId"], "{words}: {found}");
    assert_eq!(found["degraded"], Value::Null, "{words}");
}

/// Waits until a search by meaning finds this document: the index of a killed process is first compared with the database.
async fn await_found(key: &Key, words: &str, document: &Value) {
    eventually("the document is found by its meaning", async || {
        let found = key.get(&format!("/rest/v2/search?q={words}")).await.data(200).clone();
        let is_found = found["results"][0]["documentId"] == document["documentId"];
        (is_found && found["degraded"] == Value::Null).then_some(())
    })
    .await;
}

#[actix_web::test]
async fn former_vectors_are_searched_until_change_completes() {
    let (qdrant, endpoint) =
        (TestQdrant::start().unwrap(), EmbeddingEndpoint::start(EmbeddingReply::Vectors).await);
    let url = qdrant.url();
    let server = start_with_former_model(&endpoint, &url).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let heron = key.save_text("https://example.org/heron", HERON_TEXT).await;
    key.wait_for(&heron, "ready").await;
    assert_found(&key, "egret", &heron).await;
    let authorization = key.header("authorization");

    endpoint.set_reply(EmbeddingReply::VectorsOfModel(FORMER));
    let (home, clock) = server.stop().await;
    let server = Server::start_in(home, clock, &settings_of(&endpoint, NEXT, &url)).await;
    let key = Key::new("", server.anonymous().with("authorization", &authorization));

    // The next model does not answer yet.
    await_models(&server.anonymous(), &endpoint, FORMER, Some(NEXT), || {}).await;
    assert_found(&key, "egret", &heron).await;
    let bread = key.save_text("https://example.org/bread", BREAD_TEXT).await;
    key.wait_for(&bread, "ready").await;
    assert_found(&key, "loaf", &bread).await;
    let added = qdrant.requests("upsert_points");

    endpoint.set_reply(EmbeddingReply::Vectors);
    let pass = || server.clock.advance(Duration::from_secs(15));
    await_models(&server.anonymous(), &endpoint, NEXT, None, pass).await;
    assert_found(&key, "egret", &heron).await;
    assert_found(&key, "loaf", &bread).await;
    endpoint.set_reply(EmbeddingReply::Vectors);
    assert_found(&key, "wader", &heron).await;
    let requests = endpoint.requests();
    assert!(!requests.is_empty() && requests.iter().all(|request| request["model"] == NEXT), "{requests:?}");
    assert_eq!(qdrant.requests("upsert_points"), added, "passages only got vectors");

    eventually("the former vectors are deleted", async || {
        pass();
        (qdrant.requests("remove_vector_name") == 1).then_some(())
    })
    .await;
    assert_found(&key, "egret", &heron).await;
    let rows = document::Entity::visible_of_every_user().all(server.context().core.db.read()).await.unwrap();
    let models: Vec<_> = rows.iter().map(|row| row.embedding_model.as_deref()).collect();
    assert_eq!(models, [Some(endpoint.vector_name_of(NEXT).as_str()); 2]);
}

/// Returns a text that is indexed in several turns. Only its first passage has these words.
fn long_text(first: &str) -> String {
    let filler = "The lock keeper writes the height of the water into a table every hour. ".repeat(12);
    let paragraphs = (0..240).map(|number| format!("Entry {number}. {filler}"));
    [first.to_owned()].into_iter().chain(paragraphs).collect::<Vec<_>>().join("\n\n")
}

/// Starts a server and waits until it searches by the former model.
async fn start_with_former_model(endpoint: &EmbeddingEndpoint, url: &str) -> Server {
    let server = Server::start_with(&settings_of(endpoint, FORMER, url)).await;
    await_models(&server.anonymous(), endpoint, FORMER, None, || {}).await;
    server
}

/// Starts a server again with other settings. Returns it once their model is loaded, with the client of this key.
/// Its future is large: the callers box it, so that the stack of their tests suffices.
async fn restart(server: Server, settings: &[(&str, &str)], key: &Key) -> (Server, Key) {
    let authorization = key.header("authorization");
    let (home, clock) = server.stop().await;
    let server = Server::start_in(home, clock, settings).await;
    eventually("the next model is loaded", async || {
        server.context().retrieval.engine().latest_embedder().map(drop)
    })
    .await;
    let key = Key::new("", server.anonymous().with("authorization", &authorization));
    (server, key)
}

#[actix_web::test]
async fn service_with_an_identity_moves_without_new_vectors() {
    let (qdrant, endpoint) =
        (TestQdrant::start().unwrap(), EmbeddingEndpoint::start(EmbeddingReply::Vectors).await);
    let url = qdrant.url();
    let server = start_with_former_model(&endpoint, &url).await;
    let user = server.user(Plan::Pro).await;
    let key = user.full_key().await;
    let heron = key.save_text("https://example.org/heron", HERON_TEXT).await;
    key.wait_for(&heron, "ready").await;
    server.wait_until_indexed(user.id(), &heron).await;
    let former_url = endpoint.settings()[0].1;
    let moved = EmbeddingEndpoint::start(EmbeddingReply::Vectors).await;
    endpoint.set_reply(EmbeddingReply::Refusal(500, "{}"));

    let mut settings = settings_of(&moved, FORMER, &url);
    settings.push(("AI__EMBEDDING__IDENTITY", former_url));
    let (server, key) = Box::pin(restart(server, &settings, &key)).await;

    await_models(&server.anonymous(), &endpoint, FORMER, None, || {}).await;
    assert_found(&key, "egret", &heron).await;
    assert_eq!(moved.texts(), ["query: egret"]);
    // With another model of the service, the former one is asked at the new URL.
    let mut settings = settings_of(&moved, NEXT, &url);
    settings.push(("AI__EMBEDDING__IDENTITY", former_url));
    moved.set_reply(EmbeddingReply::VectorsOfModel(FORMER));
    let authorization = key.header("authorization");
    let (home, clock) = server.stop().await;
    let server = Box::pin(Server::start_in(home, clock, &settings)).await;
    let key = Key::new("", server.anonymous().with("authorization", &authorization));
    await_models(&server.anonymous(), &endpoint, FORMER, Some(NEXT), || {}).await;
    assert_found(&key, "egret", &heron).await;
    assert!(endpoint.requests().is_empty());
}

#[actix_web::test]
async fn long_text_is_not_said_to_have_vectors_that_a_turn_lacks() {
    let (qdrant, endpoint) =
        (TestQdrant::start().unwrap(), EmbeddingEndpoint::start(EmbeddingReply::Vectors).await);
    let url = qdrant.url();
    let server = start_with_former_model(&endpoint, &url).await;
    let user = server.user(Plan::Pro).await;
    let (owner, key) = (user.id(), user.full_key().await);
    // The change waits for it.
    let grebe = key.save_text("https://example.org/grebe", "A grebe dives.").await;
    key.wait_for(&grebe, "ready").await;
    endpoint.set_reply(EmbeddingReply::FailureOfModel(NEXT, "grebe"));
    let (server, key) = Box::pin(restart(server, &settings_of(&endpoint, NEXT, &url), &key)).await;

    let text = long_text("A heron stands beside a grebe.");
    let book = json!({ "url": "https://example.org/book", "title": "The log of a lock", "text": text });
    let book = key.save(book).await;
    key.wait_for(&book, "ready").await;

    let row = server.document_row(owner, &book).await;
    assert!(row.indexed_points > 65, "it has three turns: {}", row.indexed_points);
    assert_eq!(row.embedding_model.as_deref(), Some(endpoint.vector_name_of(FORMER).as_str()));
    endpoint.set_reply(EmbeddingReply::Vectors);
    let pass = || server.clock.advance(Duration::from_secs(15));
    await_models(&server.anonymous(), &endpoint, NEXT, None, pass).await;
    assert_found(&key, "egret", &book).await;
}

#[actix_web::test]
async fn change_of_the_model_waits_for_pages_that_were_not_fetched() {
    let (qdrant, endpoint) =
        (TestQdrant::start().unwrap(), EmbeddingEndpoint::start(EmbeddingReply::Vectors).await);
    let (url, site) = (qdrant.url(), Site::start().await);
    let server = start_with_former_model(&endpoint, &url).await;
    let user = server.user(Plan::Pro).await;
    let (owner, key) = (user.id(), user.full_key().await);
    let page = site.page("/gone", [Reply::Status(404)]);
    let dead = key.save(json!({ "url": page, "title": "The heron in winter" })).await;
    key.wait_for(&dead, "failed").await;
    await_found(&key, "egret", &dead).await;
    endpoint.set_reply(EmbeddingReply::FailureOfModel(NEXT, "heron"));
    let (server, key) = Box::pin(restart(server, &settings_of(&endpoint, NEXT, &url), &key)).await;
    let bread = key.save_text("https://example.org/bread", BREAD_TEXT).await;
    key.wait_for(&bread, "ready").await;
    await_models(&server.anonymous(), &endpoint, FORMER, Some(NEXT), || {}).await;

    endpoint.set_reply(EmbeddingReply::Vectors);

    let pass = || server.clock.advance(Duration::from_secs(15));
    await_models(&server.anonymous(), &endpoint, NEXT, None, pass).await;
    await_found(&key, "egret", &dead).await;
    let row = server.document_row(owner, &dead).await;
    assert_eq!(row.embedding_model.as_deref(), Some(endpoint.vector_name_of(NEXT).as_str()));
}

#[actix_web::test]
async fn documents_that_another_server_indexed_by_words_get_vectors() {
    let endpoint = EmbeddingEndpoint::start(EmbeddingReply::Vectors).await;
    let server = Server::start_with(&endpoint.settings_of(FORMER)).await;
    await_models(&server.anonymous(), &endpoint, FORMER, None, || {}).await;
    let user = server.user(Plan::Pro).await;
    let key = user.full_key().await;
    let heron = key.save_text("https://example.org/heron", HERON_TEXT).await;
    key.wait_for(&heron, "ready").await;
    let id = server.document_row(user.id(), &heron).await.id;
    // As a server does that has no model, because its settings name another one.
    document::Entity::update_owned(user.id())
        .col_expr(document::Column::EmbeddingModel, Expr::value(None::<String>))
        .filter(document::Column::Id.eq(id))
        .exec(server.context().core.db.write())
        .await
        .unwrap();

    eventually("the document has vectors", async || {
        server.clock.advance(Duration::from_secs(15));
        let row = server.document_row(user.id(), &heron).await;
        (row.embedding_model.as_deref() == Some(endpoint.vector_name_of(FORMER).as_str())).then_some(())
    })
    .await;
}

async fn read_state(server: &Server, key: ServiceStateKey) -> Option<String> {
    service_state::read_state(server.context().core.db.read(), key).await.unwrap()
}

#[actix_web::test]
async fn refused_deletion_of_vectors_does_not_hold_up_the_marker() {
    let (qdrant, endpoint) =
        (TestQdrant::start().unwrap(), EmbeddingEndpoint::start(EmbeddingReply::Vectors).await);
    let url = qdrant.url();
    let server = start_with_former_model(&endpoint, &url).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let heron = key.save_text("https://example.org/heron", HERON_TEXT).await;
    key.wait_for(&heron, "ready").await;
    qdrant.refuse(Some("remove_vector_name"));
    let (server, key) = Box::pin(restart(server, &settings_of(&endpoint, NEXT, &url), &key)).await;
    let pass = || server.clock.advance(Duration::from_secs(15));
    await_models(&server.anonymous(), &endpoint, NEXT, None, pass).await;
    eventually("the deletion is refused", async || {
        pass();
        (qdrant.requests("remove_vector_name") > 0).then_some(())
    })
    .await;
    let marker = ServiceStateKey::IndexMarker(IndexStoreId::Server);
    let former = read_state(&server, marker).await;

    let bread = key.save_text("https://example.org/bread", BREAD_TEXT).await;
    key.wait_for(&bread, "ready").await;

    eventually("the marker is raised", async || {
        pass();
        (read_state(&server, marker).await != former).then_some(())
    })
    .await;
    qdrant.refuse(None);
    eventually("the former vectors are deleted", async || {
        let record = read_state(&server, ServiceStateKey::IndexedModels).await?;
        let record: Value = serde_json::from_str(&record).unwrap();
        (record["retired"] == json!([]) && record["deleting"] == Value::Null).then_some(())
    })
    .await;
}

#[actix_web::test]
async fn change_of_the_model_outlives_killed_processes() {
    let (home, endpoint) = (Home::new().await, EmbeddingEndpoint::start(EmbeddingReply::Vectors).await);
    let (id, secret) = create_account(&home);
    let (former, next) = (endpoint.settings_of(FORMER), endpoint.settings_of(NEXT));
    let program = Program::start_with(&home, "a", &former).await;
    let key = program.client_with_key(&id, &secret);
    await_models(&program.anonymous(), &endpoint, FORMER, None, || {}).await;
    let heron = key.save_text("https://example.org/heron", HERON_TEXT).await;
    key.wait_for(&heron, "ready").await;
    assert_found(&key, "egret", &heron).await;
    endpoint.set_reply(EmbeddingReply::VectorsOfModel(FORMER));
    program.kill();

    for _ in 0..2 {
        let program = Program::start_with(&home, "a", &next).await;
        await_models(&program.anonymous(), &endpoint, FORMER, Some(NEXT), || {}).await;
        await_found(&program.client_with_key(&id, &secret), "egret", &heron).await;
        program.kill();
    }
    endpoint.set_reply(EmbeddingReply::Vectors);

    for _ in 0..2 {
        let program = Program::start_with(&home, "a", &next).await;
        await_models(&program.anonymous(), &endpoint, NEXT, None, || {}).await;
        await_found(&program.client_with_key(&id, &secret), "egret", &heron).await;
        program.kill();
    }
}
