//! Client ID metadata documents, when the operator allows them.

use std::time::Duration;

use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{OAuthClient, REDIRECT_URI, Reply, Response, Server, Site, read_ticket};

const DOCUMENTS_ALLOWED: [(&str, &str); 1] = [("OAUTH__CLIENT_METADATA_DOCUMENTS", "true")];

/// Serves a client document with these members changed, and returns its URL.
fn serve_document(site: &Site, path: &str, changes: Value) -> String {
    // The URL is a part of the document, so the path is created before its content.
    let id = site.page(path, [Reply::Never]);
    let mut metadata =
        json!({ "client_id": id, "client_name": "Heron by document", "redirect_uris": [REDIRECT_URI] });
    metadata.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    site.page(path, [Reply::File("application/json", metadata.to_string().into_bytes())])
}

fn client_with_id(server: &Server, id: &str) -> OAuthClient {
    OAuthClient { client: server.anonymous(), id: id.to_owned(), secret: None }
}

async fn open_authorization_page(server: &Server, id: &str) -> Response {
    server.anonymous().get(&client_with_id(server, id).authorization_url(&[])).await
}

#[actix_web::test]
async fn client_document_defines_the_client_and_is_refetched() {
    let (server, site) = (Server::start_with(&DOCUMENTS_ALLOWED).await, Site::start().await);
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let id = serve_document(&site, "/client.json", json!({}));
    let metadata = server.anonymous().get("/.well-known/oauth-authorization-server").await;
    assert_eq!(metadata.body["client_id_metadata_document_supported"], true);
    let assistant = client_with_id(&server, &id);

    let tokens = assistant.connect(&browser, "read:library").await;

    assert_eq!(assistant.call_status(&tokens.access).await, 200);
    assert_eq!(assistant.refresh(&tokens.refresh).await.status, 200);
    let apps = browser.get("/app/api/connected-apps").await;
    assert_eq!(apps.data(200)["apps"][0]["clientName"], "Heron by document");
    assert_eq!(site.request_count("/client.json"), 1);
    serve_document(&site, "/client.json", json!({ "redirect_uris": ["https://heron.example/cb"] }));
    assert_eq!(
        open_authorization_page(&server, &id).await.status,
        200,
        "the document is cached for some minutes"
    );
    server.clock.advance(Duration::from_secs(900));
    assert_eq!(
        open_authorization_page(&server, &id).await.status,
        400,
        "the redirect URI is not in the new document"
    );
}

#[actix_web::test]
async fn invalid_client_document_is_explained_without_redirect() {
    let (server, site) = (Server::start_with(&DOCUMENTS_ALLOWED).await, Site::start().await);
    let good = serve_document(&site, "/good.json", json!({}));
    let moved = Reply::Plain { status: 302, headers: vec![("location", good.clone())], body: String::new() };
    let faulty = [
        (serve_document(&site, "/other.json", json!({ "client_id": good })), "that of another app"),
        (serve_document(&site, "/secret.json", json!({ "client_secret": "s" })), "contains a client secret"),
        (
            serve_document(
                &site,
                "/method.json",
                json!({ "token_endpoint_auth_method": "client_secret_post" }),
            ),
            "token_endpoint_auth_method must be none",
        ),
        (
            serve_document(&site, "/cursor.json", json!({ "redirect_uris": ["myapp://cb"] })),
            "redirect_uris must be",
        ),
        (site.page("/page.json", [Reply::Html("<p>No client.</p>".into())]), "not sent as application/json"),
        (site.page("/list.json", [Reply::File("application/json", b"[]".to_vec())]), "not a JSON object"),
        (site.page("/moved.json", [moved]), "redirects to another one"),
        (site.page("/gone.json", [Reply::Status(404)]), "could not be fetched"),
        (
            site.page("/long.json", [Reply::File("application/json", vec![b' '; 17_000])]),
            "could not be fetched",
        ),
        ("https://nowhere.invalid/client.json".to_owned(), "could not be fetched"),
        ("https://10.0.0.1/client.json".to_owned(), "could not be fetched"),
        ("http://10.0.0.1/client.json".to_owned(), "not an https URL"),
        ("https://heron.example".to_owned(), "not an https URL"),
    ];
    for (id, reason) in &faulty {
        let page = open_authorization_page(&server, id).await;
        assert_eq!(page.status, 400, "{id}: {}", page.text);
        assert!(page.text.contains(reason), "{id}: {}", page.text);
        assert!(!page.headers.contains_key("location"), "{id}");
    }
    assert_eq!(open_authorization_page(&server, &good).await.status, 200);
}

#[actix_web::test]
async fn client_documents_are_off_by_default() {
    let (server, site) = (Server::start().await, Site::start().await);
    let id = serve_document(&site, "/client.json", json!({}));

    assert_eq!(open_authorization_page(&server, &id).await.status, 400);

    assert_eq!(site.request_count("/client.json"), 0);
    let metadata = server.anonymous().get("/.well-known/oauth-authorization-server").await;
    assert!(metadata.body.get("client_id_metadata_document_supported").is_none());
}

#[actix_web::test]
async fn removed_redirect_uri_gets_no_code_and_cache_lasts_a_day() {
    let (server, site) = (Server::start_with(&DOCUMENTS_ALLOWED).await, Site::start().await);
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let id = serve_document(&site, "/client.json", json!({ "client_uri": "https://claude.ai/" }));
    let assistant = client_with_id(&server, &id);
    assert_eq!(open_authorization_page(&server, &id).await.status, 200);
    server.clock.advance(Duration::from_secs(800));
    let page = browser.get(&assistant.authorization_url(&[])).await;
    assert!(page.text.contains(&id) && !page.text.contains("claude.ai"), "{}", page.text);
    let ticket = read_ticket(&page);

    serve_document(&site, "/client.json", json!({ "redirect_uris": ["https://heron.example/cb"] }));
    server.clock.advance(Duration::from_secs(100));
    assert_eq!(open_authorization_page(&server, &id).await.status, 400);
    let click = [("ticket", ticket.as_str()), ("decision", "allow"), ("scope", "read:library")];
    assert_eq!(browser.post_form("/oauth/consent", &click).await.status, 403);

    // While the host fails, the last document stays valid, but not longer than a day.
    site.page("/client.json", [Reply::Status(503)]);
    server.clock.advance(Duration::from_secs(3600));
    let moved = [("redirect_uri", "https://heron.example/cb")];
    assert_eq!(server.anonymous().get(&assistant.authorization_url(&moved)).await.status, 200);
    server.clock.advance(Duration::from_secs(24 * 3600));
    assert_eq!(server.anonymous().get(&assistant.authorization_url(&moved)).await.status, 400);
}

#[actix_web::test]
async fn disallowing_client_documents_ends_their_connections() {
    let (server, site) = (Server::start_with(&DOCUMENTS_ALLOWED).await, Site::start().await);
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = client_with_id(&server, &serve_document(&site, "/client.json", json!({})));
    let tokens = assistant.connect(&browser, "read:library").await;
    let (home, clock) = server.stop().await;

    let server = Server::start_in(home, clock, &[]).await;

    let assistant = assistant.with_client(server.anonymous());
    assert_eq!(assistant.refresh(&tokens.refresh).await.body["error"], "invalid_client");
    assert_eq!(open_authorization_page(&server, &assistant.id).await.status, 400);
}

#[actix_web::test]
async fn client_document_fetches_are_limited() {
    let settings = [DOCUMENTS_ALLOWED[0], ("OAUTH__REGISTRATIONS_PER_HOUR", "2")];
    let (server, site) = (Server::start_with(&settings).await, Site::start().await);
    for n in 0..2 {
        let id = serve_document(&site, &format!("/{n}.json"), json!({}));
        assert_eq!(open_authorization_page(&server, &id).await.status, 200);
    }
    let third = serve_document(&site, "/3.json", json!({}));

    assert_eq!(open_authorization_page(&server, &third).await.status, 400);

    assert_eq!(site.request_count("/3.json"), 0);
}
