//! The weights of tool calls, and calls over the daily or hourly limit (spec.md: Limits; contract.md, section 7).

use std::time::Duration;

use actors::auth::accounts;
use serde_json::{Value, json};
use values::plan::Plan;
use values::scope::Scope;

use crate::rest::projects::create_project;
use crate::support::{Client, McpClient, Server};

const UNKNOWN_ID: &str = "01890000-0000-7000-8000-000000000000";

async fn calls_today(rest: &Client) -> u64 {
    rest.get("/rest/v2/usage").await.data(200)["mcp"]["today"].as_u64().unwrap()
}

/// Covers the threat table (row D3).
#[actix_web::test]
async fn tool_calls_count_by_weight_whatever_their_result() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (rest, session, assistant) = (user.full_key().await, user.sign_in().await, user.assistant().await);
    let id = create_project(&session, "P").await;
    let saved = rest.save_text("https://example.org/a", "Text.").await;
    let document = saved["documentId"].clone();

    for (tool, arguments, calls) in [
        ("search_library", json!({ "query": "text" }), 1),
        ("search_library", json!({}), 1),
        ("list_projects", json!({}), 1),
        ("list_projects", json!({ "limit": 51 }), 1),
        ("get_project_context", json!({ "projectId": id, "maxChars": 32_000 }), 1),
        ("get_project_context", json!({ "projectId": UNKNOWN_ID }), 1),
        ("get_document", json!({ "documentId": document }), 1),
        ("get_document", json!({ "documentId": document, "maxChars": 12_000 }), 1),
        ("get_document", json!({ "documentId": document, "maxChars": 12_001 }), 2),
        ("get_document", json!({ "documentId": UNKNOWN_ID, "maxChars": 20_000 }), 2),
        ("get_document", json!({ "documentId": document, "maxChars": 20_001 }), 1),
        ("add_bookmark", json!({ "url": "https://example.org/a" }), 2),
        ("add_bookmark", json!({ "url": "ftp://example.org/a" }), 2),
        ("add_bookmark", json!({}), 2),
        ("create_note", json!({ "projectId": id, "body": "b" }), 2),
        ("create_note", json!({ "bookmarkId": UNKNOWN_ID, "body": "b" }), 2),
        ("create_note", json!({ "body": "b" }), 2),
    ] {
        let before = calls_today(&rest).await;
        let _ = assistant.call(tool, arguments.clone()).await;
        assert_eq!(calls_today(&rest).await - before, calls, "{tool} {arguments}");
    }
}

#[actix_web::test]
async fn tool_call_counts_even_without_scope() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let rest = user.full_key().await;
    let reader = user.assistant_with_scopes([Scope::Mcp, Scope::ReadLibrary]).await;

    reader.initialize("reader", "1").await;
    reader.call_method("ping", json!({})).await;
    reader.list_tools().await;
    let unknown = reader.send("tools/call", json!({ "name": "drop_tables", "arguments": {} })).await;
    assert_eq!(unknown.body["error"]["code"], -32602);
    assert_eq!(calls_today(&rest).await, 0);

    let refused =
        reader.call("create_note", json!({ "projectId": UNKNOWN_ID, "body": "b" })).await.unwrap_err();
    assert_eq!(refused["scopes"], json!(["write:projects", "write:notes"]));
    assert_eq!(reader.call_error_code("list_projects", json!({})).await, "SCOPE_REQUIRED");
    assert_eq!(calls_today(&rest).await, 3);
}

#[actix_web::test]
async fn tool_outside_the_plan_is_not_listed_and_not_counted() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let assistant = user.assistant().await;
    assert_eq!(assistant.list_tools().await.len(), 6);
    accounts::set_plan(&server.context().core, user.id(), Plan::Free).await.unwrap();
    server.context().auth.keys.invalidate_cache();

    let reading = ["search_library", "get_document", "list_projects", "get_project_context"];
    assert_eq!(assistant.list_tools().await, reading);
    for arguments in [json!({ "url": "https://example.org/a" }), json!({})] {
        assert_eq!(assistant.call_error_code("add_bookmark", arguments).await, "PLAN_REQUIRED");
    }
    assert_eq!(server.context().auth.limits.today(user.id()).await.unwrap().mcp, 0);
}

#[actix_web::test]
async fn call_over_the_daily_limit_is_refused_and_not_counted() {
    let server = Server::start_with(&[("PLANS__PRO__MCP_PER_DAY", "3")]).await;
    let user = server.user(Plan::Pro).await;
    let (rest, assistant, other) = (user.full_key().await, user.assistant().await, user.assistant().await);
    assistant.call("add_bookmark", json!({ "url": "https://example.org/a" })).await.unwrap();

    let refused = other.call("add_bookmark", json!({ "url": "https://example.org/b" })).await.unwrap_err();
    assert_eq!(
        (&refused["code"], &refused["retryAfterSeconds"]),
        (&json!("RATE_LIMITED"), &json!(12 * 3600))
    );
    let long = json!({ "documentId": UNKNOWN_ID, "maxChars": 12_001 });
    assert_eq!(assistant.call_error_code("get_document", long).await, "RATE_LIMITED");
    assert_eq!(calls_today(&rest).await, 2);
    assert_eq!(rest.get("/rest/v1/bookmarks").await.data(200)["bookmarks"].as_array().unwrap().len(), 1);
    other.call("list_projects", json!({})).await.unwrap();
    assert_eq!(assistant.call_error_code("list_projects", json!({})).await, "RATE_LIMITED");
    assistant.initialize("still", "1").await;

    server.clock.advance(Duration::from_secs(12 * 3600));
    assistant.call("list_projects", json!({})).await.unwrap();
}

#[actix_web::test]
async fn concurrent_writes_do_not_exceed_the_daily_limit() {
    let server = Server::start_with(&[("PLANS__PRO__MCP_PER_DAY", "10")]).await;
    let user = server.user(Plan::Pro).await;
    let (rest, assistant) = (user.full_key().await, user.assistant().await);

    let write =
        |n: usize| assistant.call("add_bookmark", json!({ "url": format!("https://example.org/{n}") }));
    let written = futures_util::future::join_all((0..20).map(write)).await;

    assert_eq!(written.iter().filter(|result| result.is_ok()).count(), 5);
    assert_eq!(calls_today(&rest).await, 10);
}

#[actix_web::test]
async fn write_counts_once_in_the_hourly_limit() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let assistant: McpClient = user.assistant_with_hourly_limit(Some(2)).await;
    let write =
        |n: usize| assistant.call("add_bookmark", json!({ "url": format!("https://example.org/{n}") }));
    assistant.initialize("free of charge", "1").await;
    assistant.list_tools().await;

    write(1).await.unwrap();
    write(2).await.unwrap();
    let refused: Value = write(3).await.unwrap_err();

    assert_eq!((&refused["code"], &refused["retryAfterSeconds"]), (&json!("RATE_LIMITED"), &json!(1800)));
    assert_eq!(server.context().auth.limits.today(user.id()).await.unwrap().mcp, 4);
    server.clock.advance(Duration::from_secs(1800));
    write(3).await.unwrap();
}
