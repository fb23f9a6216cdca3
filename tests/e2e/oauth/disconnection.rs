//! The end of a grant: by its client, by its user and by changes of the account.

use actors::auth::accounts;
use futures_util::FutureExt;
use reqwest::Method;
use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{Client, OAuthClient, PASSWORD, Server, Tokens};

async fn list_apps(browser: &Client) -> Value {
    browser.get("/app/api/connected-apps").await.data(200)["apps"].clone()
}

async fn assert_disconnected(assistant: &OAuthClient, tokens: &Tokens) {
    let refused = assistant.list_tools(&tokens.access).await;
    let challenge = refused.header("www-authenticate");
    assert_eq!(refused.status, 401);
    assert!(
        challenge.contains(r#"error="invalid_token""#) && challenge.contains("resource_metadata="),
        "{challenge}"
    );
    assert_eq!(assistant.refresh(&tokens.refresh).await.body["error"], "invalid_grant");
}

#[actix_web::test]
async fn revocation_of_any_token_ends_the_connection() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    for by_access in [true, false] {
        let tokens = assistant.connect(&browser, "read:library").await;
        let token = if by_access { &tokens.access } else { &tokens.refresh };
        // RFC 7009: a wrong or unknown hint must not matter.
        let hint = ("token_type_hint", if by_access { "refresh_token" } else { "nonsense" });
        // RFC 7009: revoking a token that is already invalid succeeds too.
        for _ in 0..2 {
            let answer = assistant.post_as_client("/oauth/revoke", &[("token", token), hint]).await;
            assert_eq!((answer.status, answer.text.as_str()), (200, ""));
            assert_eq!(answer.header("cache-control"), "no-store");
        }
        assert_disconnected(&assistant, &tokens).await;
    }
}

#[actix_web::test]
async fn revocation_of_a_foreign_token_changes_nothing() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let (assistant, other) =
        (OAuthClient::new(server.anonymous()).await, OAuthClient::new(server.anonymous()).await);
    let tokens = assistant.connect(&browser, "read:library").await;

    for token in [tokens.access.as_str(), &tokens.refresh, "garbage"] {
        assert_eq!(other.post_as_client("/oauth/revoke", &[("token", token)]).await.status, 200);
    }

    assert_eq!(assistant.call_status(&tokens.access).await, 200);
    let nothing = assistant.post_as_client("/oauth/revoke", &[]).await;
    assert_eq!((nothing.status, &nothing.body["error"]), (400, &json!("invalid_request")));
    let unknown = OAuthClient { id: "unknown".to_owned(), ..assistant };
    let refused = unknown.post_as_client("/oauth/revoke", &[("token", &tokens.access)]).await;
    assert_eq!((refused.status, &refused.body["error"]), (401, &json!("invalid_client")));
    assert_eq!(server.anonymous().get("/oauth/revoke").await.status, 405);
}

#[actix_web::test]
async fn disconnected_app_is_refused_and_can_connect_again() {
    let server = Server::start().await;
    let (browser, other_user) =
        (server.user(Plan::Pro).await.sign_in().await, server.user(Plan::Pro).await.sign_in().await);
    let assistant = OAuthClient::new(server.anonymous()).await;
    let tokens = assistant.connect(&browser, "read:library").await;
    assert_eq!(assistant.call_status(&tokens.access).await, 200);
    let shown = list_apps(&browser).await;
    assert_eq!((&shown[0]["clientName"], &shown[0]["clientUri"]), (&json!("Heron"), &Value::Null));
    let path = format!("/app/api/connected-apps/{}", shown[0]["id"].as_str().unwrap());
    assert_eq!(other_user.delete(&path).await.error_code(404), "NOT_FOUND");

    browser.delete(&path).await.data(200);

    assert_disconnected(&assistant, &tokens).await;
    assert_eq!(list_apps(&browser).await, json!([]));
    assert_eq!(browser.delete(&path).await.error_code(404), "NOT_FOUND");
    assistant.connect(&browser, "read:projects").await;
    let again = list_apps(&browser).await;
    assert_eq!((&again[0]["id"], &again[0]["scopes"]), (&shown[0]["id"], &json!(["read:projects"])));
}

#[actix_web::test]
async fn reconnection_ends_old_tokens_at_the_code_exchange() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let first = assistant.connect(&browser, "read:library").await;
    let spent = Tokens::from_response(&assistant.refresh(&first.refresh).await);
    let (older, newer) = (
        assistant.obtain_code(&browser, "read:library").await,
        assistant.obtain_code(&browser, "write:notes").await,
    );
    assert_eq!(assistant.call_status(&spent.access).await, 200);

    let tokens = Tokens::from_response(&assistant.exchange(&newer).await);

    for token in [&first.access, &spent.access] {
        assert_eq!(assistant.call_status(token).await, 401);
    }
    for token in [&first.refresh, &spent.refresh] {
        assert_eq!(assistant.refresh(token).await.body["error"], "invalid_grant");
    }
    assert_eq!(assistant.exchange(&older).await.body["error"], "invalid_grant");
    assert_eq!(
        assistant.call_status(&tokens.access).await,
        200,
        "reuse of an ended token does not revoke the new connection"
    );
}

#[actix_web::test]
async fn password_change_ends_every_connection() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let tokens = assistant.connect(&browser, "read:library").await;
    let code = assistant.obtain_code(&browser, "read:library").await;
    assert_eq!(assistant.call_status(&tokens.access).await, 200);

    let change = json!({ "current": PASSWORD, "new": "ten bitterns in the sedge" });
    browser.post("/app/api/password", change).await.data(200);

    assert_disconnected(&assistant, &tokens).await;
    assert_eq!(assistant.exchange(&code).await.body["error"], "invalid_grant");
    assert_eq!(list_apps(&browser).await, json!([]));
}

#[actix_web::test]
async fn deleted_account_ends_its_connections() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (browser, key) = (user.sign_in().await, user.full_key().await);
    let assistant = OAuthClient::new(server.anonymous()).await;
    let tokens = assistant.connect(&browser, "read:library").await;
    assert_eq!(assistant.call_status(&tokens.access).await, 200);
    let remove = async |password: &str| {
        browser.send(Method::DELETE, "/app/api/account", Some(json!({ "password": password }))).await
    };
    assert_eq!(remove("wrong").await.error_code(400), "VALIDATION_FAILED");

    remove(PASSWORD).await.data(200);

    assert_disconnected(&assistant, &tokens).await;
    assert_eq!(key.get("/rest/v2/usage").await.error_code(401), "API_KEY_INVALID");
    assert_eq!(browser.get("/app/api/session").await.status, 401);
}

/// The caller of a disconnection is dropped when its client disconnects.
#[actix_web::test]
async fn disconnection_whose_caller_is_gone_takes_effect() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (browser, assistant) = (user.sign_in().await, OAuthClient::new(server.anonymous()).await);
    let tokens = assistant.connect(&browser, "read:library").await;
    assert_eq!(assistant.call_status(&tokens.access).await, 200);
    let app = list_apps(&browser).await[0]["id"].as_str().unwrap().parse().unwrap();
    let grants = &server.context().auth.grants;

    let answered = grants.disconnect(user.id(), app).now_or_never();
    assert!(answered.is_none());
    // Waits for the disconnection, and not for the next check of the generation.
    grants.port().drain().await;

    assert_eq!(assistant.list_tools(&tokens.access).await.status, 401);
}

#[actix_web::test]
async fn disabled_account_loses_its_connections() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (browser, assistant) = (user.sign_in().await, OAuthClient::new(server.anonymous()).await);
    let tokens = assistant.connect(&browser, "read:library").await;
    accounts::set_disabled(&server.context().core, user.id(), true).await.unwrap();
    server.context().auth.keys.invalidate_cache();

    assert_disconnected(&assistant, &tokens).await;
    accounts::set_disabled(&server.context().core, user.id(), false).await.unwrap();

    assert_disconnected(&assistant, &tokens).await;
    assert_eq!(list_apps(&user.sign_in().await).await, json!([]));
}
