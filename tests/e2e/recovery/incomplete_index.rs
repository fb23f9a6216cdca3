//! Questions while the index may lack what they are about: nothing is said to be there only by a whole index.

use actors::retrieval::Completeness;
use entity::document;
use library::clock::Clock;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, QueryFilter};
use serde_json::{Value, json};
use test_qdrant::TestQdrant;
use values::plan::Plan;

use super::index_repair::{save, wait_until_complete};
use crate::support::{Key, Server};

const ABOUT_NOTHING: &str = "How do volcanoes of Iceland erupt?";

async fn ask(key: &Key, question: &str) -> Value {
    key.post("/rest/v2/ask", json!({ "question": question })).await.data(200).clone()
}

async fn assert_nothing_is_there(key: &Key) {
    let answer = ask(key, ABOUT_NOTHING).await;
    assert_eq!(answer["answer"], "There is nothing about this in your library.");
}

async fn assert_nothing_is_denied(key: &Key) {
    let refused = key.post("/rest/v2/ask", json!({ "question": ABOUT_NOTHING })).await;
    assert_eq!(refused.error_code(503), "OVERLOADED");
    assert!(refused.header_number("retry-after") >= 1);
}

#[actix_web::test]
async fn incomplete_index_denies_nothing() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let heron = save(&key, "heron").await;
    assert_nothing_is_there(&key).await;
    // Its checks of the index would end these states.
    server.service().stop_worker().await;
    let engine = server.context().retrieval.engine();

    for state in [Completeness::Checking, Completeness::MaintainedElsewhere] {
        engine.set_completeness(state);

        assert_nothing_is_denied(&key).await;
        let found = key.get("/rest/v2/search?q=volcanoes").await.data(200).clone();
        assert_eq!((&found["results"], &found["degraded"]), (&json!([]), &json!("lexical")), "{state:?}");
        // What it has is found.
        let answer = ask(&key, "Where does the heron stand?").await;
        assert_eq!(answer["citations"][0]["documentId"], heron["documentId"], "{state:?}");
    }

    engine.set_completeness(Completeness::Complete);
    assert_nothing_is_there(&key).await;
}

#[actix_web::test]
async fn user_whose_words_are_lost_is_denied_nothing() {
    let server = Server::start().await;
    let (user, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let (key, foreign) = (user.full_key().await, other.full_key().await);
    save(&key, "heron").await;
    save(&foreign, "egret").await;
    server.service().stop_worker().await;
    let lost = document::Entity::update_owned(user.id())
        .col_expr(document::Column::IndexedVersion, Expr::value(0))
        .col_expr(document::Column::IndexLostAt, Expr::value(Some(server.clock.now())))
        .filter(document::Column::Version.gt(0));
    assert_eq!(lost.exec(server.context().core.db.write()).await.unwrap().rows_affected, 1);

    let rebuilding = Completeness::Rebuilding { documents_left: 1, documents_total: 1 };
    server.context().retrieval.engine().set_completeness(rebuilding);

    assert_nothing_is_denied(&key).await;
    assert_nothing_is_there(&foreign).await;
}

/// PostgreSQL finds words as they are written, so what it does not find may be there.
#[actix_web::test]
async fn index_that_is_not_reached_denies_nothing() {
    let mut qdrant = TestQdrant::start().unwrap();
    let server = Server::start_with(&[("VECTORS__URL", qdrant.url().as_str())]).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    save(&key, "heron").await;
    wait_until_complete(&server.anonymous(), 1).await;
    assert_nothing_is_there(&key).await;

    qdrant.stop();

    assert_nothing_is_denied(&key).await;
}
