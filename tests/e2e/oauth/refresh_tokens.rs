//! Refresh tokens at the token endpoint.

use std::time::Duration;

use actors::auth::accounts;
use serde_json::json;
use values::plan::Plan;

use crate::support::{OAuthClient, Response, Server, Tokens};

const DAY: Duration = Duration::from_secs(86_400);

fn assert_invalid_grant(response: &Response) {
    assert_eq!(
        (response.status, &response.body["error"]),
        (400, &json!("invalid_grant")),
        "{}",
        response.text
    );
}

#[actix_web::test]
async fn activity_states_why_a_connection_ended() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let tokens = assistant.connect(&browser, "read:library").await;
    Tokens::from_response(&assistant.refresh(&tokens.refresh).await);
    assert_invalid_grant(&assistant.refresh(&tokens.refresh).await);
    let code = assistant.obtain_code(&browser, "read:library").await;
    Tokens::from_response(&assistant.exchange(&code).await);
    assert_invalid_grant(&assistant.exchange(&code).await);

    let lines = browser.get("/app/api/activity").await;

    let lines = lines.data(200)["activity"].as_array().unwrap().clone();
    let statuses: Vec<_> =
        lines.iter().map(|line| (line["status"].clone(), line["client"].clone())).collect();
    let heron = || serde_json::json!("Heron");
    assert_eq!(statuses, [("CODE_REUSED".into(), heron()), ("TOKEN_REUSED".into(), heron())]);
}

/// Covers the threat table (row O4).
#[actix_web::test]
async fn refresh_token_reuse_revokes_the_connection() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let first = assistant.connect(&browser, "read:library read:projects").await;
    let second = Tokens::from_response(&assistant.refresh(&first.refresh).await);
    assert_ne!(first.refresh, second.refresh);
    assert_eq!(second.scope, "read:library read:projects");
    assert_eq!(assistant.call_status(&first.access).await, 200, "an access token outlives a refresh");

    // Reuse is detected also a day after the token was spent.
    server.clock.advance(DAY);
    let third = Tokens::from_response(&assistant.refresh(&second.refresh).await);
    assert_invalid_grant(&assistant.refresh(&first.refresh).await);

    assert_eq!(assistant.call_status(&third.access).await, 401);
    assert_invalid_grant(&assistant.refresh(&third.refresh).await);
    let apps = browser.get("/app/api/connected-apps").await;
    assert_eq!(apps.data(200)["apps"], json!([]));
    let ended = &apps.data(200)["ended"][0];
    assert_eq!((&ended["clientName"], &ended["state"]), (&json!("Heron"), &json!("revoked")));
}

/// Covers the threat table (row O4).
#[actix_web::test]
async fn concurrent_refreshes_leave_no_valid_token() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let tokens = assistant.connect(&browser, "read:library").await;

    let responses = futures_util::future::join_all((0..12).map(|_| assistant.refresh(&tokens.refresh))).await;

    let won: Vec<_> =
        responses.iter().filter(|response| response.status == 200).map(Tokens::from_response).collect();
    assert_eq!(won.len(), 1);
    // The losers reuse a spent token, which revokes the family, also the tokens of the winner (RFC 9700, section 4.14.2).
    assert_eq!(assistant.call_status(&won[0].access).await, 401);
    assert_invalid_grant(&assistant.refresh(&won[0].refresh).await);
}

/// Covers the threat table (row O4).
#[actix_web::test]
async fn token_of_another_client_is_refused_without_effect() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let (assistant, thief) =
        (OAuthClient::new(server.anonymous()).await, OAuthClient::new(server.anonymous()).await);
    let first = assistant.connect(&browser, "read:library").await;
    let second = Tokens::from_response(&assistant.refresh(&first.refresh).await);

    let unknown = "cr_0000000000000000000000000000000000000000000".to_owned();
    let mut responses = Vec::new();
    for token in [&first.refresh, &second.refresh, &second.access, &"cr_garbage".to_owned(), &unknown] {
        let response = thief.refresh(token).await;
        assert_invalid_grant(&response);
        responses.push(response.text);
    }
    assert!(
        responses.iter().all(|text| *text == responses[0]),
        "the response reveals whether the token exists: {responses:?}"
    );

    assert_eq!(assistant.call_status(&second.access).await, 200);
    Tokens::from_response(&assistant.refresh(&second.refresh).await);
}

#[actix_web::test]
async fn refresh_may_narrow_the_scope_but_not_widen_it() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let whole = assistant.connect(&browser, "read:library read:projects").await;
    let with = async |token: &str, scope: &str| {
        assistant
            .request_token(&[("grant_type", "refresh_token"), ("refresh_token", token), ("scope", scope)])
            .await
    };

    let more = with(&whole.refresh, "read:library write:notes").await;
    assert_eq!((more.status, &more.body["error"]), (400, &json!("invalid_scope")));
    let less = Tokens::from_response(&with(&whole.refresh, "read:projects offline_access").await);
    assert_eq!(less.scope, "read:projects");
    let listed = assistant.list_tools(&less.access).await.text;
    assert!(listed.contains("list_projects") && !listed.contains("search_library"), "{listed}");

    // A narrowed token does not narrow the grant: the next refresh has the whole scope again (RFC 6749, section 6).
    assert_eq!(
        Tokens::from_response(&assistant.refresh(&less.refresh).await).scope,
        "read:library read:projects"
    );
}

#[actix_web::test]
async fn refresh_token_expires_ninety_days_after_last_use() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let mut tokens = assistant.connect(&browser, "read:library").await;

    server.clock.advance(DAY * 90 - Duration::from_millis(1));
    tokens = Tokens::from_response(&assistant.refresh(&tokens.refresh).await);
    server.clock.advance(DAY * 90);

    assert_invalid_grant(&assistant.refresh(&tokens.refresh).await);
}

#[actix_web::test]
async fn tokens_after_a_downgrade_are_limited_to_the_plan() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (browser, assistant) = (user.sign_in().await, OAuthClient::new(server.anonymous()).await);
    let tokens = assistant.connect(&browser, "read:library write:notes").await;
    accounts::set_plan(&server.context().core, user.id(), Plan::Free).await.unwrap();
    server.context().auth.keys.invalidate_cache();

    let newer = Tokens::from_response(&assistant.refresh(&tokens.refresh).await);

    let tool_names = |response: Response| {
        let tools = response.body["result"]["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(tool_names(assistant.list_tools(&newer.access).await), ["search_library", "get_document"]);
    // The grant keeps its scope, so that an upgrade restores the tools without a new consent.
    assert_eq!(newer.scope, "read:library write:notes");
}
