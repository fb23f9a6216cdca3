//! The conditions of every route in the two REST tables: key, plan, limits, scope, parameters, resource. A route that is missing
//! in [`scope_of`] fails.

use actors::auth::accounts;
use carrel::rest;
use carrel::routing::undescribed;
use serde_json::json;
use uuid::Uuid;
use values::plan::Plan;
use values::scope::Scope;

use crate::support::Server;
use crate::support::route_table::{self, RouteRequest, fill_path};

/// The scope that each route requires (spec.md: Scopes; contract.md, section 6).
fn scope_of(name: &str) -> Option<Scope> {
    match name {
        "GET /usage" => None,
        "GET /search"
        | "GET /documents/:id"
        | "GET /documents/:id/chunks"
        | "GET /documents/:id/transcript"
        | "GET /documents/:id/html"
        | "GET /documents/:id/outline" => Some(Scope::ReadLibrary),
        "POST /ask" => Some(Scope::AskLibrary),
        "POST /uploads" | "GET /uploads/:id" | "POST /uploads/:id/complete" => Some(Scope::WriteUploads),
        "GET /bookmarks"
        | "GET /bookmarks/exists"
        | "GET /bookmarks/:id"
        | "GET /bookmarks/:id/highlights"
        | "GET /tags" => Some(Scope::ReadBookmarks),
        "POST /bookmarks"
        | "POST /bookmarks/batch"
        | "PATCH /bookmarks/:id"
        | "DELETE /bookmarks/:id"
        | "POST /bookmarks/:id/restore"
        | "POST /bookmarks/:id/refetch"
        | "POST /bookmarks/:id/highlights"
        | "PATCH /highlights/:id"
        | "DELETE /highlights/:id"
        | "PATCH /tags/:name"
        | "DELETE /tags/:name" => Some(Scope::WriteBookmarks),
        "GET /collections" | "GET /collections/:id" => Some(Scope::ReadCollections),
        "POST /collections"
        | "PATCH /collections/:id"
        | "DELETE /collections/:id"
        | "PUT /collections/:id/bookmarks/:bookmarkId"
        | "DELETE /collections/:id/bookmarks/:bookmarkId" => Some(Scope::WriteCollections),
        "GET /feeds" | "GET /feeds/:id" | "GET /feeds/opml" | "POST /feeds/discover" => {
            Some(Scope::ReadFeeds)
        }
        "POST /feeds"
        | "PATCH /feeds/:id"
        | "DELETE /feeds/:id"
        | "POST /feeds/:id/refresh"
        | "POST /feeds/opml"
        | "PATCH /entries/:id"
        | "POST /entries/:id/transcribe"
        | "POST /entries/read" => Some(Scope::WriteFeeds),
        "GET /entries" | "GET /entries/:id" => Some(Scope::ReadEntries),
        "GET /user" => Some(Scope::ReadUser),
        "GET /projects" | "GET /projects/:id/context" => Some(Scope::ReadProjects),
        "POST /projects/:id/items" | "POST /projects/:id/notes" => Some(Scope::WriteProjects),
        other => panic!("what does `{other}` need?"),
    }
}

/// Requests to every route, with ids that do not exist.
fn routes() -> Vec<RouteRequest> {
    let mut all = route_table::requests("/rest/v1", undescribed(rest::V1));
    all.extend(route_table::requests("/rest/v2", undescribed(rest::V2)));
    all
}

/// Covers the threat table (row A9).
#[actix_web::test]
async fn every_route_requires_a_key() {
    let server = Server::start().await;
    let anonymous = server.anonymous();

    for request in routes() {
        let response = request.send(&anonymous).await;

        assert_eq!(response.error_code(401), "API_KEY_INVALID", "{}", request.route.name());
        assert_eq!(response.headers["www-authenticate"], "Bearer", "{}", request.route.name());
    }
}

/// Covers the threat table (row A2).
#[actix_web::test]
async fn every_route_refuses_a_key_in_the_url() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;

    for request in routes() {
        let response = request.send_with(&key, "?api_key=", request.body()).await;

        assert_eq!(response.error_code(401), "API_KEY_IN_QUERY", "{}", request.route.name());
    }
}

/// Covers the threat table (row A9).
#[actix_web::test]
async fn every_route_refuses_the_free_plan() {
    let server = Server::start().await;
    let key = server.user(Plan::Free).await.mcp_key().await;

    for request in routes() {
        let response = request.send(&key).await;

        assert_eq!(response.error_code(402), "PLAN_REQUIRED", "{}", request.route.name());
        assert!(!response.headers.contains_key("x-ratelimit-limit"), "{}", request.route.name());
    }
}

/// Covers the threat table (row A9).
#[actix_web::test]
async fn every_route_requires_exactly_its_scope() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let none = user.key([]).await;

    for request in routes() {
        let response = request.send(&none).await;
        let Some(scope) = scope_of(request.route.name()) else {
            response.data(200);
            continue;
        };
        assert_eq!(response.error_code(403), "SCOPE_REQUIRED", "{}", request.route.name());
        assert_eq!(
            response.body["error"]["details"]["scopes"],
            json!([scope.name()]),
            "{}",
            request.route.name()
        );
    }
    for scope in Scope::ALL
        .iter()
        .copied()
        .filter(|scope| routes().iter().any(|request| scope_of(request.route.name()) == Some(*scope)))
    {
        // A user may have five keys.
        let key = server.user(Plan::Pro).await.key([scope]).await;
        for request in routes().into_iter().filter(|request| scope_of(request.route.name()) == Some(scope)) {
            let response = request.send(&key).await;

            assert!(
                [200, 201, 400, 404].contains(&response.status),
                "{}: {}",
                request.route.name(),
                response.body
            );
        }
    }
}

/// Covers the threat table (row J2).
#[actix_web::test]
async fn every_route_refuses_unknown_parameters() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;

    for request in routes() {
        let response = request.send_with(&key, "?surprise=1", request.body()).await;

        assert_eq!(response.error_code(400), "VALIDATION_FAILED", "{}", request.route.name());
        assert!(response.faults().contains(&"surprise"), "{}: {}", request.route.name(), response.body);
        if request.body().is_some() {
            let response = request.send_with(&key, "", Some(json!({ "surprise": 1 }))).await;

            assert_eq!(response.error_code(400), "VALIDATION_FAILED", "{}", request.route.name());
            assert!(response.faults().contains(&"surprise"), "{}: {}", request.route.name(), response.body);
        }
    }
}

#[actix_web::test]
async fn unknown_and_malformed_ids_get_the_same_404() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let with_id = routes().into_iter().filter(|request| request.route.pattern.contains('{'));

    for request in with_id.filter(|request| (request.route.request.schema)()["required"].is_null()) {
        let version = if request.path.starts_with("/rest/v1") { "/rest/v1" } else { "/rest/v2" };
        let malformed = fill_path("", request.route.pattern).replace('-', "x");
        let malformed = RouteRequest { path: format!("{version}{malformed}"), ..request };
        for request in [request, malformed] {
            let response = request.send(&key).await;

            assert_eq!(response.error_code(404), "NOT_FOUND", "{} {}", request.route.name(), request.path);
        }
    }
}

#[actix_web::test]
async fn compressed_and_faulty_bodies_are_refused_with_faults() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;

    let packed = key.clone().with("content-encoding", "gzip").post("/rest/v1/bookmarks", json!({})).await;
    assert_eq!(packed.error_code(415), "UNSUPPORTED_MEDIA_TYPE");
    let plain = key.clone().with("content-encoding", "identity").post("/rest/v1/bookmarks", json!({})).await;
    assert_eq!((plain.error_code(400), plain.faults()), ("VALIDATION_FAILED", vec!["url"]));
    let faulty = key.post("/rest/v1/bookmarks?zap=1", json!({ "favorite": 3, "url": "" })).await;
    assert_eq!(faulty.faults(), ["zap", "favorite", "url"]);
}

#[actix_web::test]
async fn unknown_routes_and_methods_require_a_key() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;

    for path in ["/rest/v2/nothing", "/rest/v1/nothing", "/rest/v3/search", "/rest"] {
        assert_eq!(server.anonymous().get(path).await.error_code(401), "API_KEY_INVALID");
        assert_eq!(key.get(path).await.error_code(404), "NOT_FOUND");
    }
    assert_eq!(server.anonymous().delete("/rest/v2/search").await.error_code(401), "API_KEY_INVALID");
    let response = key.delete("/rest/v2/search").await;
    assert_eq!(response.error_code(405), "METHOD_NOT_ALLOWED");
    assert_eq!(response.headers["allow"], "GET, HEAD");
}

/// Covers the threat table (row A9).
#[actix_web::test]
async fn checks_run_in_the_documented_order() {
    let server = Server::start_with(&[("PLANS__PRO__REST_PER_DAY", "4")]).await;
    let nowhere = format!("/rest/v2/documents/{}", Uuid::now_v7());
    let faulty = format!("{nowhere}?surprise=1");
    let (tired, user) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let worn = tired.key([]).await;
    for _ in 0..4 {
        worn.get("/rest/v2/usage").await.data(200);
    }

    assert_eq!(server.anonymous().get(&faulty).await.error_code(401), "API_KEY_INVALID");
    assert_eq!(worn.get(&faulty).await.error_code(429), "RATE_LIMITED");
    accounts::set_plan(&server.context().core, tired.id(), Plan::Free).await.unwrap();
    server.context().auth.keys.invalidate_cache();
    assert_eq!(worn.get(&faulty).await.error_code(402), "PLAN_REQUIRED");
    let bare = user.key([]).await;
    assert_eq!(bare.get(&faulty).await.error_code(403), "SCOPE_REQUIRED");
    let reader = user.key([Scope::ReadLibrary]).await;
    assert_eq!(reader.get(&faulty).await.error_code(400), "VALIDATION_FAILED");
    assert_eq!(reader.get(&nowhere).await.error_code(404), "NOT_FOUND");
}
