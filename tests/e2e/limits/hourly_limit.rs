//! The hourly limit of a key: a full burst, refilled evenly (contract.md, section 3).

use std::time::Duration;

use entity::activity;
use reqwest::Method;
use serde_json::json;
use values::plan::Plan;

use crate::support::Server;

#[actix_web::test]
async fn hourly_limit_refills_evenly() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.key_with_hourly_limit(3).await;

    for remaining in [2, 1, 0] {
        let response = key.get("/rest/v2/usage").await;
        assert_eq!(
            [response.header_number("x-ratelimit-limit"), response.header_number("x-ratelimit-remaining")],
            [3, remaining]
        );
    }
    let refused = key.get("/rest/v2/usage").await;

    assert_eq!(refused.error_code(429), "RATE_LIMITED");
    assert_eq!(refused.header_number("retry-after"), 1200);
    assert_eq!(refused.header_number("x-ratelimit-remaining"), 0);
    server.clock.advance(Duration::from_millis(1_199_999));
    assert_eq!(key.get("/rest/v2/usage").await.error_code(429), "RATE_LIMITED");
    server.clock.advance(Duration::from_millis(1));
    key.get("/rest/v2/usage").await.data(200);
    assert_eq!(key.get("/rest/v2/usage").await.error_code(429), "RATE_LIMITED");
}

#[actix_web::test]
async fn hourly_limit_is_counted_per_key() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (one, other) = (user.key_with_hourly_limit(1).await, user.key_with_hourly_limit(1).await);

    one.get("/rest/v2/usage").await.data(200);

    assert_eq!(one.get("/rest/v2/usage").await.error_code(429), "RATE_LIMITED");
    other.get("/rest/v2/usage").await.data(200);
}

#[actix_web::test]
async fn concurrent_requests_do_not_exceed_the_hourly_limit() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.key_with_hourly_limit(7).await;

    let responses = futures_util::future::join_all((0..20).map(|_| key.get("/rest/v2/usage"))).await;

    assert_eq!(responses.iter().filter(|response| response.status == 200).count(), 7);
    assert_eq!(responses.iter().filter(|response| response.status == 429).count(), 13);
}

#[actix_web::test]
async fn changed_hourly_limit_keeps_the_used_requests() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.key_with_hourly_limit(4).await, user.sign_in().await);
    for _ in 0..4 {
        key.get("/rest/v2/usage").await.data(200);
    }

    let body = json!({ "hourlyLimit": 6 });
    session.send(Method::PATCH, &format!("/app/api/keys/{}", key.id), Some(body)).await.data(200);

    key.get("/rest/v2/usage").await.data(200);
    key.get("/rest/v2/usage").await.data(200);
    assert_eq!(key.get("/rest/v2/usage").await.error_code(429), "RATE_LIMITED");
}

#[actix_web::test]
async fn refused_calls_beyond_a_burst_are_not_recorded() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let key = user.key_with_hourly_limit(1).await;

    key.get("/rest/v2/usage").await.data(200);
    for _ in 0..100 {
        assert_eq!(key.get("/rest/v2/usage").await.error_code(429), "RATE_LIMITED");
    }

    server.context().requests.activity.flush().await.unwrap();
    let lines = activity::Entity::owned_by(user.id()).all(server.context().core.db.read()).await.unwrap();
    let refused = lines.iter().filter(|line| line.status == "429").count();
    // One more is recorded each minute.
    assert!((60..=62).contains(&refused), "{refused}");
    assert_eq!(lines.len(), refused + 1);
}
