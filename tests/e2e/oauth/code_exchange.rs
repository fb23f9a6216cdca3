//! Code exchange at the token endpoint.

use std::time::Duration;

use actors::auth::accounts;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{CODE_VERIFIER, OAuthClient, REDIRECT_URI, Response, Server, Tokens};

fn assert_oauth_error(response: &Response, status: u16, error: &str) {
    assert_eq!((response.status, &response.body["error"]), (status, &json!(error)), "{}", response.text);
    assert_eq!(response.header("cache-control"), "no-store");
    assert!(response.body.get("access_token").is_none());
}

/// Covers the threat table (row O3).
#[actix_web::test]
async fn code_reuse_revokes_the_connection() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let code = assistant.obtain_code(&browser, "read:library").await;

    let response = assistant.exchange(&code).await;

    let tokens = Tokens::from_response(&response);
    assert_eq!(
        (&response.body["token_type"], &response.body["expires_in"]),
        (&json!("Bearer"), &json!(3600))
    );
    assert_eq!((response.header("cache-control"), response.header("pragma")), ("no-store", "no-cache"));
    assert_eq!(assistant.call_status(&tokens.access).await, 200);
    let newer = Tokens::from_response(&assistant.refresh(&tokens.refresh).await);
    assert_oauth_error(&assistant.exchange(&code).await, 400, "invalid_grant");
    for access in [&tokens.access, &newer.access] {
        assert_eq!(assistant.call_status(access).await, 401);
    }
    assert_oauth_error(&assistant.refresh(&newer.refresh).await, 400, "invalid_grant");
}

/// Covers the fault table (row 22).
#[actix_web::test]
async fn clock_set_back_revives_no_code_or_refresh_token() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let code = assistant.obtain_code(&browser, "read:library").await;
    let tokens = Tokens::from_response(&assistant.exchange(&code).await);
    let newer = Tokens::from_response(&assistant.refresh(&tokens.refresh).await);

    server.clock.set_back(Duration::from_secs(3600));

    assert_oauth_error(&assistant.refresh(&tokens.refresh).await, 400, "invalid_grant");
    for access in [&tokens.access, &newer.access] {
        assert_eq!(assistant.call_status(access).await, 401);
    }
    assert_oauth_error(&assistant.exchange(&code).await, 400, "invalid_grant");
    assert_oauth_error(&assistant.refresh(&newer.refresh).await, 400, "invalid_grant");
}

/// Covers the fault and threat tables (rows 44, O3).
#[actix_web::test]
async fn concurrent_exchanges_succeed_once_and_end_revoked() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let code = assistant.obtain_code(&browser, "read:library").await;

    let responses = futures_util::future::join_all((0..12).map(|_| assistant.exchange(&code))).await;

    let (won, lost): (Vec<_>, Vec<_>) = responses.into_iter().partition(|response| response.status == 200);
    assert_eq!((won.len(), lost.len()), (1, 11));
    lost.iter().for_each(|response| assert_oauth_error(response, 400, "invalid_grant"));
    // The later exchanges count as reuse of the code, which revokes the tokens of the first one (RFC 6749, section 4.1.2).
    assert_eq!(assistant.call_status(&Tokens::from_response(&won[0]).access).await, 401);
}

/// Covers the threat table (row O3).
#[actix_web::test]
async fn failed_exchange_spends_the_code() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    for (change, error) in [
        (("code_verifier", "another-verifier-another-verifier-another-verifier"), "invalid_grant"),
        (("code_verifier", ""), "invalid_request"),
        (("code_verifier", "short"), "invalid_request"),
        (("code_verifier", "v".repeat(129).as_str()), "invalid_request"),
        (("code_verifier", "not+of/the=characters-that-a-verifier-may-have!"), "invalid_request"),
        (("redirect_uri", ""), "invalid_grant"),
        (("redirect_uri", "http://127.0.0.1:43117/other"), "invalid_grant"),
    ] {
        let code = assistant.obtain_code(&browser, "read:library").await;
        assert_oauth_error(&assistant.exchange_with(&code, &[change]).await, 400, error);
        assert_oauth_error(&assistant.exchange(&code).await, 400, "invalid_grant");
    }
    let code = assistant.obtain_code(&browser, "read:library").await;
    let elsewhere = [("resource", "https://other.example/mcp")];
    assert_oauth_error(&assistant.exchange_with(&code, &elsewhere).await, 400, "invalid_target");
    // The code is spent by the request with the wrong resource, so its own client cannot use it either.
    let thief = OAuthClient::new(server.anonymous()).await;
    assert_oauth_error(&thief.exchange(&code).await, 400, "invalid_grant");
    assert_oauth_error(&assistant.exchange(&code).await, 400, "invalid_grant");
}

#[actix_web::test]
async fn code_without_valid_verifier_gets_invalid_request() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let browser = user.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let (other, late) =
        (OAuthClient::new(server.anonymous()).await, OAuthClient::new(server.anonymous()).await);
    for verifier in ["", "short"] {
        let expired = late.obtain_code(&browser, "read:library").await;
        server.clock.advance(Duration::from_secs(60));
        let used = assistant.obtain_code(&browser, "read:library").await;
        Tokens::from_response(&assistant.exchange(&used).await);
        let foreign = other.obtain_code(&browser, "read:library").await;
        let unknown = format!("cc_{:043}", 1);

        for (client, code, case) in [
            (&assistant, &unknown, "unknown"),
            (&assistant, &used, "used"),
            (&late, &expired, "expired"),
            (&assistant, &foreign, "foreign"),
        ] {
            let response = client.exchange_with(code, &[("code_verifier", verifier)]).await;

            assert_eq!(response.status, 400, "{case}: {}", response.text);
            assert_eq!(response.body["error"], "invalid_request", "{case} {verifier}: {}", response.text);
            let description = response.body["error_description"].as_str().unwrap();
            assert!(description.starts_with("code_verifier must have 43"), "{case}: {description}");
        }
    }
    let code = assistant.obtain_code(&browser, "read:library").await;
    accounts::set_disabled(&server.context().core, user.id(), true).await.unwrap();

    let of_disabled = assistant.exchange_with(&code, &[("code_verifier", "")]).await;

    assert_oauth_error(&of_disabled, 400, "invalid_request");
}

#[actix_web::test]
async fn guess_without_verifier_counts_as_a_failure() {
    let server = Server::start().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    // The limit of failures per minute and IP address.
    for n in 0..20 {
        let response = assistant.exchange_with(&format!("cc_{n:043}"), &[("code_verifier", "")]).await;
        assert_oauth_error(&response, 400, "invalid_request");
    }

    let limited = assistant.exchange_with(&format!("cc_{:043}", 99), &[("code_verifier", "")]).await;

    assert_eq!((limited.status, limited.body["error"].as_str()), (429, Some("temporarily_unavailable")));
}

#[actix_web::test]
async fn failed_client_authentication_spends_no_code() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let metadata = json!({ "token_endpoint_auth_method": "client_secret_post" });
    let assistant = OAuthClient::register(server.anonymous(), metadata).await;
    let code = assistant.obtain_code(&browser, "read:library").await;
    let wrong = |secret: Option<&str>| OAuthClient { secret: secret.map(str::to_owned), ..assistant.clone() };

    assert_oauth_error(&wrong(Some("wrong")).exchange(&code).await, 401, "invalid_client");
    assert_oauth_error(&wrong(None).exchange(&code).await, 401, "invalid_client");

    Tokens::from_response(&assistant.exchange(&code).await);
}

#[actix_web::test]
async fn client_must_use_its_registered_authentication_method() {
    let server = Server::start().await;
    let anonymous = server.anonymous();
    let basic = OAuthClient::register(anonymous.clone(), json!({})).await;
    let secret = basic.secret.clone().unwrap();
    let header = |id: &str, secret: &str| {
        let value = format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")));
        anonymous.clone().with("authorization", &value)
    };
    let refresh = [("grant_type", "refresh_token"), ("refresh_token", "cr_nothing")];

    // RFC 6749, section 2.3.1: both parts are form-encoded before Base64, so any character may be escaped.
    let percent = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    let good = header(&percent(&basic.id), &percent(&secret)).post_form("/oauth/token", &refresh).await;
    assert_oauth_error(&good, 400, "invalid_grant");
    let posted = basic.request_token(&refresh).await;
    assert_oauth_error(&posted, 401, "invalid_client");
    assert!(!posted.headers.contains_key("www-authenticate"));
    let wrong = header(&basic.id, "wrong").post_form("/oauth/token", &refresh).await;
    assert_oauth_error(&wrong, 401, "invalid_client");
    assert!(wrong.header("www-authenticate").starts_with("Basic"));
    let both = header(&basic.id, &secret)
        .post_form("/oauth/token", &[refresh[0], refresh[1], ("client_secret", "x")])
        .await;
    assert_oauth_error(&both, 400, "invalid_request");
    let public = OAuthClient::new(anonymous.clone()).await;
    let with_secret = OAuthClient { secret: Some(secret), ..public };
    assert_oauth_error(&with_secret.request_token(&refresh).await, 401, "invalid_client");
    let unknown = OAuthClient { id: "unknown".to_owned(), secret: None, ..with_secret };
    assert_oauth_error(&unknown.request_token(&refresh).await, 401, "invalid_client");
}

#[actix_web::test]
async fn repeated_client_failures_get_429() {
    let server = Server::start().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let unknown = OAuthClient { id: "unknown".to_owned(), ..assistant.clone() };
    // The limit of failures per minute and IP address.
    for _ in 0..20 {
        assert_oauth_error(&unknown.refresh("cr_x").await, 401, "invalid_client");
    }

    let limited = unknown.refresh("cr_x").await;

    assert_eq!(limited.status, 429);
    assert!((1..=60).contains(&limited.header_number("retry-after")));
    assert_eq!(
        assistant.refresh("cr_x").await.status,
        429,
        "a guess from the same IP address is limited too"
    );
}

#[actix_web::test]
async fn token_guesses_get_429_and_valid_tokens_still_work() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let browser = user.sign_in().await;
    let tokens = assistant.connect(&browser, "read:library").await;
    let other = OAuthClient::new(server.anonymous()).await;
    let code = other.obtain_code(&browser, "read:library").await;
    for n in 0..10 {
        assert_oauth_error(&assistant.exchange(&format!("cc_{n:043}")).await, 400, "invalid_grant");
        assert_oauth_error(&assistant.refresh(&format!("cr_{n:043}")).await, 400, "invalid_grant");
    }

    let limited = assistant.refresh(&format!("cr_{:043}", 99)).await;

    assert_eq!((limited.status, limited.body["error"].as_str()), (429, Some("temporarily_unavailable")));
    assert!((1..=60).contains(&limited.header_number("retry-after")));
    assert_eq!(assistant.exchange(&format!("cc_{:043}", 99)).await.status, 429);
    let fresh = Tokens::from_response(&assistant.refresh(&tokens.refresh).await);
    // A token that was valid once does not count as a guess.
    assistant.post_as_client("/oauth/revoke", &[("token", &fresh.refresh)]).await;
    for _ in 0..25 {
        assert_oauth_error(&assistant.refresh(&fresh.refresh).await, 400, "invalid_grant");
    }
    let without_verifier =
        [("grant_type", "authorization_code"), ("code", "cc_x"), ("redirect_uri", REDIRECT_URI)];
    assert_eq!(assistant.request_token(&without_verifier).await.status, 429);
    assert_eq!(other.exchange(&code).await.status, 200);
}

#[actix_web::test]
async fn token_guess_takes_no_permit_of_clients() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let tokens = assistant.connect(&browser, "read:library").await;
    // A drained port has no permits.
    server.context().auth.grants.port().drain().await;

    assert_oauth_error(&assistant.exchange(&format!("cc_{:043}", 1)).await, 400, "invalid_grant");
    assert_oauth_error(&assistant.refresh(&format!("cr_{:043}", 1)).await, 400, "invalid_grant");

    assert_oauth_error(&assistant.refresh(&tokens.refresh).await, 503, "temporarily_unavailable");
}

#[actix_web::test]
async fn invalid_requests_get_rfc_error_codes() {
    let server = Server::start().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    for (fields, error) in [
        (&[][..], "invalid_request"),
        (&[("grant_type", "password"), ("username", "a")][..], "unsupported_grant_type"),
        (&[("grant_type", "client_credentials")][..], "unsupported_grant_type"),
        (&[("grant_type", "authorization_code")][..], "invalid_request"),
        (&[("grant_type", "refresh_token")][..], "invalid_request"),
        (&[("grant_type", "refresh_token"), ("grant_type", "refresh_token")][..], "invalid_request"),
        (
            &[("grant_type", "refresh_token"), ("refresh_token", "a"), ("refresh_token", "a")][..],
            "invalid_request",
        ),
        (
            &[("grant_type", "refresh_token"), ("refresh_token", "a"), ("scope", "x"), ("scope", "x")][..],
            "invalid_request",
        ),
        (
            &[("grant_type", "refresh_token"), ("refresh_token", "a"), ("client_id", "b")][..],
            "invalid_request",
        ),
        (
            &[
                ("grant_type", "authorization_code"),
                ("code", "cc_x"),
                ("code", "cc_x"),
                ("code_verifier", CODE_VERIFIER),
            ][..],
            "invalid_request",
        ),
        (
            &[
                ("grant_type", "authorization_code"),
                ("code", "cc_x"),
                ("code_verifier", CODE_VERIFIER),
                ("code_verifier", CODE_VERIFIER),
            ][..],
            "invalid_request",
        ),
        (
            &[
                ("grant_type", "authorization_code"),
                ("code", "cc_x"),
                ("redirect_uri", "https://a/"),
                ("redirect_uri", "https://a/"),
                ("code_verifier", CODE_VERIFIER),
            ][..],
            "invalid_request",
        ),
        (
            &[("grant_type", "authorization_code"), ("code", "cc_x"), ("code_verifier", CODE_VERIFIER)][..],
            "invalid_grant",
        ),
        (
            &[("grant_type", "refresh_token"), ("refresh_token", "x"), ("resource", "https://o.example/")][..],
            "invalid_target",
        ),
    ] {
        assert_oauth_error(&assistant.request_token(fields).await, 400, error);
    }
    let anonymous = server.anonymous();
    assert_oauth_error(
        &anonymous.post("/oauth/token", json!({ "grant_type": "refresh_token" })).await,
        400,
        "invalid_request",
    );
    let in_address =
        format!("/oauth/token?grant_type=refresh_token&refresh_token=x&client_id={}", assistant.id);
    assert_oauth_error(&anonymous.post_form(&in_address, &[]).await, 400, "invalid_request");
    let got = anonymous.get("/oauth/token").await;
    assert_eq!((got.status, got.header("allow")), (405, "POST, OPTIONS"));
    assert_eq!(anonymous.post_form("/oauth/token", &[("x", &"y".repeat(40_000))]).await.status, 413);
}

#[actix_web::test]
async fn exchange_grants_only_the_consented_scope() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let code = assistant.obtain_code(&browser, "read:library").await;

    let response = assistant.exchange_with(&code, &[("scope", "read:library write:notes")]).await;

    assert_eq!(Tokens::from_response(&response).scope, "read:library");
    assert_eq!(response.header("content-type"), "application/json");
}

#[actix_web::test]
async fn exchange_after_downgrade_is_limited_to_the_plan() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (browser, assistant) = (user.sign_in().await, OAuthClient::new(server.anonymous()).await);
    let code = assistant.obtain_code(&browser, "read:library write:notes").await;
    accounts::set_plan(&server.context().core, user.id(), Plan::Free).await.unwrap();
    // The rows were changed behind the running server, whose cache would hold the old plan for up to a second.
    server.context().auth.keys.invalidate_cache();

    let tokens = Tokens::from_response(&assistant.exchange(&code).await);

    let listed = assistant.list_tools(&tokens.access).await.text;
    assert!(listed.contains("search_library") && !listed.contains("create_note"), "{listed}");
}

/// Covers the threat table (row O3).
#[actix_web::test]
async fn code_expires_after_sixty_seconds() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let (late, early) =
        (assistant.obtain_code(&browser, "read:library").await, OAuthClient::new(server.anonymous()).await);
    let in_time = early.obtain_code(&browser, "read:library").await;

    server.clock.advance(Duration::from_millis(59_999));
    Tokens::from_response(&early.exchange(&in_time).await);
    server.clock.advance(Duration::from_millis(1));

    assert_oauth_error(&assistant.exchange(&late).await, 400, "invalid_grant");
}

#[actix_web::test]
async fn code_of_disabled_or_disconnected_user_is_refused() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (browser, assistant) = (user.sign_in().await, OAuthClient::new(server.anonymous()).await);
    assistant.connect(&browser, "read:library").await;
    let code = assistant.obtain_code(&browser, "read:library").await;
    let apps = browser.get("/app/api/connected-apps").await.data(200)["apps"].clone();
    browser.delete(&format!("/app/api/connected-apps/{}", apps[0]["id"].as_str().unwrap())).await.data(200);
    assert_oauth_error(&assistant.exchange(&code).await, 400, "invalid_grant");

    let code = assistant.obtain_code(&browser, "read:library").await;
    accounts::set_disabled(&server.context().core, user.id(), true).await.unwrap();
    assert_oauth_error(&assistant.exchange(&code).await, 400, "invalid_grant");
    accounts::set_disabled(&server.context().core, user.id(), false).await.unwrap();

    assert_oauth_error(&assistant.exchange(&code).await, 400, "invalid_grant");
}

#[actix_web::test]
async fn each_connection_makes_one_notice_and_a_refusal_none() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    assistant.decide(&browser, "read:library", &[]).await;
    // A consent alone does not connect the app: the notice follows the exchange of the code.
    let unused = assistant.obtain_code(&browser, "read:library").await;
    let notices = async || browser.get("/app/api/notices").await.data(200)["notices"].clone();
    assert_eq!(notices().await, Value::Array(Vec::new()));
    drop(unused);

    let tokens = assistant.connect(&browser, "read:library").await;
    assistant.refresh(&tokens.refresh).await;
    assert_eq!(notices().await.as_array().unwrap().len(), 1);
    assistant.connect(&browser, "read:library").await;

    let all_notices = notices().await;
    assert_eq!(all_notices.as_array().unwrap().len(), 2);
    assert_eq!(
        (&all_notices[0]["kind"], &all_notices[0]["client"]),
        (&json!("app_connected"), &json!("Heron"))
    );
}
