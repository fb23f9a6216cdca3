//! The counts of calls by day, the filter of refused calls, and the usage by key and app.

use std::time::Duration;

use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{Client, Server};

const DAY: Duration = Duration::from_secs(86_400);

async fn flush(server: &Server) {
    server.context().requests.activity.flush().await.unwrap();
}

async fn days(browser: &Client, query: &str) -> Vec<Value> {
    let answer = browser.get(&format!("/app/api/activity/days{query}")).await;
    answer.data(200)["days"].as_array().unwrap().clone()
}

fn counts(day: &Value, surface: &str) -> (u64, u64) {
    let number = |name: &str| day[surface][name].as_u64().unwrap();
    (number("calls"), number("refused"))
}

#[actix_web::test]
async fn calls_are_counted_by_day_surface_and_outcome() {
    let server = Server::start().await;
    let (user, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let (key, assistant, browser) = (user.full_key().await, user.assistant().await, user.sign_in().await);
    key.get("/rest/v2/usage").await.data(200);
    flush(&server).await;
    server.clock.advance(DAY);
    key.get("/rest/v2/usage").await.data(200);
    key.get("/rest/v2/search?q=canary&limit=0").await.error_code(400);
    assistant.call("list_projects", json!({})).await.unwrap();
    other.full_key().await.get("/rest/v2/usage").await.data(200);
    flush(&server).await;

    let listed = days(&browser, "").await;

    assert_eq!(listed.len(), 30);
    assert_eq!((&listed[28]["day"], &listed[29]["day"]), (&"2024-05-06".into(), &"2024-05-07".into()));
    assert_eq!((counts(&listed[28], "rest"), counts(&listed[28], "mcp")), ((1, 0), (0, 0)));
    assert_eq!((counts(&listed[29], "rest"), counts(&listed[29], "mcp")), ((2, 1), (1, 0)));
    assert!(listed[..28].iter().all(|day| counts(day, "rest") == (0, 0)));
    // The sums equal the lines.
    let lines = browser.get("/app/api/activity?limit=100").await;
    let lines = lines.data(200)["activity"].as_array().unwrap();
    let calls: u64 = listed.iter().map(|day| counts(day, "rest").0 + counts(day, "mcp").0).sum();
    assert_eq!(lines.len() as u64, calls);
    assert!(!listed.iter().any(|day| day.to_string().contains("canary")));
}

#[actix_web::test]
async fn calls_are_counted_for_one_key() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (first, second, browser) = (user.full_key().await, user.full_key().await, user.sign_in().await);
    first.get("/rest/v2/usage").await.data(200);
    second.get("/rest/v2/usage").await.data(200);
    flush(&server).await;

    let of_first = days(&browser, &format!("?days=7&keyId={}", first.id)).await;

    assert_eq!((of_first.len(), counts(&of_first[6], "rest")), (7, (1, 0)));
    let both = format!("/app/api/activity/days?keyId={}&appId={}", first.id, first.id);
    assert_eq!(browser.get(&both).await.faults(), ["appId"]);
}

#[actix_web::test]
async fn refused_calls_are_listed_in_pages() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, browser) = (user.full_key().await, user.sign_in().await);
    for _ in 0..3 {
        key.get("/rest/v2/usage").await.data(200);
        key.get("/rest/v2/search").await.error_code(400);
    }
    flush(&server).await;

    let first = browser.get("/app/api/activity?refused=true&limit=2").await;
    let first = first.data(200);
    let cursor = first["nextCursor"].as_str().unwrap();
    let second = browser.get(&format!("/app/api/activity?refused=true&limit=2&cursor={cursor}")).await;
    let second = second.data(200);

    for line in [&first["activity"][0], &first["activity"][1], &second["activity"][0]] {
        assert_eq!((&line["status"], &line["refused"]), (&400.into(), &true.into()));
    }
    assert_eq!((second["activity"].as_array().unwrap().len(), &second["nextCursor"]), (1, &Value::Null));
}

#[actix_web::test]
async fn counts_of_removed_account_are_deleted() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    user.full_key().await.get("/rest/v2/usage").await.data(200);
    flush(&server).await;
    let rows = async || {
        entity::activity_day::Entity::owned_by(user.id()).all(server.context().core.db.read()).await.unwrap()
    };
    assert_eq!(rows().await.len(), 1);

    actors::auth::accounts::delete(&server.context().core, user.id()).await.unwrap();

    assert_eq!(rows().await, []);
}

#[actix_web::test]
async fn usage_lists_keys_and_forecasts_the_limit() {
    let server = Server::start_with(&[("PLANS__PRO__REST_PER_DAY", "5")]).await;
    let user = server.user(Plan::Pro).await;
    let (busy, idle, browser) =
        (user.key_with_hourly_limit(100).await, user.full_key().await, user.sign_in().await);
    for _ in 0..3 {
        busy.get("/rest/v2/usage").await.data(200);
    }
    flush(&server).await;

    let answer = browser.get("/app/api/usage").await;
    let usage = answer.data(200);

    // Three of five calls by noon: the fifth is due at eight in the evening.
    assert_eq!(usage["restLimitReachedAt"], "2024-05-06T20:00:00.000Z");
    assert_eq!(usage["mcpLimitReachedAt"], Value::Null);
    let [first, second] = &usage["credentials"].as_array().unwrap()[..] else { panic!("{usage}") };
    assert_eq!((&first["id"], &first["callsToday"]), (&busy.id.clone().into(), &3.into()));
    assert_eq!((&first["hourlyLimit"], &first["remaining"]), (&100.into(), &97.into()));
    assert_eq!((&second["id"], &second["callsToday"]), (&idle.id.clone().into(), &0.into()));
}

#[actix_web::test]
async fn first_use_of_a_key_is_shown_with_it() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, browser, other) = (user.full_key().await, user.sign_in().await, server.user(Plan::Pro).await);
    let path = format!("/app/api/keys/{}", key.id);
    assert_eq!(browser.get(&path).await.data(200)["key"]["firstUsedAt"], Value::Null);

    key.get("/rest/v2/usage").await.data(200);
    server.context().auth.keys.flush().await.unwrap();
    server.service().notices.flush().await;

    assert_eq!(browser.get(&path).await.data(200)["key"]["firstUsedAt"], "2024-05-06T12:00:00.000Z");
    assert_eq!(other.sign_in().await.get(&path).await.error_code(404), "NOT_FOUND");
}
