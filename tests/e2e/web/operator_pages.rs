//! The pages of operators, which do not exist for others and show nothing of what users read.

use actors::auth::accounts;
use values::plan::Plan;

use crate::support::{Client, Reply, Server, Site, User};

const PAGES: [&str; 5] =
    ["/operator", "/operator/users", "/operator/work", "/operator/hosts", "/operator/storage"];

async fn operator(server: &Server, user: &User<'_>) -> Client {
    accounts::set_operator(&server.context().core, user.id(), true).await.unwrap();
    user.sign_in().await
}

#[actix_web::test]
async fn operator_pages_do_not_exist_for_others() {
    let server = Server::start().await;
    let user = server.user(Plan::Research).await;
    let browser = user.sign_in().await;
    let disable = format!("/operator/users/{}/disable", user.id());

    for path in PAGES {
        assert_eq!(browser.get(path).await.status, 404, "{path}");
        assert_eq!(server.anonymous().get(path).await.status, 303, "{path}");
    }
    for path in ["/operator/ai/pause", "/operator/hosts", &disable] {
        assert_eq!(browser.post_form(path, &[("host", "a.example")]).await.status, 404, "{path}");
    }
    assert!(!browser.get("/settings/usage").await.text.contains("href=\"/operator\""));
}

#[actix_web::test]
async fn operator_pages_show_nothing_that_a_user_reads() {
    let (server, site) = (Server::start().await, Site::start().await);
    let (own, reader) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let (browser, key) = (operator(&server, &own).await, reader.full_key().await);
    let url = site.page("/canary", [Reply::Status(404)]);
    let failed = key.save(serde_json::json!({ "url": url, "title": "A canary", "tags": ["canary"] })).await;
    key.save_text("https://reeds.example/canary", "canary").await;
    key.wait_for(&failed, "failed").await;

    for path in PAGES {
        let page = browser.get(path).await;
        assert_eq!(page.status, 200, "{path}: {}", page.text);
        assert!(!page.text.contains("canary"), "{path}: {}", page.text);
        assert!(page.header("cache-control").contains("no-store"), "{path}");
    }
    assert!(browser.get("/operator/users").await.text.contains(reader.email()));
    assert!(browser.get("/settings/usage").await.text.contains("href=\"/operator\""));
}

#[actix_web::test]
async fn account_is_moved_disabled_and_enabled_by_forms() {
    let server = Server::start().await;
    let (own, user) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let (browser, key) = (operator(&server, &own).await, user.full_key().await);
    let path = |action: &str| format!("/operator/users/{}/{action}", user.id());

    let moved = browser.post_form(&path("plan"), &[("plan", "research")]).await;
    let disabled = browser.post_form(&path("disable"), &[]).await;

    assert_eq!((moved.status, disabled.status), (303, 303));
    assert_eq!(key.get("/rest/v2/usage").await.error_code(401), "API_KEY_INVALID");
    assert!(browser.get(disabled.header("location")).await.text.contains("is disabled"));
    assert_eq!(browser.post_form(&path("enable"), &[]).await.status, 303);
    assert_eq!(key.get("/rest/v2/usage").await.data(200)["plan"], "research");
}

#[actix_web::test]
async fn ai_is_paused_with_a_way_back() {
    let server = Server::start().await;
    let own = server.user(Plan::Pro).await;
    let browser = operator(&server, &own).await;

    let paused = browser.post_form("/operator/ai/pause", &[]).await;
    let page = browser.get(paused.header("location")).await;

    assert!(
        page.text.contains("paused until") && page.text.contains("action=\"/operator/ai/resume\""),
        "{}",
        page.text
    );
    browser.post_form("/operator/ai/resume", &[]).await;
    assert!(!browser.get("/operator").await.text.contains("paused until"));
}
