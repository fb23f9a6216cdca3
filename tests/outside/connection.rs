//! Connecting an assistant: what a person is told, and the walk that says whether the way is open.

use entity::oauth_client;
use entity::plan::Plan;
use sea_orm::{Database, EntityTrait, PaginatorTrait};
use serde_json::{Value, json};

use crate::world::{Client, Relay, Reply, Server, Site};

/// Each step with how it ended, and the words of the one that failed.
async fn walked(browser: &Client) -> (bool, Vec<(String, String)>, String) {
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

fn outcomes(steps: &[(String, String)]) -> Vec<&str> {
    steps.iter().map(|(_, outcome)| outcome.as_str()).collect()
}

#[actix_web::test]
async fn the_way_is_walked_to_its_end_and_leaves_nothing() {
    let server = Server::start().await;
    let browser = server.user(Plan::Free).await.sign_in().await;

    let (passed, steps, _) = walked(&browser).await;

    assert!(passed, "{steps:?}");
    let names: Vec<&str> = steps.iter().map(|(step, _)| step.as_str()).collect();
    assert_eq!(
        names,
        [
            "address",
            "challenge",
            "resourceMetadata",
            "serverMetadata",
            "registration",
            "consent",
            "token",
            "tools",
            "revocation"
        ]
    );
    // A loopback address is good for assistants of this machine alone.
    assert_eq!(outcomes(&steps)[0], "limited");
    assert!(outcomes(&steps)[1..].iter().all(|outcome| *outcome == "passed"), "{steps:?}");
    leaves_nothing(&server, &browser).await;
    assert_eq!(browser.get("/app/api/notices").await.data(200)["notices"], json!([]));
    assert_eq!(browser.get("/app/api/activity").await.data(200)["activity"], json!([]));
}

/// No connection, not even one that has ended, and no client.
async fn leaves_nothing(server: &Server, browser: &Client) {
    let apps = browser.get("/app/api/connected-apps").await;
    assert_eq!(apps.data(200), &json!({ "apps": [], "ended": [] }));
    let rows = Database::connect(server.database_url()).await.unwrap();
    assert_eq!(oauth_client::Entity::find().count(&rows).await.unwrap(), 0);
}

#[actix_web::test]
async fn walks_take_turns_and_are_nobodys_registrations() {
    let server = Server::with(&[("OAUTH__REGISTRATIONS_PER_HOUR", "1")]).await;
    let browser = server.user(Plan::Free).await.sign_in().await;

    assert!(walked(&browser).await.0);
    let again = browser.post("/app/api/connection-test", json!({})).await;

    assert_eq!((again.refused(503), again.number("retry-after")), ("OVERLOADED", 5));
    let said = json!({ "redirect_uris": ["https://heron.example/cb"], "client_name": "Connection test" });
    assert_eq!(server.stranger().post("/oauth/register", said.clone()).await.status, 201);
    assert_eq!(server.stranger().post("/oauth/register", said).await.status, 429);
}

#[actix_web::test]
async fn where_assistants_may_not_introduce_themselves_that_is_said() {
    let server = Server::with(&[("OAUTH__REGISTRATION", "closed")]).await;
    let browser = server.user(Plan::Pro).await.sign_in().await;

    let (passed, steps, why) = walked(&browser).await;

    assert!(!passed && why.contains("oauth.registration is closed"), "{why}");
    assert_eq!(outcomes(&steps)[3..], ["failed", "skipped", "skipped", "skipped", "skipped", "skipped"]);
}

#[actix_web::test]
async fn an_address_that_leads_nowhere_or_elsewhere_fails_with_a_reason() {
    let site = Site::start().await;
    let elsewhere = site.page("/mcp", [Reply::Html("<p>A page for people.</p>".into())]);
    let elsewhere = elsewhere.trim_end_matches("/mcp");
    for (base, step, reason) in [
        ("http://127.0.0.1:9", 1, "no connection"),
        ("http://nowhere.invalid", 0, "does not resolve"),
        (elsewhere, 1, "/mcp without a credential answered"),
    ] {
        let server = Server::with(&[("SERVER__BASE_URL", base)]).await;
        let browser = server.user(Plan::Pro).await.sign_in().await;

        let (passed, steps, why) = walked(&browser).await;

        assert!(!passed && why.contains(reason), "{base}: {why}");
        assert_eq!(outcomes(&steps)[step], "failed", "{base}: {steps:?}");
        leaves_nothing(&server, &browser).await;
        assert!(
            outcomes(&steps)[step + 1..].iter().all(|outcome| *outcome == "skipped"),
            "{base}: {steps:?}"
        );
    }
}

/// What answers instead of the service, at which of its addresses, and what is said of it.
const BROKEN: [(&str, u16, &str, &str, &str); 10] = [
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
    ("/oauth/register", 201, "{\"client_id\": \"theirs\"}", "registration", "none of this one"),
    ("/oauth/authorize", 502, "", "consent", "answered 502"),
    ("/oauth/token", 200, "{}", "token", "no tokens"),
    ("/oauth/revoke", 500, "", "revocation", "answered 500"),
    ("/mcp", 200, "{}", "challenge", "answered 200"),
];

#[actix_web::test]
async fn the_step_that_a_proxy_breaks_is_named_with_what_came_instead() {
    let relay = Relay::start().await;
    for (path, status, body, step, said) in BROKEN {
        // A service of its own for each: walks take turns.
        let server = Server::with(&[("SERVER__BASE_URL", &relay.base)]).await;
        relay.lead_to(server.stranger().base());
        relay.answer_only(path, status, body);
        let browser = server.user(Plan::Pro).await.sign_in().await;

        let (passed, steps, why) = walked(&browser).await;

        let failed = steps.iter().find(|(_, outcome)| outcome == "failed").map(|(name, _)| name.as_str());
        assert_eq!((passed, failed), (false, Some(step)), "{path}: {steps:?} {why}");
        assert!(why.contains(said), "{path} {status}: {why}");
        leaves_nothing(&server, &browser).await;
    }
}

#[actix_web::test]
async fn a_proxy_that_passes_no_credentials_on_breaks_the_call_of_the_tools() {
    let relay = Relay::start().await;
    relay.keep_credentials();
    let server = Server::with(&[("SERVER__BASE_URL", &relay.base)]).await;
    relay.lead_to(server.stranger().base());
    let browser = server.user(Plan::Pro).await.sign_in().await;

    let (passed, steps, why) = walked(&browser).await;

    let failed = steps.iter().find(|(_, outcome)| outcome == "failed").map(|(name, _)| name.as_str());
    assert_eq!((passed, failed), (false, Some("tools")), "{steps:?} {why}");
    assert!(why.contains("answered 401"), "{why}");
    leaves_nothing(&server, &browser).await;
}

#[actix_web::test]
async fn every_assistant_is_told_the_address_of_this_service() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;

    let answer = browser.get("/app/api/assistants").await;

    let told = answer.data(200);
    let mcp = told["mcpUrl"].as_str().unwrap();
    let metadata = server.stranger().get("/.well-known/oauth-protected-resource/mcp").await;
    assert_eq!(metadata.body["resource"], mcp);
    let all = told["assistants"].as_array().unwrap();
    let ids: Vec<_> = all.iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["claude", "chatgpt", "claude-code", "vscode", "cursor", "codex", "other"]);
    for assistant in all {
        assert!(assistant["snippets"].to_string().contains(mcp), "{assistant}");
        assert!(!assistant["steps"].as_array().unwrap().is_empty(), "{assistant}");
    }
    for (id, fact) in [
        ("claude", "https://claude.ai/api/mcp/auth_callback"),
        ("chatgpt", "public https address"),
        ("cursor", "cursor://anysphere.cursor-mcp/oauth/callback"),
    ] {
        let one = all.iter().find(|one| one["id"] == id).unwrap();
        assert!(one["facts"].to_string().contains(fact), "{id}: {one}");
    }
}
