//! Connecting an assistant: the instructions, and the connection test.

use std::time::Duration;

use actors::auth::keys::changes;
use entity::{api_key, oauth_client};
use sea_orm::{Database, EntityTrait, PaginatorTrait};
use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{Client, McpClient, Reply, ReverseProxy, Server, Site, eventually};

/// Runs a connection test. Returns whether it passed, each step with its outcome, and the message of the one that failed.
async fn run_connection_test(browser: &Client) -> (bool, Vec<(String, String)>, String) {
    let answer = browser.post("/app/api/connection-test", json!({})).await;
    let report = answer.data(200);
    let steps = report["steps"].as_array().unwrap();
    let text = |step: &Value, name: &str| step[name].as_str().unwrap().to_owned();
    let failed = steps.iter().find(|step| step["outcome"] == "failed");
    (
        report["passed"].as_bool().unwrap(),
        steps.iter().map(|step| (text(step, "step"), text(step, "outcome"))).collect(),
        failed.map_or_else(String::new, |step| text(step, "message")),
    )
}

fn step_outcomes(steps: &[(String, String)]) -> Vec<&str> {
    steps.iter().map(|(_, outcome)| outcome.as_str()).collect()
}

#[actix_web::test]
async fn connection_test_passes_and_leaves_nothing() {
    let server = Server::start().await;
    let browser = server.user(Plan::Free).await.sign_in().await;

    let (passed, steps, _) = run_connection_test(&browser).await;

    assert!(passed, "{steps:?}");
    let names: Vec<&str> = steps.iter().map(|(step, _)| step.as_str()).collect();
    assert_eq!(
        names,
        ["address", "challenge", "resourceMetadata", "serverMetadata", "registration", "tools"]
    );
    // A loopback URL works only for assistants on this machine.
    assert_eq!(step_outcomes(&steps)[0], "limited");
    assert!(step_outcomes(&steps)[1..].iter().all(|outcome| *outcome == "passed"), "{steps:?}");
    assert_nothing_is_left(&server, &browser).await;
}

#[actix_web::test]
async fn connection_test_cleans_up_without_a_permit() {
    let server = Server::start().await;
    let browser = server.user(Plan::Free).await.sign_in().await;
    // A drained port has no permits, as one that is asked for many tokens.
    server.context().auth.grants.port().drain().await;

    let (passed, steps, _) = run_connection_test(&browser).await;

    assert!(passed, "{steps:?}");
    assert_nothing_is_left(&server, &browser).await;
}

/// Asserts that there is no connection, client or key, and no notice or activity of one.
async fn assert_nothing_is_left(server: &Server, browser: &Client) {
    let apps = browser.get("/app/api/connected-apps").await;
    assert_eq!(apps.data(200), &json!({ "apps": [], "ended": [] }));
    let rows = Database::connect(server.database_url()).await.unwrap();
    assert_eq!(oauth_client::Entity::find().count(&rows).await.unwrap(), 0);
    assert_eq!(api_key::Entity::find().count(&rows).await.unwrap(), 0);
    flush_records(server).await;
    assert_eq!(browser.get("/app/api/notices").await.data(200)["notices"], json!([]));
    assert_eq!(browser.get("/app/api/activity").await.data(200)["activity"], json!([]));
}

/// Waits until all uses of keys, notices and calls are written.
async fn flush_records(server: &Server) {
    server.context().auth.keys.flush().await.unwrap();
    server.service().notices.flush().await;
    server.context().requests.activity.flush().await.unwrap();
}

#[actix_web::test]
async fn connection_tests_run_one_at_a_time_and_are_not_counted() {
    let server = Server::start_with(&[("OAUTH__REGISTRATIONS_PER_HOUR", "1")]).await;
    let browser = server.user(Plan::Free).await.sign_in().await;

    assert!(run_connection_test(&browser).await.0);
    let again = browser.post("/app/api/connection-test", json!({})).await;

    assert_eq!((again.error_code(503), again.header_number("retry-after")), ("OVERLOADED", 5));
    let metadata = json!({ "redirect_uris": ["https://heron.example/cb"], "client_name": "Connection test" });
    assert_eq!(server.anonymous().post("/oauth/register", metadata.clone()).await.status, 201);
    assert_eq!(server.anonymous().post("/oauth/register", metadata).await.status, 429);
}

#[actix_web::test]
async fn closed_registration_is_named_with_its_setting() {
    let server = Server::start_with(&[("OAUTH__REGISTRATION", "closed")]).await;
    let browser = server.user(Plan::Pro).await.sign_in().await;

    let (passed, steps, why) = run_connection_test(&browser).await;

    assert!(!passed && why.contains("oauth.registration is closed"), "{why}");
    assert_eq!(step_outcomes(&steps)[3..], ["failed", "skipped", "skipped"]);
}

#[actix_web::test]
async fn unreachable_or_foreign_base_url_fails_with_reason() {
    let site = Site::start().await;
    let elsewhere = site.page("/mcp", [Reply::Html("<p>A page for people.</p>".into())]);
    let elsewhere = elsewhere.trim_end_matches("/mcp");
    for (base, step, reason) in [
        ("http://127.0.0.1:9", 1, "no connection"),
        ("http://nowhere.invalid", 0, "does not resolve"),
        (elsewhere, 1, "/mcp without a credential answered"),
    ] {
        let server = Server::start_with(&[("SERVER__BASE_URL", base)]).await;
        let browser = server.user(Plan::Pro).await.sign_in().await;

        let (passed, steps, why) = run_connection_test(&browser).await;

        assert!(!passed && why.contains(reason), "{base}: {why}");
        assert_eq!(step_outcomes(&steps)[step], "failed", "{base}: {steps:?}");
        assert_nothing_is_left(&server, &browser).await;
        assert!(
            step_outcomes(&steps)[step + 1..].iter().all(|outcome| *outcome == "skipped"),
            "{base}: {steps:?}"
        );
    }
}

#[actix_web::test]
async fn tls_failure_is_reported_as_no_connection() {
    // A server without TLS, at an https URL.
    let plain = Server::start().await;
    let base = plain.anonymous().base_url().replace("http://", "https://");
    let server = Server::start_with(&[("SERVER__BASE_URL", &base)]).await;
    let browser = server.user(Plan::Pro).await.sign_in().await;

    let (passed, steps, why) = run_connection_test(&browser).await;

    assert_eq!((passed, step_outcomes(&steps)[1]), (false, "failed"), "{steps:?}");
    assert!(why.contains("no connection"), "{why}");
}

/// The path and response that replace those of the server, the step that fails, and a part of its message.
const BROKEN_STEPS: [(&str, u16, &str, &str, &str); 8] = [
    ("/.well-known/oauth-protected-resource/mcp", 404, "{}", "resourceMetadata", "answered 404"),
    (
        "/.well-known/oauth-protected-resource/mcp",
        200,
        "{\"resource\": \"https://x.example/mcp\"}",
        "resourceMetadata",
        "/resource",
    ),
    ("/.well-known/oauth-authorization-server", 200, "<html>", "serverMetadata", "JSON"),
    (
        "/.well-known/oauth-authorization-server",
        200,
        "{\"issuer\": \"https://x.example\"}",
        "serverMetadata",
        "/issuer",
    ),
    ("/oauth/register", 403, "{}", "registration", "answered 403"),
    ("/oauth/register", 429, "{}", "registration", "try again later"),
    (
        "/oauth/register",
        201,
        "{\"client_id\": \"theirs\"}",
        "registration",
        "another server answers at this URL",
    ),
    ("/mcp", 200, "{}", "challenge", "answered 200"),
];

#[actix_web::test]
async fn step_broken_by_a_proxy_is_named_with_its_response() {
    let proxy = ReverseProxy::start().await;
    for (path, status, body, step, message) in BROKEN_STEPS {
        // Each has a new server, because connection tests run one at a time.
        let server = Server::start_with(&[("SERVER__BASE_URL", &proxy.base)]).await;
        proxy.forward_to(server.anonymous().base_url());
        proxy.override_path(path, status, body);
        let browser = server.user(Plan::Pro).await.sign_in().await;

        let (passed, steps, why) = run_connection_test(&browser).await;

        let failed = steps.iter().find(|(_, outcome)| outcome == "failed").map(|(name, _)| name.as_str());
        assert_eq!((passed, failed), (false, Some(step)), "{path}: {steps:?} {why}");
        assert!(why.contains(message), "{path} {status}: {why}");
        assert_nothing_is_left(&server, &browser).await;
    }
    assert!(proxy.credentials().is_empty(), "a key was sent to something else");
}

#[actix_web::test]
async fn client_with_lost_registration_response_is_removed() {
    let proxy = ReverseProxy::start().await;
    let server = Server::start_with(&[("SERVER__BASE_URL", &proxy.base)]).await;
    proxy.forward_to(server.anonymous().base_url());
    proxy.drop_responses_of("/oauth/register");
    let browser = server.user(Plan::Pro).await.sign_in().await;

    let (passed, steps, why) = run_connection_test(&browser).await;

    assert_eq!((passed, step_outcomes(&steps)[4]), (false, "failed"), "{steps:?}");
    assert!(why.contains("answered 502"), "{why}");
    assert_nothing_is_left(&server, &browser).await;
}

#[actix_web::test]
async fn test_key_is_refused_after_the_test() {
    for strips_credentials in [false, true] {
        let proxy = ReverseProxy::start().await;
        let server = Server::start_with(&[("SERVER__BASE_URL", &proxy.base)]).await;
        proxy.forward_to(server.anonymous().base_url());
        if strips_credentials {
            proxy.strip_credentials();
        }
        let browser = server.user(Plan::Pro).await.sign_in().await;

        let (passed, steps, why) = run_connection_test(&browser).await;

        assert_eq!(passed, !strips_credentials, "{steps:?} {why}");
        if strips_credentials {
            assert_eq!(step_outcomes(&steps)[5], "failed", "{steps:?}");
            assert!(why.contains("answered 401"), "{why}");
        }
        let credentials = proxy.credentials();
        assert!(!credentials.is_empty());
        for credential in credentials {
            let client = server.anonymous().with("authorization", &credential);
            assert_eq!(McpClient::new(client).send("tools/list", json!({})).await.status, 401);
        }
        assert_nothing_is_left(&server, &browser).await;
    }
}

#[actix_web::test]
async fn key_of_an_abandoned_test_is_hidden_and_expires() {
    let server = Server::start_with(&[("PLANS__FREE__MCP_KEYS", "1")]).await;
    let user = server.user(Plan::Free).await;
    let browser = user.sign_in().await;
    let ctx = server.context();
    let created =
        changes::create_test_key(&ctx.core.accounts_db, user.id(), Plan::Free, ctx.core.clock.now()).await;
    let secret = created.unwrap().1;
    let assistant = McpClient::new(server.anonymous().with_key(secret.expose()));

    assert!(!assistant.list_tools().await.is_empty());
    assert_eq!(browser.get("/app/api/keys").await.data(200)["keys"], json!([]));
    flush_records(&server).await;
    assert_eq!(browser.get("/app/api/notices").await.data(200)["notices"], json!([]));
    // The one key that the plan allows.
    let own = user.mcp_key().await.id;
    let listed = browser.get("/app/api/keys").await.data(200)["keys"].clone();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["id"]), (1, &json!(own)));

    server.clock.advance(Duration::from_secs(120));
    assert_eq!(assistant.send("tools/list", json!({})).await.status, 401);
    let (home, clock) = server.stop().await;
    let server = Server::start_in(home, clock, &[]).await;
    let rows = Database::connect(server.database_url()).await.unwrap();
    eventually("the expired key is removed", async || {
        let keys = api_key::Entity::find().all(&rows).await.unwrap();
        (keys.len() == 1 && keys[0].id.to_string() == own).then_some(())
    })
    .await;
}

#[actix_web::test]
async fn assistant_instructions_contain_the_mcp_url() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;

    let answer = browser.get("/app/api/assistants").await;

    let result = answer.data(200);
    let mcp = result["mcpUrl"].as_str().unwrap();
    let metadata = server.anonymous().get("/.well-known/oauth-protected-resource/mcp").await;
    assert_eq!(metadata.body["resource"], mcp);
    let all = result["assistants"].as_array().unwrap();
    let ids: Vec<_> = all.iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["claude", "chatgpt", "claude-code", "vscode", "cursor", "codex", "other"]);
    for assistant in all {
        assert!(assistant["snippets"].to_string().contains(mcp), "{assistant}");
        assert!(!assistant["steps"].as_array().unwrap().is_empty(), "{assistant}");
    }
    for (id, fact) in [
        ("claude", "https://claude.ai/api/mcp/auth_callback"),
        ("chatgpt", "public https URL"),
        ("cursor", "cursor://anysphere.cursor-mcp/oauth/callback"),
    ] {
        let one = all.iter().find(|one| one["id"] == id).unwrap();
        assert!(one["facts"].to_string().contains(fact), "{id}: {one}");
    }
}
