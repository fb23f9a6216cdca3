//! Two servers on one database: changes of one reach the other within a second.

use std::time::{Duration, Instant};

use entity::document;
use sea_orm::{ColumnTrait, Database, EntityTrait, PaginatorTrait, QueryFilter};
use serde_json::Value;

use crate::support::{Home, Key, Program, eventually, program};

/// Covers the fault table (rows 37, 43).
#[actix_web::test]
async fn revoked_key_is_refused_by_all_services_within_a_second() {
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let (one, other) = (Program::start(&home, "data").await, Program::start(&home, "second").await);
    let (here, there) = (one.client_with_key(&id, &secret), other.client_with_key(&id, &secret));
    here.get("/rest/v2/usage").await.data(200);
    there.get("/rest/v2/usage").await.data(200);

    program::run_command(&home, &["key", "revoke", &id], "");
    let revoked = Instant::now();

    for key in [here, there] {
        let last_admitted = loop {
            let requested_at = Instant::now();
            let answer = key.get("/rest/v2/usage").await;
            match answer.status {
                200 => {
                    assert!(
                        requested_at.duration_since(revoked) < Duration::from_secs(2),
                        "the other service still accepts the credential"
                    )
                }
                _ => {
                    assert_eq!(answer.error_code(401), "API_KEY_INVALID");
                    break requested_at;
                }
            }
        };
        assert!(last_admitted.duration_since(revoked) <= Duration::from_secs(1));
    }
}

/// Covers the fault table (row 37).
#[actix_web::test]
async fn daily_count_is_shared_by_two_services() {
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let (one, other) = (Program::start(&home, "data").await, Program::start(&home, "second").await);
    for _ in 0..3 {
        one.client_with_key(&id, &secret).get("/rest/v2/usage").await.data(200);
        other.client_with_key(&id, &secret).get("/rest/v2/usage").await.data(200);
    }

    assert!(one.terminate().await.success());
    assert!(other.terminate().await.success());

    let third = Program::start(&home, "data").await;
    assert_eq!(third.client_with_key(&id, &secret).get("/rest/v2/usage").await.data(200)["rest"]["today"], 7);
}

/// Covers the fault table (row 37).
#[actix_web::test]
async fn two_services_can_start_together_on_an_empty_database() {
    let home = Home::new().await;

    let (mut one, mut other) = (Program::launch(&home, "data"), Program::launch(&home, "second"));

    one.wait_until_ready().await;
    other.wait_until_ready().await;
}

/// Saves a text about one bird.
async fn save(key: &Key, bird: &str) -> Value {
    let text = format!("The {bird} stands still in the water for an hour, waiting for a fish to come by.");
    key.save_text(&format!("https://example.org/{bird}"), &text).await
}

async fn eventually_finds(key: &Key, bird: &str, saved: &Value) {
    eventually(&format!("the {bird} is found"), async || {
        (key.search(bird).await == [saved["documentId"].as_str().unwrap()]).then_some(())
    })
    .await;
}

async fn index_state(service: &Program) -> Value {
    service.anonymous().get("/readyz").await.body["index"]["state"].clone()
}

/// Number of documents that the rows mark as lost by the index.
async fn lost_documents(home: &Home) -> u64 {
    let rows = Database::connect(home.database_url()).await.unwrap();
    let lost = document::Entity::find().filter(document::Column::IndexLostAt.is_not_null());
    let count = lost.count(&rows).await.unwrap();
    rows.close().await.unwrap();
    count
}

/// Asserts that the second server leaves the index to the first, and takes over once `end` has ended the first.
async fn second_service_takes_over_after(end: impl AsyncFnOnce(Program)) {
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let one = Program::start(&home, "data").await;
    let here = one.client_with_key(&id, &secret);
    let heron = save(&here, "heron").await;
    eventually_finds(&here, "heron", &heron).await;

    let other = Program::start(&home, "second").await;
    let there = other.client_with_key(&id, &secret);
    assert_eq!(index_state(&other).await, "maintainedElsewhere");
    let kingfisher = save(&there, "kingfisher").await;
    there.wait_for(&kingfisher, "ready").await;

    eventually_finds(&here, "kingfisher", &kingfisher).await;
    assert_eq!(lost_documents(&home).await, 0);
    assert_eq!(index_state(&one).await, "complete");
    end(one).await;
    eventually_finds(&there, "heron", &heron).await;
    eventually_finds(&there, "kingfisher", &kingfisher).await;
    eventually("the second service has the whole index", async || {
        (index_state(&other).await == "complete").then_some(())
    })
    .await;
}

/// Covers the fault table (row 37).
#[actix_web::test]
async fn second_service_takes_over_the_index_after_shutdown() {
    second_service_takes_over_after(async |first| assert!(first.terminate().await.success())).await;
}

/// Covers the fault table (row 37).
#[actix_web::test]
async fn second_service_takes_over_the_index_after_a_kill() {
    second_service_takes_over_after(async |first| first.kill()).await;
}
