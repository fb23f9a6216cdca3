//! The page at `/`: the same for every caller, self-contained and not counted by limits.

use values::plan::Plan;

use crate::support::Server;

/// The targets of the links of a page.
fn link_targets(html: &str) -> Vec<&str> {
    html.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

#[actix_web::test]
async fn start_page_links_to_docs_readiness_and_mcp() {
    let server = Server::start_with(&[("SERVER__BASE_URL", "https://carrel.example")]).await;
    let anonymous = server.anonymous();

    let page = anonymous.get("/").await;

    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert!(page.text.contains("<code>https://carrel.example/mcp</code>"), "{}", page.text);
    assert!(page.text.contains("carrel user add --email "), "{}", page.text);
    let links = link_targets(&page.text);
    assert!(links.contains(&"docs") && links.contains(&"readyz"), "{links:?}");
    for link in links {
        assert_eq!(anonymous.get(&format!("/{link}")).await.status, 200, "{link}");
    }
}

#[actix_web::test]
async fn start_page_loads_only_its_stylesheet() {
    let server = Server::start().await;

    let page = server.anonymous().get("/").await;

    let policy = page.header("content-security-policy");
    for rule in ["default-src 'none'", "style-src 'self'", "form-action 'none'", "frame-ancestors 'none'"] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!((page.header("referrer-policy"), page.header("x-frame-options")), ("no-referrer", "DENY"));
    for foreign in ["src=", "style=", "<style", "<script", "<form", "href=\"http", "href=\"/"] {
        assert!(!page.text.contains(foreign), "{foreign}");
    }
}

#[actix_web::test]
async fn start_page_is_the_same_for_every_caller_and_counts_nothing() {
    let server = Server::start().await;
    let before = server.anonymous().get("/").await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let first = key.get("/rest/v2/usage").await.data(200)["rest"]["today"].as_u64().unwrap();

    for answer in [server.anonymous().get("/").await, key.get("/").await, session.get("/").await] {
        assert_eq!((answer.status, &answer.text), (200, &before.text));
        assert!(
            !answer.headers.contains_key("set-cookie") && !answer.headers.contains_key("x-ratelimit-limit")
        );
    }

    let usage = key.get("/rest/v2/usage").await;
    assert_eq!(usage.data(200)["rest"]["today"], first + 1);
}
