//! The consent page and what the person decides (assertions 38 to 46).

use entity::plan::Plan;
use serde_json::json;

use crate::support::{Assistant, REDIRECT, Server, Tokens, sent_back, ticket};

const ALL: &str = "read:library read:projects write:projects write:bookmarks write:notes";

/// Of the threat table (rows C3, O6).
#[actix_web::test]
async fn consent_page_names_the_app_and_has_security_headers() {
    let server = Server::start().await;
    let person = server.user(Plan::Pro).await;
    let browser = person.sign_in().await;
    let name = json!({ "client_name": "<img src=x onerror=alert(1)> \u{202e}Claude" });
    let assistant = Assistant::registered(server.stranger(), name).await;

    let page = browser.get(&assistant.address(&[("scope", "read:library write:notes")])).await;

    assert!(!page.text.contains("<img") && !page.text.contains('\u{202e}') && !page.text.contains("<script"));
    for shown in
        ["Claude", "127.0.0.1:43117", "program on your own", "nobody has verified it", person.email()]
    {
        assert!(page.text.contains(shown), "{shown}");
    }
    assert_eq!(page.text.matches("type=\"checkbox\"").count(), 2);
    assert_eq!(page.text.matches(" checked>").count(), 2);
    let policy = page.said("content-security-policy");
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
    assert!(!policy.contains("form-action"));
    assert_eq!((page.said("x-frame-options"), page.said("referrer-policy")), ("DENY", "no-referrer"));
    assert_eq!((page.said("cache-control"), page.said("x-content-type-options")), ("no-store", "nosniff"));
    assert_eq!(server.stranger().get("/oauth/style.css").await.status, 200);
}

/// Of the threat table (row C4).
#[actix_web::test]
async fn granted_scopes_are_ticked_requested_and_in_the_plan() {
    let server = Server::start().await;
    let (pro, free) =
        (server.user(Plan::Pro).await.sign_in().await, server.user(Plan::Free).await.sign_in().await);
    let assistant = Assistant::new(server.stranger()).await;
    for (browser, asked, ticked, granted) in [
        (&pro, ALL, &["write:notes", "read:library"][..], "read:library write:notes"),
        (&pro, "read:library", &["read:library", "write:notes", "ask:library", "mcp"], "read:library"),
        (&pro, "", &["read:library"], "read:library"),
        (&pro, " read:projects  offline_access nonsense ", &["read:projects"], "read:projects"),
        (&free, ALL, &["read:library", "write:notes", "read:projects"], "read:library read:projects"),
        (&free, "write:notes", &["write:notes", "read:library"], "read:library"),
    ] {
        let back = sent_back(&assistant.decide(browser, asked, ticked).await);
        let tokens = Tokens::of(&assistant.exchange(back["code"].as_str().unwrap()).await);
        assert_eq!(tokens.scope, granted, "{asked}");
    }
    let page = free.get(&assistant.address(&[("scope", ALL)])).await;
    assert!(!page.text.contains("write:"), "a plan is offered what it has");
}

#[actix_web::test]
async fn empty_or_denied_consent_returns_access_denied() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = Assistant::new(server.stranger()).await;
    let nothing = sent_back(&assistant.decide(&browser, ALL, &[]).await);
    let ticket = ticket(&browser.get(&assistant.address(&[])).await);
    let fields = [("ticket", ticket.as_str()), ("decision", "deny"), ("scope", "read:library")];

    let denied = sent_back(&browser.form("/oauth/consent", &fields).await);

    for back in [nothing, denied] {
        assert_eq!((&back["error"], &back["state"]), (&json!("access_denied"), &json!("xyz")));
        assert!(back.get("code").is_none() && back["iss"].is_string());
    }
}

/// Of the threat table (row C1).
#[actix_web::test]
async fn consent_is_accepted_once_from_its_own_browser_and_page() {
    let server = Server::start().await;
    let (person, stranger) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await.sign_in().await);
    let (browser, other) = (person.sign_in().await, person.sign_in().await);
    let assistant = Assistant::new(server.stranger()).await;
    let ticket = ticket(&browser.get(&assistant.address(&[])).await);
    let click = [("ticket", ticket.as_str()), ("decision", "allow"), ("scope", "read:library")];
    for (who, fields) in [
        (&stranger, &click[..]),
        (&other, &click[..]),
        (&server.stranger(), &click[..]),
        (&browser, &click[1..]),
        (&browser, &[("ticket", "ct_0000000000000000000000000000000000000000000"), click[1], click[2]]),
        (&browser.clone().with("origin", "https://evil.example"), &click[..]),
        (&browser.clone().with("sec-fetch-site", "cross-site"), &click[..]),
        (&browser.clone().with("origin", "null"), &click[..]),
    ] {
        let refused = who.form("/oauth/consent", fields).await;
        assert_eq!((refused.status, refused.said("location")), (403, ""));
    }
    assert!(sent_back(&browser.form("/oauth/consent", &click).await)["code"].is_string());

    assert_eq!(browser.form("/oauth/consent", &click).await.status, 403);
}

/// Of the threat table (row C5).
#[actix_web::test]
async fn earlier_grant_does_not_skip_the_consent_page() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = Assistant::new(server.stranger()).await;
    assistant.connect(&browser, "read:library").await;
    for change in [("prompt", "none"), ("approve", "1"), ("decision", "allow"), ("scope", "read:library")] {
        let page = browser.get(&assistant.address(&[change])).await;
        assert_eq!((page.status, page.said("location")), (200, ""), "{change:?}");
    }
    let get = browser.get("/oauth/consent?decision=allow&scope=read:library").await;
    assert_eq!((get.status, get.said("location")), (405, ""));
}

#[actix_web::test]
async fn consent_page_expires_after_ten_minutes() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = Assistant::new(server.stranger()).await;
    let ticket = ticket(&browser.get(&assistant.address(&[])).await);

    server.clock.advance(std::time::Duration::from_secs(600));

    let late = [("ticket", ticket.as_str()), ("decision", "allow"), ("scope", "read:library")];
    assert_eq!(browser.form("/oauth/consent", &late).await.status, 403);
    let other = browser.get(&assistant.address(&[("prompt", "login")])).await;
    assert!(other.text.contains("type=\"password\""));
}

#[actix_web::test]
async fn redirect_keeps_the_query_of_the_redirect_uri() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let uri = "https://client.example/cb?tenant=a%20b";
    let assistant =
        Assistant::registered(server.stranger(), json!({ "redirect_uris": [uri, REDIRECT] })).await;
    let page = browser.get(&assistant.address(&[("redirect_uri", uri)])).await;
    let ticket = ticket(&page);
    assert!(page.text.contains("client.example") && !page.text.contains("your own"));

    let click = [("ticket", ticket.as_str()), ("decision", "allow"), ("scope", "read:library")];
    let answer = browser.form("/oauth/consent", &click).await;

    assert_eq!(answer.status, 303);
    assert!(answer.said("location").starts_with(&format!("{uri}&code=cc_")), "{}", answer.said("location"));
}

#[actix_web::test]
async fn oauth_pages_send_no_referrer_and_show_no_code() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = Assistant::new(server.stranger()).await;
    let code = assistant.code(&browser, "read:library").await;
    let shown = ticket(&browser.get(&assistant.address(&[])).await);
    let click = [("ticket", shown.as_str()), ("decision", "allow"), ("scope", "read:library")];
    for page in [
        server.stranger().get(&assistant.address(&[])).await,
        browser.get(&assistant.address(&[])).await,
        browser.get(&assistant.address(&[("client_id", "unknown")])).await,
        browser.form("/oauth/consent", &click).await,
        browser.form("/oauth/consent", &click).await,
    ] {
        assert_eq!((page.said("referrer-policy"), page.said("cache-control")), ("no-referrer", "no-store"));
        let policy = "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'";
        assert_eq!(page.said("content-security-policy"), policy, "{}", page.status);
        assert_eq!((page.said("x-frame-options"), page.said("x-content-type-options")), ("DENY", "nosniff"));
        assert!(!page.text.contains(&code), "{}", page.status);
    }
}

#[actix_web::test]
async fn browser_keeps_the_newest_twenty_consent_pages() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = Assistant::new(server.stranger()).await;
    let mut tickets = Vec::new();
    for _ in 0..22 {
        tickets.push(ticket(&browser.get(&assistant.address(&[])).await));
        server.clock.advance(std::time::Duration::from_secs(1));
    }
    let click = async |ticket: &String| {
        let fields = [("ticket", ticket.as_str()), ("decision", "allow"), ("scope", "read:library")];
        browser.form("/oauth/consent", &fields).await.status
    };

    assert_eq!(
        (click(&tickets[1]).await, click(&tickets[2]).await, click(&tickets[21]).await),
        (403, 303, 303)
    );
}
