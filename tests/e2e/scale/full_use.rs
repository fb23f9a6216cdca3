//! Uses each surface of a server once, for tests of the statements that it sends.

use carrel::routing::{Route, undescribed};
use carrel::{app, rest};
use serde_json::json;

use super::small_library::SmallLibrary;
use crate::ingest::uploads::upload;
use crate::support::route_table::{self, RouteRequest, fill_path};
use crate::support::{Client, Key, OAuthClient, Server, Tokens, User};

/// A file that is announced as PDF and cannot be read.
const BROKEN_PDF: &[u8] = b"%PDF-1.7 as far as its first bytes say";

/// Returns a request for a route whose ids are those of the library. Ids of what the library lacks do not exist.
fn request(mounted: &str, route: &'static Route, library: &SmallLibrary) -> RouteRequest {
    let mut pattern = route.pattern.to_owned();
    for (kind, id) in [
        ("bookmarks", &library.bookmark),
        ("documents", &library.document),
        ("collections", &library.collection),
        ("projects", &library.project),
        ("feeds", &library.feed),
        ("entries", &library.entry),
        ("imports", &library.import),
    ] {
        pattern = pattern.replace(&format!("/{kind}/{{id}}"), &format!("/{kind}/{id}"));
    }
    RouteRequest { route, path: fill_path(mounted, &pattern) }
}

async fn send(request: &RouteRequest, client: &Client) {
    let response = request.send(client).await;
    // 503 is the answer of what is not configured.
    assert_ne!(response.status, 500, "{}: {}", request.path, response.text);
}

/// Sends a request to every route of REST, and every read of the web app. What a route changes does not exist.
async fn request_every_route(key: &Key, session: &Client, library: &SmallLibrary) {
    for (mounted, routes) in [("/rest/v1", rest::V1), ("/rest/v2", rest::V2)] {
        for route in undescribed(routes).filter(|route| route.method.as_str() == "GET") {
            send(&request(mounted, route, library), key).await;
        }
        for missing in route_table::requests(mounted, undescribed(routes)) {
            send(&missing, key).await;
        }
    }
    for route in app::ROUTES.iter().filter(|route| route.method.as_str() == "GET") {
        send(&request("/app/api", route, library), session).await;
    }
}

/// Calls every tool.
async fn call_every_tool(user: &User<'_>, library: &SmallLibrary) {
    let SmallLibrary { bookmark, document, project, .. } = library;
    let assistant = user.assistant().await;
    assistant.initialize("Heron", "1.0").await;
    let calls = [
        ("search_library", json!({ "query": "heron" })),
        ("list_projects", json!({ "limit": 1 })),
        ("get_project_context", json!({ "projectId": project, "query": "heron" })),
        ("get_document", json!({ "documentId": document })),
        ("get_document", json!({ "bookmarkId": bookmark })),
        ("get_document", json!({ "url": "https://reeds.example/0" })),
        ("add_bookmark", json!({ "url": "https://reeds.example/0", "tags": ["grey"], "projectId": project })),
        ("create_note", json!({ "bookmarkId": bookmark, "body": "Seen again." })),
        ("create_note", json!({ "projectId": project, "body": "Of reeds." })),
    ];
    for tool in assistant.list_tools().await {
        assert!(calls.iter().any(|(name, _)| *name == tool), "{tool} is not called");
    }
    for (tool, arguments) in calls {
        assistant.call(tool, arguments).await.unwrap();
    }
}

/// Connects an app, refreshes its token, calls a tool with it, and revokes it.
async fn connect_app(server: &Server, browser: &Client) {
    let app = OAuthClient::new(server.anonymous()).await;
    let tokens = app.connect(browser, "read:library").await;
    let tokens = Tokens::from_response(&app.refresh(&tokens.refresh).await);
    assert_eq!(app.call_status(&tokens.access).await, 200);
    let revoked = app.post_as_client("/oauth/revoke", &[("token", tokens.refresh.as_str())]).await;
    assert_eq!(revoked.status, 200);
}

/// Uses REST, the web app, MCP and OAuth.
pub async fn use_every_surface(server: &Server, user: &User<'_>, key: &Key, library: &SmallLibrary) {
    let session = user.sign_in().await;
    upload(key, "application/pdf", BROKEN_PDF).await;
    request_every_route(key, &session, library).await;
    call_every_tool(user, library).await;
    connect_app(server, &session).await;
}
