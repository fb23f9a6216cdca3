//! How clients find their way: metadata and preflights (assertions 1 to 8).

use reqwest::Method;
use serde_json::{Value, json};

use crate::world::{Assistant, REDIRECT, Server};

#[actix_web::test]
async fn both_documents_stand_wherever_clients_look_and_name_the_service_as_it_is_set() {
    let server = Server::with(&[("SERVER__BASE_URL", "https://carrel.example")]).await;
    let forged = server.stranger().with("x-forwarded-host", "evil.example").with("host", "evil.example");
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let document = forged.get(path).await.body;
        assert_eq!(document["resource"], "https://carrel.example/mcp");
        assert_eq!(document["authorization_servers"], json!(["https://carrel.example"]));
        assert_eq!(forged.send(Method::HEAD, path, None).await.status, 200);
    }
    for path in ["/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/mcp"] {
        let answer = forged.get(path).await;
        assert_eq!(answer.body["issuer"], "https://carrel.example");
        assert_eq!(answer.body["token_endpoint"], "https://carrel.example/oauth/token");
        assert_eq!(answer.body["code_challenge_methods_supported"], json!(["S256"]));
        assert_eq!(answer.body["authorization_response_iss_parameter_supported"], Value::Bool(true));
        assert!(!answer.text.contains("null") && !answer.text.contains("offline_access"), "{}", answer.text);
        assert_eq!(forged.send(Method::HEAD, path, None).await.status, 200);
    }
}

#[actix_web::test]
async fn what_is_not_there_is_told_in_json() {
    let server = Server::start().await;
    for path in ["/.well-known/openid-configuration", "/.well-known/anything/else", "/mcp/.well-known/x"] {
        let answer = server.stranger().get(path).await;
        assert_eq!((answer.status, answer.said("content-type")), (404, "application/json"), "{path}");
    }
}

#[actix_web::test]
async fn any_page_may_ask_what_carries_no_cookie_and_no_page_the_others() {
    let server = Server::start().await;
    let page = server.stranger().with("origin", "https://inspector.example");
    for path in [
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
        "/oauth/register",
        "/oauth/token",
        "/oauth/revoke",
    ] {
        let asked = page.send(Method::OPTIONS, path, None).await;
        assert_eq!((asked.status, asked.said("access-control-allow-origin")), (204, "*"), "{path}");
        assert!(!asked.headers.contains_key("access-control-allow-credentials"));
    }
    let refused = page.form("/oauth/token", &[]).await;
    assert_eq!((refused.status, refused.said("access-control-allow-origin")), (400, "*"));
    let assistant = Assistant::new(server.stranger()).await;
    for path in [assistant.address(&[]), assistant.address(&[("redirect_uri", REDIRECT), ("state", "")])] {
        for method in [Method::OPTIONS, Method::GET] {
            assert_eq!(page.send(method, &path, None).await.said("access-control-allow-origin"), "");
        }
    }
}
