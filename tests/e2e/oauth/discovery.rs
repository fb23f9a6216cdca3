//! Discovery: metadata and CORS preflights.

use reqwest::Method;
use serde_json::json;

use crate::support::{OAuthClient, REDIRECT_URI, Server};

#[actix_web::test]
async fn metadata_documents_use_the_configured_base_url() {
    let server = Server::start_with(&[("SERVER__BASE_URL", "https://carrel.example")]).await;
    let forged = server.anonymous().with("x-forwarded-host", "evil.example").with("host", "evilhost");
    let scopes = ["read:library", "read:projects", "write:projects", "write:bookmarks", "write:notes"];
    let resource = json!({
        "resource": "https://carrel.example/mcp",
        "authorization_servers": ["https://carrel.example"],
        "scopes_supported": scopes,
        "bearer_methods_supported": ["header"],
        "resource_name": "Carrel",
    });
    let proofs = ["none", "client_secret_post", "client_secret_basic"];
    let service = json!({
        "issuer": "https://carrel.example",
        "authorization_endpoint": "https://carrel.example/oauth/authorize",
        "token_endpoint": "https://carrel.example/oauth/token",
        "registration_endpoint": "https://carrel.example/oauth/register",
        "revocation_endpoint": "https://carrel.example/oauth/revoke",
        "scopes_supported": scopes,
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": proofs,
        "revocation_endpoint_auth_methods_supported": proofs,
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
    });
    for (path, document) in [
        ("/.well-known/oauth-protected-resource", &resource),
        ("/.well-known/oauth-protected-resource/mcp", &resource),
        ("/.well-known/oauth-authorization-server", &service),
        ("/.well-known/oauth-authorization-server/mcp", &service),
    ] {
        let response = forged.get(path).await;
        assert_eq!(
            (&response.body, response.header("content-type")),
            (document, "application/json"),
            "{path}"
        );
        assert_eq!(response.header("cache-control"), "public, max-age=300");
        let head = forged.send(Method::HEAD, path, None).await;
        assert_eq!((head.status, head.text.as_str()), (200, ""), "{path}");
    }
}

#[actix_web::test]
async fn unknown_well_known_path_gets_a_json_404() {
    let server = Server::start().await;
    for path in ["/.well-known/openid-configuration", "/.well-known/anything/else", "/mcp/.well-known/x"] {
        let response = server.anonymous().get(path).await;
        assert_eq!((response.status, response.header("content-type")), (404, "application/json"), "{path}");
    }
}

#[actix_web::test]
async fn cors_is_open_only_for_cookieless_endpoints() {
    let server = Server::start().await;
    let page = server.anonymous().with("origin", "https://inspector.example");
    for path in [
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-authorization-server/mcp",
        "/oauth/register",
        "/oauth/token",
        "/oauth/revoke",
    ] {
        let preflight = page.send(Method::OPTIONS, path, None).await;
        assert_eq!((preflight.status, preflight.header("access-control-allow-origin")), (204, "*"), "{path}");
        assert!(!preflight.headers.contains_key("access-control-allow-credentials"));
        let method = if path.starts_with("/.well-known") { "GET" } else { "POST" };
        assert!(preflight.header("access-control-allow-methods").contains(method), "{path}");
        for header in ["Authorization", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "X-API-Key"] {
            assert!(preflight.header("access-control-allow-headers").contains(header), "{path}: {header}");
        }
    }
    let refused = page.post_form("/oauth/token", &[]).await;
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (400, "*"));
    for shown in ["WWW-Authenticate", "MCP-Protocol-Version", "Retry-After"] {
        assert!(refused.header("access-control-expose-headers").contains(shown), "{shown}");
    }
    let assistant = OAuthClient::new(server.anonymous()).await;
    for path in [
        assistant.authorization_url(&[]),
        assistant.authorization_url(&[("redirect_uri", REDIRECT_URI), ("state", "")]),
    ] {
        for method in [Method::OPTIONS, Method::GET] {
            assert_eq!(page.send(method, &path, None).await.header("access-control-allow-origin"), "");
        }
    }
}
