//! URLs of the server itself as pages and feeds to fetch (row S16).

use serde_json::json;
use values::plan::Plan;

use crate::support::{Reply, Server, Site};

/// Covers the threat table (row S16).
#[actix_web::test]
async fn own_address_is_refused_as_page_and_as_feed() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, assistant) = (user.full_key().await, user.assistant().await);
    let base = key.base_url().to_owned();

    for path in ["", "/metrics", "/mcp", "/read/x"] {
        let page = json!({ "url": format!("{base}{path}") });
        assert_eq!(
            key.post("/rest/v1/bookmarks", page.clone()).await.error_code(422),
            "URL_REJECTED",
            "{path}"
        );
        assert_eq!(key.post("/rest/v1/feeds", page.clone()).await.error_code(422), "URL_REJECTED", "{path}");
        assert_eq!(assistant.call_error_code("add_bookmark", page).await, "URL_REJECTED", "{path}");
    }
}

/// Covers the threat table (row S16).
#[actix_web::test]
async fn own_address_is_saved_where_nothing_is_fetched() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, assistant) = (user.full_key().await, user.assistant().await);
    let url = format!("{}/metrics", key.base_url());

    let saved = key.save_text(&url, "What the heron counted.").await;
    let again = key.post("/rest/v1/bookmarks", json!({ "url": url, "tags": ["counts"] })).await;
    let added = assistant.call("add_bookmark", json!({ "url": url })).await.unwrap();

    assert_eq!(key.wait_for(&saved, "ready").await["tags"], json!(["counts"]));
    assert_eq!((&again.data(200)["created"], &added["created"]), (&json!(false), &json!(false)));
}

/// Covers the threat table (row S16).
#[actix_web::test]
async fn page_that_redirects_to_the_service_fails() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = server.user(Plan::Pro).await.full_key().await;
    let headers = vec![("location", format!("{}/metrics", key.base_url()))];
    let url = site.page("/metrics", [Reply::Plain { status: 302, headers, body: String::new() }]);

    let saved = key.save(json!({ "url": url })).await;

    let failed = key.wait_for(&saved, "failed").await;
    assert!(failed["error"].as_str().unwrap().contains("URL_REJECTED"), "{failed}");
    assert_eq!(site.request_count("/metrics"), 1);
}
