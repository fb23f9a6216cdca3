//! Cache headers: responses of the APIs are not stored, and `Vary` names the request headers that they depend on.

use carrel::routing::undescribed;
use carrel::{app, rest};
use reqwest::Method;
use values::plan::Plan;

use crate::support::route_table::{self, RouteRequest};
use crate::support::{Response, Server};

/// The names that `Vary` lists, in lower case.
fn vary_names(response: &Response) -> Vec<String> {
    response.header("vary").split(',').map(|name| name.trim().to_ascii_lowercase()).collect()
}

#[track_caller]
fn assert_not_cached(response: &Response, by: &[&str], what: &str) {
    assert_eq!(response.header("cache-control"), "no-store", "{what}");
    let named = vary_names(response);
    assert!(by.iter().all(|name| named.iter().any(|named| named == name)), "{what}: {named:?}");
}

fn routes(mounted: &str) -> Vec<RouteRequest> {
    match mounted {
        "/app/api" => route_table::requests(mounted, app::ROUTES),
        "/rest/v1" | "/app/api/library" => route_table::requests(mounted, undescribed(rest::V1)),
        _ => route_table::requests(mounted, undescribed(rest::V2)),
    }
}

/// Covers the threat table (row H4).
#[actix_web::test]
async fn rest_responses_vary_by_key_and_are_not_stored() {
    let server = Server::start().await;
    let (anonymous, key) = (server.anonymous(), server.user(Plan::Pro).await.full_key().await);

    for request in [routes("/rest/v1"), routes("/rest/v2")].into_iter().flatten() {
        for client in [&anonymous, &*key] {
            assert_not_cached(
                &request.send(client).await,
                &["authorization", "x-api-key"],
                request.route.name(),
            );
        }
    }
    for path in ["/rest/nothing", "/rest/v2/nothing", "/rest/v3/search", "/rest/v2/usage?zap=1"] {
        assert_not_cached(&key.get(path).await, &["authorization", "x-api-key"], path);
    }
    let wrong = key.send(Method::PUT, "/rest/v2/usage", None).await;
    assert_eq!(wrong.status, 405);
    assert_not_cached(&wrong, &["authorization", "x-api-key"], "PUT");
}

/// Covers the threat table (row H4).
#[actix_web::test]
async fn app_responses_vary_by_cookie_and_are_not_stored() {
    let server = Server::start().await;
    let (anonymous, browser) = (server.anonymous(), server.user(Plan::Pro).await.sign_in().await);

    let all = [routes("/app/api"), routes("/app/api/library")];
    for request in all.into_iter().flatten().filter(|request| request.route.method.as_str() == "GET") {
        for client in [&anonymous, &browser] {
            assert_not_cached(&request.send(client).await, &["cookie"], request.route.name());
        }
    }
    for path in ["/app/api/session", "/app/api/nowhere", "/app/api/exports/none/file"] {
        assert_not_cached(&browser.get(path).await, &["cookie"], path);
        assert_not_cached(&anonymous.get(path).await, &["cookie"], path);
    }
}

/// Covers the threat table (row H4).
#[actix_web::test]
async fn mcp_responses_vary_by_origin_and_key_and_are_not_stored() {
    let server = Server::start().await;
    let assistant = server.user(Plan::Pro).await.assistant().await;
    let by = ["origin", "authorization", "x-api-key"];

    assert_not_cached(&assistant.send("tools/list", serde_json::json!({})).await, &by, "tools/list");
    assert_not_cached(&server.anonymous().get("/mcp").await, &by, "without a key");
    assert_not_cached(&server.anonymous().send(Method::OPTIONS, "/mcp", None).await, &by, "preflight");
}
