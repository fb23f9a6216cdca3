//! The pages of connected apps, assistants, activity and usage.

use std::time::Duration;

use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{Client, McpClient, OAuthClient, Server};

const CLIENTS: [&str; 7] = ["claude", "chatgpt", "claude-code", "vscode", "cursor", "codex", "other"];

async fn flush(server: &Server) {
    server.context().requests.activity.flush().await.unwrap();
}

#[actix_web::test]
async fn settings_pages_require_a_session_and_are_not_stored() {
    let server = Server::start().await;
    let browser = server.user(Plan::Free).await.sign_in().await;
    let pages = [
        "/settings/keys",
        "/settings/keys/new",
        "/settings/connect/claude",
        "/settings/apps",
        "/settings/activity",
        "/settings/activity.csv",
        "/settings/usage",
    ];

    for path in pages {
        let page = browser.get(path).await;
        assert_eq!(page.status, 200, "{path}: {}", page.text);
        assert!(page.header("cache-control").contains("no-store"), "{path}");
        assert!(!page.text.contains(" style="), "{path}");
        let signed_out = server.anonymous().get(path).await;
        assert_eq!(signed_out.status, 303, "{path}");
        assert!(signed_out.header("location").starts_with("/sign-in?next="), "{path}");
    }
}

#[actix_web::test]
async fn connected_app_is_listed_and_disconnected() {
    let server = Server::start().await;
    let (user, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let browser = user.sign_in().await;
    let app = OAuthClient::register(
        server.anonymous(),
        json!({ "client_name": "Heron <b>", "token_endpoint_auth_method": "none" }),
    )
    .await;
    let tokens = app.connect(&browser, "read:library write:notes").await;

    let page = browser.get("/settings/apps").await;
    let id = page.text.split("/settings/apps/").nth(1).unwrap().split('/').next().unwrap().to_owned();
    let path = format!("/settings/apps/{id}/disconnect");
    let foreign = other.sign_in().await.post_form(&path, &[]).await;
    let ended = browser.post_form(&path, &[]).await;

    assert!(
        page.text.contains("Heron &#60;b&#62;") || page.text.contains("Heron &lt;b&gt;"),
        "{}",
        page.text
    );
    assert!(page.text.contains("read the library and write notes") && page.text.contains("127.0.0.1:43117"));
    assert_eq!((foreign.status, ended.status), (404, 303));
    assert_eq!(app.call_status(&tokens.access).await, 401);
}

#[actix_web::test]
async fn every_assistant_has_a_page_and_the_test_names_its_steps() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    for client in CLIENTS {
        let page = browser.get(&format!("/settings/connect/{client}")).await;
        assert_eq!(page.status, 200, "{client}: {}", page.text);
        assert!(page.text.contains("/mcp") && page.text.contains("data-live="), "{client}");
    }
    // The test server is on this machine, which no cloud reaches.
    assert!(browser.get("/settings/connect/claude").await.text.contains("cannot reach this address"));
    assert!(!browser.get("/settings/connect/codex").await.text.contains("cannot reach this address"));
    assert_eq!(browser.get("/settings/connect/telephone").await.status, 404);

    let tested = browser.post_form("/settings/connect/codex", &[]).await;
    let unknown = browser.post_form("/settings/connect/telephone", &[]).await;

    // Another test is refused for a moment, but not for an unknown client.
    assert_eq!((tested.status, unknown.status), (200, 404));
    for step in ["The address can be found", "A new app can register", "Tools are listed"] {
        assert!(tested.text.contains(step), "{step}: {}", tested.text);
    }
    assert!(tested.text.contains("Every step passed"), "{}", tested.text);
}

#[actix_web::test]
async fn connection_test_speaks_the_language_of_the_page() {
    let server = Server::start_with(&[("OAUTH__REGISTRATION", "closed")]).await;
    let browser = server.user(Plan::Pro).await.sign_in().await.with("accept-language", "de");

    let tested = browser.post_form("/settings/connect/codex", &[]).await;

    for message in [
        "ist nur von diesem Rechner oder aus seinem Netz erreichbar",
        "/mcp nennt die Metadaten für die Anmeldung.",
        "Die Metadaten des MCP-Servers stimmen.",
        "oauth.registration ist closed. Setze oauth.registration auf open",
    ] {
        assert!(tested.text.contains(message), "{message}: {}", tested.text);
    }
    assert!(!tested.text.contains("lang=\"en\""), "{}", tested.text);
}

#[actix_web::test]
async fn assistant_that_connects_ends_the_waiting() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let waiting = browser.get_part("/settings/connect/claude", "connected").await;

    for name in ["Heron", "Claude"] {
        let metadata = json!({ "client_name": name, "token_endpoint_auth_method": "none" });
        let app = OAuthClient::register(server.anonymous(), metadata).await;
        app.connect(&browser, "read:library").await;
        let other = browser.get_part("/settings/connect/chatgpt", "connected").await;
        assert!(other.text.contains("Waiting for ChatGPT"), "{name}: {}", other.text);
    }

    let connected = browser.get_part("/settings/connect/claude", "connected").await;
    assert!(waiting.text.contains("Waiting for Claude"), "{}", waiting.text);
    assert!(
        connected.text.contains("Connected: Claude") && !connected.text.contains("data-live"),
        "{}",
        connected.text
    );
}

#[actix_web::test]
async fn key_used_before_ends_the_waiting_by_its_next_call() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, browser) = (user.mcp_key().await, user.sign_in().await);
    let call = async || {
        McpClient::new(key.clone()).initialize("codex-mcp-client", "0.1").await;
        server.context().auth.keys.flush().await.unwrap();
        flush(&server).await;
    };
    call().await;
    server.clock.advance(Duration::from_secs(60));
    let waiting = browser.get_part("/settings/connect/codex", "connected").await;
    let path = waiting.text.split("data-live-url=\"").nth(1).unwrap().split('"').next().unwrap();

    server.clock.advance(Duration::from_secs(60));
    let still = browser.get_part(path, "connected").await;
    call().await;
    server.clock.advance(Duration::from_secs(60));
    let connected = browser.get_part(path, "connected").await;

    assert!(still.text.contains("Waiting for Codex"), "{}", still.text);
    assert!(connected.text.contains("Connected: "), "{}", connected.text);
}

/// Returns the texts of the instructions that have several words.
fn instruction_texts(assistant: &Value) -> Vec<&str> {
    let lists = ["steps", "facts"].into_iter().flat_map(|name| assistant[name].as_array().unwrap());
    let labelled = ["snippets", "links"].into_iter().flat_map(|name| assistant[name].as_array().unwrap());
    let texts = lists.chain(labelled.map(|one| &one["label"])).chain([&assistant["about"]]);
    texts.map(|text| text.as_str().unwrap()).filter(|text| text.contains(' ')).collect()
}

#[actix_web::test]
async fn instructions_are_in_the_language_of_the_page() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let german = browser.clone().with("accept-language", "de");
    let listed = browser.get("/app/api/assistants").await;

    for assistant in listed.data(200)["assistants"].as_array().unwrap() {
        let path = format!("/settings/connect/{}", assistant["id"].as_str().unwrap());
        let plain =
            async |client: &Client| client.get(&path).await.text.replace("&#39;", "'").replace("&#38;", "&");
        let (english, german) = (plain(&browser).await, plain(&german).await);
        for text in instruction_texts(assistant) {
            assert!(english.contains(text) && !german.contains(text), "{path}: {text}");
        }
    }
}

/// Makes calls with a canary, two of which are refused. Returns their number.
async fn make_calls(server: &Server, browser: &Client, key: &Client) -> usize {
    for _ in 0..3 {
        key.clone().with("user-agent", "=cmd/1").get("/rest/v2/search?q=canary").await.data(200);
    }
    for _ in 0..2 {
        key.get("/rest/v2/search?q=canary&limit=0").await.error_code(400);
    }
    flush(server).await;
    let listed = browser.get("/app/api/activity?limit=100").await;
    listed.data(200)["activity"].as_array().unwrap().len()
}

#[actix_web::test]
async fn activity_page_and_file_show_the_same_calls() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, browser) = (user.full_key().await, user.sign_in().await);
    let calls = make_calls(&server, &browser, &key).await;

    let page = browser.get("/settings/activity").await;
    let file = browser.get("/settings/activity.csv").await;
    let refused = browser.get("/settings/activity.csv?refused=1").await;

    assert_eq!(page.text.matches("<code dir=\"ltr\">GET /search</code>").count(), calls);
    assert!(page.text.contains(&format!("at most {calls}, on 6 May; 2 refused in all")), "{}", page.text);
    assert_eq!((file.text.lines().count(), refused.text.lines().count()), (calls + 1, 3));
    assert!(file.header("content-type").starts_with("text/csv"));
    assert!(file.text.contains(",'=cmd/1,"), "a spreadsheet must not run it: {}", file.text);
    for text in [&page.text, &file.text] {
        assert!(!text.contains("canary") && !text.contains("pk_"), "{text}");
    }
}

#[actix_web::test]
async fn activity_is_filtered_by_its_address() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, other, browser) = (user.full_key().await, user.full_key().await, user.sign_in().await);
    make_calls(&server, &browser, &key).await;
    let rows = |text: &str| text.matches("<code dir=\"ltr\">GET /search</code>").count();
    let page = async |query: String| browser.get(&format!("/settings/activity{query}")).await;

    assert_eq!(rows(&page(format!("?key={}", key.id)).await.text), 5);
    assert_eq!(rows(&page("?refused=1".to_owned()).await.text), 2);
    assert_eq!(rows(&page("?surface=mcp".to_owned()).await.text), 0);
    // The chart counts the calls of the list.
    for (query, calls) in [("?refused=1", 2), ("?surface=rest", 5), ("?surface=mcp", 0)] {
        let shown = page(query.to_owned()).await.text;
        assert!(shown.contains(&format!("at most {calls}, on 6 May")), "{query}: {shown}");
    }
    let none = page(format!("?key={}", other.id)).await;
    assert!(none.text.contains("No calls match"), "{}", none.text);
    assert_eq!(rows(&page("?surprise=1&surface=telephone".to_owned()).await.text), 5);
}

#[actix_web::test]
async fn usage_page_shows_the_reset_in_the_time_zone_of_the_account() {
    let server = Server::start_with(&[("PLANS__PRO__REST_PER_DAY", "5")]).await;
    let user = server.user(Plan::Pro).await;
    let (key, browser) = (user.full_key().await, user.sign_in().await);
    for _ in 0..3 {
        key.get("/rest/v2/usage").await.data(200);
    }
    flush(&server).await;
    browser.patch("/app/api/settings", json!({ "timeZone": "Europe/Berlin" })).await.data(200);

    let page = browser.get("/settings/usage").await;

    for shown in
        ["resets at 02:00 your time (midnight UTC)", "at about 22:00", "aria-label=\"REST requests: 3 of 5\""]
    {
        assert!(page.text.contains(shown), "{shown}: {}", page.text);
    }
}
