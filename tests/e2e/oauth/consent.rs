//! The consent page and the user's decision.

use serde_json::json;
use values::plan::Plan;

use crate::support::{OAuthClient, REDIRECT_URI, Server, Tokens, read_ticket, redirect_params};

const ALL_SCOPES: &str = "read:library read:projects write:projects write:bookmarks write:notes";

/// Covers the threat table (rows C3, O6).
#[actix_web::test]
async fn consent_page_names_the_app_and_has_security_headers() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let browser = user.sign_in().await;
    let name = json!({ "client_name": "<img src=x onerror=alert(1)> \u{202e}Claude" });
    let assistant = OAuthClient::register(server.anonymous(), name).await;

    let page = browser.get(&assistant.authorization_url(&[("scope", "read:library write:notes")])).await;

    assert!(!page.text.contains("<img") && !page.text.contains('\u{202e}') && !page.text.contains("<script"));
    for shown in
        ["Claude", "127.0.0.1:43117", "program on your own", "Carrel has not verified it", user.email()]
    {
        assert!(page.text.contains(shown), "{shown}");
    }
    assert_eq!(page.text.matches("type=\"checkbox\"").count(), 2);
    assert_eq!(page.text.matches(" checked>").count(), 2);
    let policy = page.header("content-security-policy");
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
    // Browsers apply form-action to the redirect after the form too, which leads to the app.
    assert!(!policy.contains("form-action"));
    assert_eq!((page.header("x-frame-options"), page.header("referrer-policy")), ("DENY", "no-referrer"));
    assert_eq!(
        (page.header("cache-control"), page.header("x-content-type-options")),
        ("no-store", "nosniff")
    );
    let style = page.text.split("href=\"/assets/tokens.").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(server.anonymous().get(&format!("/assets/tokens.{style}")).await.status, 200);
}

/// Covers the threat table (row C4).
#[actix_web::test]
async fn granted_scopes_are_ticked_requested_and_in_the_plan() {
    let server = Server::start().await;
    let (pro, free) =
        (server.user(Plan::Pro).await.sign_in().await, server.user(Plan::Free).await.sign_in().await);
    let assistant = OAuthClient::new(server.anonymous()).await;
    for (browser, requested, ticked, granted) in [
        (&pro, ALL_SCOPES, &["write:notes", "read:library"][..], "read:library write:notes"),
        (&pro, "read:library", &["read:library", "write:notes", "ask:library", "mcp"], "read:library"),
        (&pro, "", &["read:library"], "read:library"),
        (&pro, " read:projects  offline_access nonsense ", &["read:projects"], "read:projects"),
        (&free, ALL_SCOPES, &["read:library", "write:notes", "read:projects"], "read:library read:projects"),
        (&free, "write:notes", &["write:notes", "read:library"], "read:library"),
    ] {
        let redirect = redirect_params(&assistant.decide(browser, requested, ticked).await);
        let tokens = Tokens::from_response(&assistant.exchange(redirect["code"].as_str().unwrap()).await);
        assert_eq!(tokens.scope, granted, "{requested}");
    }
    let page = free.get(&assistant.authorization_url(&[("scope", ALL_SCOPES)])).await;
    assert!(!page.text.contains("write:"), "scopes outside the plan are not offered");
}

#[actix_web::test]
async fn empty_or_denied_consent_returns_access_denied() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let nothing = redirect_params(&assistant.decide(&browser, ALL_SCOPES, &[]).await);
    let ticket = read_ticket(&browser.get(&assistant.authorization_url(&[])).await);
    let fields = [("ticket", ticket.as_str()), ("decision", "deny"), ("scope", "read:library")];

    let denied = redirect_params(&browser.post_form("/oauth/consent", &fields).await);

    for redirect in [nothing, denied] {
        assert_eq!((&redirect["error"], &redirect["state"]), (&json!("access_denied"), &json!("xyz")));
        assert!(redirect.get("code").is_none() && redirect["iss"].is_string());
    }
}

/// Covers the threat table (row C1).
#[actix_web::test]
async fn consent_is_accepted_once_from_its_own_browser_and_page() {
    let server = Server::start().await;
    let (user, other_user) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await.sign_in().await);
    let (browser, other) = (user.sign_in().await, user.sign_in().await);
    let assistant = OAuthClient::new(server.anonymous()).await;
    let ticket = read_ticket(&browser.get(&assistant.authorization_url(&[])).await);
    let click = [("ticket", ticket.as_str()), ("decision", "allow"), ("scope", "read:library")];
    for (sender, fields) in [
        (&other_user, &click[..]),
        (&other, &click[..]),
        (&server.anonymous(), &click[..]),
        (&browser, &click[1..]),
        (&browser, &[("ticket", "ct_0000000000000000000000000000000000000000000"), click[1], click[2]]),
        (&browser.clone().with("origin", "https://evil.example"), &click[..]),
        (&browser.clone().with("sec-fetch-site", "cross-site"), &click[..]),
        (&browser.clone().with("origin", "null"), &click[..]),
    ] {
        let refused = sender.post_form("/oauth/consent", fields).await;
        assert_eq!((refused.status, refused.header("location")), (403, ""));
    }
    assert!(redirect_params(&browser.post_form("/oauth/consent", &click).await)["code"].is_string());

    assert_eq!(browser.post_form("/oauth/consent", &click).await.status, 403);
}

/// Covers the threat table (row C5).
#[actix_web::test]
async fn earlier_grant_does_not_skip_the_consent_page() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    assistant.connect(&browser, "read:library").await;
    for change in [("prompt", "none"), ("approve", "1"), ("decision", "allow"), ("scope", "read:library")] {
        let page = browser.get(&assistant.authorization_url(&[change])).await;
        assert_eq!((page.status, page.header("location")), (200, ""), "{change:?}");
    }
    let get = browser.get("/oauth/consent?decision=allow&scope=read:library").await;
    assert_eq!((get.status, get.header("location")), (405, ""));
}

#[actix_web::test]
async fn consent_page_expires_after_ten_minutes() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let ticket = read_ticket(&browser.get(&assistant.authorization_url(&[])).await);

    server.clock.advance(std::time::Duration::from_secs(600));

    let late = [("ticket", ticket.as_str()), ("decision", "allow"), ("scope", "read:library")];
    assert_eq!(browser.post_form("/oauth/consent", &late).await.status, 403);
    let other = browser.get(&assistant.authorization_url(&[("prompt", "login")])).await;
    assert!(other.text.contains("type=\"password\""));
}

#[actix_web::test]
async fn redirect_keeps_the_query_of_the_redirect_uri() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let uri = "https://client.example/cb?tenant=a%20b";
    let assistant =
        OAuthClient::register(server.anonymous(), json!({ "redirect_uris": [uri, REDIRECT_URI] })).await;
    let page = browser.get(&assistant.authorization_url(&[("redirect_uri", uri)])).await;
    let ticket = read_ticket(&page);
    assert!(page.text.contains("client.example") && !page.text.contains("your own"));

    let click = [("ticket", ticket.as_str()), ("decision", "allow"), ("scope", "read:library")];
    let answer = browser.post_form("/oauth/consent", &click).await;

    assert_eq!(answer.status, 303);
    assert!(
        answer.header("location").starts_with(&format!("{uri}&code=cc_")),
        "{}",
        answer.header("location")
    );
}

#[actix_web::test]
async fn oauth_pages_send_no_referrer_and_show_no_code() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let code = assistant.obtain_code(&browser, "read:library").await;
    let shown = read_ticket(&browser.get(&assistant.authorization_url(&[])).await);
    let click = [("ticket", shown.as_str()), ("decision", "allow"), ("scope", "read:library")];
    for page in [
        server.anonymous().get(&assistant.authorization_url(&[])).await,
        browser.get(&assistant.authorization_url(&[])).await,
        browser.get(&assistant.authorization_url(&[("client_id", "unknown")])).await,
        browser.post_form("/oauth/consent", &click).await,
        browser.post_form("/oauth/consent", &click).await,
    ] {
        assert_eq!(
            (page.header("referrer-policy"), page.header("cache-control")),
            ("no-referrer", "no-store")
        );
        let policy = "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'";
        assert_eq!(page.header("content-security-policy"), policy, "{}", page.status);
        assert_eq!(
            (page.header("x-frame-options"), page.header("x-content-type-options")),
            ("DENY", "nosniff")
        );
        assert!(!page.text.contains(&code), "{}", page.status);
    }
}

#[actix_web::test]
async fn browser_keeps_the_newest_twenty_consent_pages() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let mut tickets = Vec::new();
    // Two more than are kept. The clock moves because the oldest pages are dropped by their time.
    for _ in 0..22 {
        tickets.push(read_ticket(&browser.get(&assistant.authorization_url(&[])).await));
        server.clock.advance(std::time::Duration::from_secs(1));
    }
    let click = async |ticket: &String| {
        let fields = [("ticket", ticket.as_str()), ("decision", "allow"), ("scope", "read:library")];
        browser.post_form("/oauth/consent", &fields).await.status
    };

    assert_eq!(
        (click(&tickets[1]).await, click(&tickets[2]).await, click(&tickets[21]).await),
        (403, 303, 303)
    );
}
