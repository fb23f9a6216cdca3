//! The authorization request.

use std::time::Duration;

use serde_json::Value;
use values::plan::Plan;

use crate::support::{OAuthClient, PASSWORD, REDIRECT_URI, Server, Tokens, read_ticket, redirect_params};

/// Covers the threat table (row O1).
#[actix_web::test]
async fn unregistered_redirect_uri_is_never_redirected_to() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let other = OAuthClient::new(server.anonymous()).await;
    let mut urls: Vec<String> = [
        ("client_id", "unknown"),
        ("client_id", "01890000-0000-7000-8000-000000000000"),
        ("client_id", ""),
        ("redirect_uri", ""),
        ("redirect_uri", "https://evil.example/cb"),
        ("redirect_uri", "http://127.0.0.1:43117/callback/"),
        ("redirect_uri", "http://127.0.0.1:43117/callback?x"),
        ("redirect_uri", "http://127.0.0.1:43117/Callback"),
        ("redirect_uri", "http://127.0.0.1:43118/callback"),
        ("redirect_uri", "http://127.0.0.1:43117/x/../callback"),
        ("redirect_uri", "http://127.0.0.1:43117/%63allback"),
    ]
    .map(|change| assistant.authorization_url(&[change]))
    .into();
    urls.push(format!("{}&client_id={}", assistant.authorization_url(&[]), other.id));
    urls.push(format!("{}&redirect_uri=https://evil.example/", assistant.authorization_url(&[])));
    for url in urls {
        for client in [&browser, &server.anonymous()] {
            let page = client.get(&url).await;
            assert_eq!((page.status, page.header("location")), (400, ""), "{url}");
            assert!(page.header("content-type").starts_with("text/html"));
        }
    }
}

#[actix_web::test]
async fn invalid_client_or_redirect_uri_is_explained_on_a_page() {
    let server = Server::start().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let page = async |change| server.anonymous().get(&assistant.authorization_url(&[change])).await.text;

    let wrong = page(("redirect_uri", "https://evil.example/<cb>")).await;
    assert!(wrong.contains("https://evil.example/&#60;cb&#62;"), "{wrong}");
    let unknown = page(("client_id", "unknown")).await;
    assert!(unknown.contains("Remove the connection in the app, then add it again"), "{unknown}");
}

#[actix_web::test]
async fn oversized_parameters_are_not_stored() {
    let server = Server::start().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let long = "x".repeat(20_000);
    for (changes, status) in [
        (vec![("login_hint", long.as_str())], 200),
        (vec![("resource", long.as_str())], 303),
        (vec![("scope", long.as_str()), ("state", "\0")], 303),
        (vec![("client_id", "\0")], 400),
    ] {
        let page = server.anonymous().get(&assistant.authorization_url(&changes)).await;
        assert_eq!(page.status, status, "{changes:?}");
    }
    let with_prompt = format!("{}&prompt=login%20consent", assistant.authorization_url(&[]));
    let browser = server.user(Plan::Pro).await.sign_in().await;
    assert!(
        browser.get(&with_prompt).await.text.contains("type=\"password\""),
        "prompt=login shows the sign-in form to a signed-in user"
    );
}

/// Covers the threat table (row O5).
#[actix_web::test]
async fn error_redirect_has_state_and_issuer() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let faults: [(&str, &str, &str); 21] = [
        ("state", "", "invalid_request"),
        ("response_type", "", "invalid_request"),
        ("response_type", "token", "unsupported_response_type"),
        ("response_type", "code token", "unsupported_response_type"),
        ("code_challenge", "", "invalid_request"),
        ("code_challenge", "short", "invalid_request"),
        ("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM", "invalid_request"),
        ("code_challenge_method", "", "invalid_request"),
        ("code_challenge_method", "plain", "invalid_request"),
        ("code_challenge_method", "s256", "invalid_request"),
        ("response_mode", "fragment", "invalid_request"),
        ("response_mode", "form_post", "invalid_request"),
        ("resource", "https://other.example/mcp", "invalid_target"),
        ("resource", "/mcp", "invalid_target"),
        ("resource", "http://127.0.0.1:9/mcp#part", "invalid_target"),
        ("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cMa", "invalid_request"),
        ("scope", "mcp", "invalid_scope"),
        ("scope", "ask:library", "invalid_scope"),
        ("scope", "mcp write:uploads", "invalid_scope"),
        ("request", "eyJ", "request_not_supported"),
        ("request_uri", "http://10.0.0.1/", "request_uri_not_supported"),
    ];
    let metadata = server.anonymous().get("/.well-known/oauth-authorization-server").await;
    let assert_redirect_error = async |address: &str, state: Option<&str>, error: &str| {
        let redirect = redirect_params(&browser.get(address).await);
        assert_eq!(redirect["error"], error, "{address}");
        assert_eq!(redirect.get("state").and_then(Value::as_str), state, "{address}");
        assert_eq!(redirect["iss"], metadata.body["issuer"]);
        assert!(redirect.get("code").is_none());
    };
    for (name, value, error) in faults {
        let state = (name != "state").then_some("xyz");
        assert_redirect_error(&assistant.authorization_url(&[(name, value)]), state, error).await;
    }
    let whole = assistant.authorization_url(&[]);
    assert_redirect_error(&whole.replace("state=xyz", "state="), None, "invalid_request").await;
    for again in ["scope=read:library", "response_type=code", "code_challenge_method=S256"] {
        assert_redirect_error(&format!("{whole}&{again}"), Some("xyz"), "invalid_request").await;
    }
    assert_redirect_error(&format!("{whole}&state=abc"), None, "invalid_request").await;
    let page = browser.get(&format!("{whole}&registration=%7B%7D")).await;
    assert_eq!(page.status, 200, "unknown parameters are ignored");
}

#[actix_web::test]
async fn resource_is_accepted_in_common_spellings() {
    let server = Server::start_with(&[("SERVER__BASE_URL", "http://127.0.0.1:9")]).await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    for resource in
        ["http://127.0.0.1:9/mcp", "http://127.0.0.1:9/mcp/", "http://127.0.0.1:9", "HTTP://127.0.0.1:9/mcp"]
    {
        let page = server.anonymous().get(&assistant.authorization_url(&[("resource", resource)])).await;
        assert_eq!(page.status, 200, "{resource}");
    }
    let browser = server.user(Plan::Pro).await.sign_in().await;
    for resource in ["http://127.0.0.1:9/mcp/", "http://127.0.0.1:9/", "HTTP://127.0.0.1:9/mcp"] {
        let ticket = read_ticket(&browser.get(&assistant.authorization_url(&[("resource", resource)])).await);
        let click = [("ticket", ticket.as_str()), ("decision", "allow"), ("scope", "read:library")];
        let redirect = redirect_params(&browser.post_form("/oauth/consent", &click).await);
        let code = redirect["code"].as_str().unwrap();
        let tokens = Tokens::from_response(&assistant.exchange_with(code, &[("resource", resource)]).await);
        assert_eq!(assistant.call_status(&tokens.access).await, 200, "{resource}");
        let again = [
            ("grant_type", "refresh_token"),
            ("refresh_token", tokens.refresh.as_str()),
            ("resource", resource),
        ];
        Tokens::from_response(&assistant.request_token(&again).await);
    }
    let twice = format!(
        "{}&resource=https://other.example/",
        assistant.authorization_url(&[("resource", "http://127.0.0.1:9/mcp")])
    );
    assert_eq!(redirect_params(&server.anonymous().get(&twice).await)["error"], "invalid_target");
}

#[actix_web::test]
async fn sign_in_continues_the_same_request() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let address = assistant.authorization_url(&[("scope", "read:library write:notes"), ("state", "a&b=c d")]);
    let page = server.anonymous().get(&address).await;
    assert!(page.text.contains("type=\"password\"") && page.text.contains("Heron"));
    assert!(page.text.contains("127.0.0.1:43117") && page.text.contains("Write notes"));
    assert!(!page.text.contains("a%26b") && !page.text.contains("code_challenge"), "{}", page.text);

    let ticket = read_ticket(&page);
    let fields = [("ticket", ticket.as_str()), ("email", user.email()), ("password", PASSWORD)];
    let signed_in = server.anonymous().post_form("/oauth/sign-in", &fields).await;

    assert_eq!(signed_in.status, 303, "{}", signed_in.text);
    assert_eq!(server.anonymous().post_form("/oauth/sign-in", &fields).await.status, 403, "a page twice");
    let cookie = signed_in.header("set-cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
    let (_, path) = signed_in.header("location").split_once("/oauth/").unwrap();
    let browser = server.anonymous().with("cookie", cookie.split(';').next().unwrap());
    let page = browser.get(&format!("/oauth/{path}")).await;
    let ticket = read_ticket(&page);
    let allowed = [("ticket", ticket.as_str()), ("decision", "allow"), ("scope", "write:notes")];
    assert_eq!(redirect_params(&browser.post_form("/oauth/consent", &allowed).await)["state"], "a&b=c d");
}

/// Covers the threat table (row C2).
#[actix_web::test]
async fn sign_in_sets_a_new_secure_session_cookie() {
    let server = Server::start_with(&[("SERVER__BASE_URL", "https://carrel.example")]).await;
    let user = server.user(Plan::Pro).await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let ticket = read_ticket(&server.anonymous().get(&assistant.authorization_url(&[])).await);
    let fields = [("ticket", ticket.as_str()), ("email", user.email()), ("password", PASSWORD)];
    // A cookie that an attacker has set before the sign-in must not become the session.
    let planted = "__Host-carrel_session=cs_0000000000000000000000000000000000000000000";

    let signed_in = server.anonymous().with("cookie", planted).post_form("/oauth/sign-in", &fields).await;

    let cookie = signed_in.header("set-cookie");
    assert!(
        cookie.contains("Secure") && cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"),
        "{cookie}"
    );
    assert!(cookie.starts_with("__Host-carrel_session=") && cookie.contains("Path=/;"), "{cookie}");
    assert!(!cookie.contains(planted) && !cookie.contains("Domain"), "{cookie}");
    assert_eq!((signed_in.status, signed_in.header("cache-control")), (303, "no-store"));
    assert_eq!(signed_in.header("referrer-policy"), "no-referrer");
    assert_eq!(server.anonymous().with("cookie", planted).get("/app/api/session").await.status, 401);
    let own = cookie.split(';').next().unwrap();
    for (name, status) in [(own, 200), (own.trim_start_matches("__Host-"), 401)] {
        assert_eq!(server.anonymous().with("cookie", name).get("/app/api/session").await.status, status);
    }
}

/// Covers the threat table (row O8).
#[actix_web::test]
async fn sign_in_redirects_to_the_own_page_only() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let ticket = read_ticket(&server.anonymous().get(&assistant.authorization_url(&[])).await);
    let unknown = format!("ci_{}", "0".repeat(43));
    for sent in ["", "https://evil.example/", &unknown, &ticket.replacen("ci_", "ct_", 1)] {
        let fields = [("ticket", sent), ("email", user.email()), ("password", PASSWORD)];
        let response = server.anonymous().post_form("/oauth/sign-in", &fields).await;
        assert_eq!(
            (response.status, response.header("location"), response.header("set-cookie")),
            (403, "", ""),
            "{sent}"
        );
    }
    // Other fields of the form have no effect on the redirect.
    let fields = [
        ("ticket", ticket.as_str()),
        ("request", "redirect_uri=https%3A%2F%2Fevil.example%2F"),
        ("redirect_uri", "https://evil.example/"),
        ("email", user.email()),
        ("password", PASSWORD),
    ];
    let response = server.anonymous().post_form("/oauth/sign-in", &fields).await;
    let location = response.header("location");
    assert_eq!(response.status, 303, "{}", response.text);
    assert!(location.contains("/oauth/authorize?") && !location.contains("evil"), "{location}");
}

#[actix_web::test]
async fn sign_in_ticket_lasts_half_an_hour_and_survives_a_restart() {
    let server = Server::start().await;
    let email = server.user(Plan::Pro).await.email().to_owned();
    let assistant = OAuthClient::new(server.anonymous()).await;
    let page = async || read_ticket(&server.anonymous().get(&assistant.authorization_url(&[])).await);
    let early = page().await;
    server.clock.advance(Duration::from_secs(29 * 60));
    let late = page().await;
    server.clock.advance(Duration::from_secs(60));

    let (home, clock) = server.stop().await;
    let server = Server::start_in(home, clock, &[]).await;

    let sign_in = async |ticket: &str| {
        let fields = [("ticket", ticket), ("email", email.as_str()), ("password", PASSWORD)];
        server.anonymous().post_form("/oauth/sign-in", &fields).await.status
    };
    assert_eq!((sign_in(&early).await, sign_in(&late).await), (403, 303));
}

/// Covers the threat table (row A7).
#[actix_web::test]
async fn wrong_password_is_shown_and_sixth_attempt_gets_429() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let ticket = read_ticket(&server.anonymous().get(&assistant.authorization_url(&[])).await);
    let wrong = [("ticket", ticket.as_str()), ("email", user.email()), ("password", "not it at all")];
    for _ in 0..5 {
        let page = server.anonymous().post_form("/oauth/sign-in", &wrong).await;
        assert_eq!(page.status, 401);
        assert!(page.text.contains("role=\"alert\"") && !page.text.contains("not it at all"));
        assert!(page.text.contains("Wrong e-mail address or password; check both"), "{}", page.text);
        assert!(page.text.contains(&ticket), "the page continues the same request");
    }

    let right = [("ticket", ticket.as_str()), ("email", user.email()), ("password", PASSWORD)];
    let refused = server.anonymous().post_form("/oauth/sign-in", &right).await;

    assert_eq!((refused.status, refused.header("set-cookie")), (429, ""));
    let wait = refused.header_number("retry-after");
    assert!(wait > 0 && refused.text.contains(&format!("try again in {wait} seconds.")), "{}", refused.text);
}

/// Covers the threat table (row C1).
#[actix_web::test]
async fn sign_in_from_another_site_is_refused() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let ticket = read_ticket(&server.anonymous().get(&assistant.authorization_url(&[])).await);
    let fields = [("ticket", ticket.as_str()), ("email", user.email()), ("password", PASSWORD)];
    for (name, value) in
        [("origin", "https://evil.example"), ("origin", "null"), ("sec-fetch-site", "cross-site")]
    {
        let response = server.anonymous().with(name, value).post_form("/oauth/sign-in", &fields).await;
        assert_eq!((response.status, response.header("set-cookie")), (403, ""), "{name}: {value}");
    }
    // Without a referrer, browsers send `Origin: null` for the own origin too, together with `Sec-Fetch-Site`.
    let own_page = server.anonymous().with("origin", "null").with("sec-fetch-site", "same-origin");
    assert_eq!(own_page.post_form("/oauth/sign-in", &fields).await.status, 303);
}

#[actix_web::test]
async fn loopback_port_may_differ_when_allowed() {
    let server = Server::start_with(&[
        ("OAUTH__ANY_LOOPBACK_PORT", "true"),
        ("OAUTH__PRIVATE_REDIRECT_URIS", "cursor://cb"),
    ])
    .await;
    let uris = serde_json::json!({ "redirect_uris": ["http://127.0.0.1/callback", "cursor://cb"] });
    let assistant = OAuthClient::register(server.anonymous(), uris).await;

    assert_eq!(
        server.anonymous().get(&assistant.authorization_url(&[("redirect_uri", REDIRECT_URI)])).await.status,
        200
    );
    assert_eq!(
        server.anonymous().get(&assistant.authorization_url(&[("redirect_uri", "cursor://cb")])).await.status,
        200
    );
    let evil = [("redirect_uri", "http://127.0.0.1:1@evil.example/callback")];
    assert_eq!(server.anonymous().get(&assistant.authorization_url(&evil)).await.status, 400);
}
