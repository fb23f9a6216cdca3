//! HEAD, unsupported methods and unknown routes.

use reqwest::Method;
use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::Server;

#[actix_web::test]
async fn head_returns_the_get_response_without_body_and_counts() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let got = key.get("/rest/v2/usage").await;

    let head = key.send(Method::HEAD, "/rest/v2/usage", None).await;

    assert_eq!((head.status, &head.body), (200, &Value::Null));
    assert_eq!(head.header_number("x-ratelimit-remaining") + 1, got.header_number("x-ratelimit-remaining"));
    assert_eq!(server.anonymous().send(Method::HEAD, "/rest/v2/usage", None).await.status, 401);
    let posted = key.send(Method::HEAD, "/rest/v1/bookmarks/batch", None).await;
    assert_eq!((posted.status, posted.headers["allow"].to_str().unwrap()), (405, "POST"));
    for path in ["/offline", "/healthz", "/openapi.json", "/docs"] {
        assert_eq!(server.anonymous().send(Method::HEAD, path, None).await.status, 200, "{path}");
    }
}

#[actix_web::test]
async fn app_account_routes_refuse_in_the_envelope() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;

    let wrong = session.send(Method::PUT, "/app/api/session", Some(json!({}))).await;
    assert_eq!(wrong.error_code(405), "METHOD_NOT_ALLOWED");
    assert_eq!(wrong.headers["allow"], "POST, GET, HEAD, DELETE");
    assert_eq!(session.get("/app/api/password").await.error_code(405), "METHOD_NOT_ALLOWED");
    assert_eq!(session.get("/app/api/nowhere").await.error_code(404), "NOT_FOUND");
    let odd = session.get("/app/api/session?zap=1").await;
    assert_eq!((odd.error_code(400), odd.faults()), ("VALIDATION_FAILED", vec!["zap"]));
}
