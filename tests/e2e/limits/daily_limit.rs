//! The daily limit of a user: counted over all keys from midnight to midnight UTC, and kept over restarts.

use std::time::Duration;

use values::plan::Plan;
use values::scope::Scope;

use crate::support::{Client, PASSWORD, Server};

const DAY: Duration = Duration::from_secs(24 * 3600);
const DAILY_LIMIT_OF_FIVE: &[(&str, &str)] = &[("PLANS__PRO__REST_PER_DAY", "5")];

async fn requests_today(client: &Client) -> u64 {
    client.get("/rest/v2/usage").await.data(200)["rest"]["today"].as_u64().unwrap()
}

#[actix_web::test]
async fn request_over_the_daily_limit_waits_until_midnight() {
    let server = Server::start_with(DAILY_LIMIT_OF_FIVE).await;
    let user = server.user(Plan::Pro).await;
    let (one, other) = (user.key([]).await, user.key([]).await);
    for count in 1..=5 {
        let key = if count % 2 == 0 { &one } else { &other };
        assert_eq!(requests_today(key).await, count);
    }

    let refused = one.get("/rest/v2/usage").await;

    assert_eq!(refused.error_code(429), "RATE_LIMITED");
    assert_eq!(refused.header_number("x-ratelimit-limit"), 5);
    assert_eq!(refused.header_number("retry-after"), 12 * 3600);
    server.clock.advance(Duration::from_millis(12 * 3_600_000 - 1));
    assert_eq!(other.get("/rest/v2/usage").await.error_code(429), "RATE_LIMITED");
    server.clock.advance(Duration::from_millis(1));
    assert_eq!(requests_today(&one).await, 1);
}

#[actix_web::test]
async fn refused_request_counts_in_no_limit() {
    let server = Server::start_with(DAILY_LIMIT_OF_FIVE).await;
    let user = server.user(Plan::Pro).await;
    let (narrow, wide) = (user.key_with_hourly_limit(1).await, user.key([]).await);
    narrow.get("/rest/v2/usage").await.data(200);
    for _ in 0..10 {
        assert_eq!(narrow.get("/rest/v2/usage").await.error_code(429), "RATE_LIMITED");
    }

    assert_eq!(requests_today(&wide).await, 2);
}

#[actix_web::test]
async fn failed_requests_count_towards_the_day() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.key([Scope::ReadLibrary]).await;

    for (path, status) in [
        ("/rest/v1/user", 403),
        ("/rest/v2/search", 400),
        ("/rest/v2/documents/none", 404),
        ("/rest/v2/nothing", 404),
    ] {
        key.get(path).await.error_code(status);
    }

    assert_eq!(requests_today(&key).await, 5);
}

#[actix_web::test]
async fn daily_count_survives_a_restart() {
    let server = Server::start_with(DAILY_LIMIT_OF_FIVE).await;
    let user = server.user(Plan::Pro).await;
    let session = user.sign_in().await;
    let created =
        session.post("/app/api/keys", serde_json::json!({ "name": "reader", "kind": "rest" })).await;
    let secret = created.data(201)["secret"].as_str().unwrap().to_owned();
    for count in 1..=3 {
        assert_eq!(requests_today(&server.anonymous().with_key(&secret)).await, count);
    }

    let (home, clock) = server.stop().await;
    let server = Server::start_in(home, clock, DAILY_LIMIT_OF_FIVE).await;

    assert_eq!(requests_today(&server.anonymous().with_key(&secret)).await, 4);
}

/// Covers the fault table (row 22).
#[actix_web::test]
async fn clock_jump_over_midnight_and_back_resets_no_count() {
    let server = Server::start_with(DAILY_LIMIT_OF_FIVE).await;
    let key = server.user(Plan::Pro).await.key([]).await;
    for count in 1..=5 {
        assert_eq!(requests_today(&key).await, count);
    }

    server.clock.advance(DAY);
    assert_eq!((requests_today(&key).await, requests_today(&key).await), (1, 2));
    server.clock.set_back(DAY);
    assert_eq!(key.get("/rest/v2/usage").await.error_code(429), "RATE_LIMITED");
    server.clock.advance(DAY);

    assert_eq!(requests_today(&key).await, 3);
}

/// Covers the fault table (row 22).
#[actix_web::test]
async fn clock_set_back_after_a_restart_finds_the_daily_count() {
    let server = Server::start_with(DAILY_LIMIT_OF_FIVE).await;
    let user = server.user(Plan::Pro).await;
    let session = user.sign_in().await;
    let created =
        session.post("/app/api/keys", serde_json::json!({ "name": "reader", "kind": "rest" })).await;
    let secret = created.data(201)["secret"].as_str().unwrap().to_owned();
    for count in 1..=5 {
        assert_eq!(requests_today(&server.anonymous().with_key(&secret)).await, count);
    }
    server.clock.advance(DAY);
    assert_eq!(requests_today(&server.anonymous().with_key(&secret)).await, 1);
    let (home, clock) = server.stop().await;
    let server = Server::start_in(home, clock, DAILY_LIMIT_OF_FIVE).await;
    let key = server.anonymous().with_key(&secret);
    assert_eq!(requests_today(&key).await, 2);

    server.clock.set_back(DAY);

    // The first call requests the counts of the day; the next one uses them.
    assert_eq!(key.get("/rest/v2/usage").await.error_code(429), "RATE_LIMITED");
    let refused = key.get("/rest/v2/usage").await;
    assert_eq!((refused.error_code(429), refused.header_number("retry-after")), ("RATE_LIMITED", 12 * 3600));
    server.clock.advance(DAY);
    assert_eq!(requests_today(&key).await, 3);
}

/// Covers the fault table (row 22).
#[actix_web::test]
async fn clock_set_back_does_not_prolong_a_sign_in_lock() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let sign_in = async |password: &str| {
        let credentials = serde_json::json!({ "email": user.email(), "password": password });
        server.anonymous().post("/app/api/session", credentials).await.status
    };
    server.clock.advance(DAY * 365);
    for _ in 0..5 {
        assert_eq!(sign_in("a wrong password").await, 401);
    }
    server.clock.set_back(DAY * 365);
    assert_eq!(sign_in(PASSWORD).await, 429);

    server.clock.advance(Duration::from_secs(15 * 60));

    assert_eq!(sign_in(PASSWORD).await, 200);
}
