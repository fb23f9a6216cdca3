//! The MCP protocol: origins, credentials, messages and revisions.

use reqwest::Method;
use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{Client, McpClient, Response, Server};

const NEWEST_REVISION: &str = "2026-07-28";

fn message(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": "a-7", "method": method, "params": params })
}

/// A message of the newest revision.
fn modern_message(method: &str, params: Value) -> Value {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": NEWEST_REVISION,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    message(method, params)
}

/// Sends the headers that a message of the newest revision requires.
fn with_method(client: &Client, method: &str) -> Client {
    client.clone().with("mcp-protocol-version", NEWEST_REVISION).with("mcp-method", method)
}

async fn ask_modern(client: &Client, method: &str, params: Value) -> Response {
    with_method(client, method).post("/mcp", modern_message(method, params)).await
}

fn assert_rpc_error(response: &Response, status: u16, code: i64) {
    assert_eq!(
        (response.status, &response.body["error"]["code"]),
        (status, &json!(code)),
        "{}",
        response.text
    );
}

/// Covers the threat table (row O9).
#[actix_web::test]
async fn request_from_unlisted_origin_is_refused() {
    let set =
        [("MCP__ALLOWED_ORIGINS", "https://app.example"), ("SERVER__BASE_URL", "https://carrel.example")];
    let server = Server::start_with(&set).await;
    let key = server.user(Plan::Pro).await.mcp_key().await;
    for (origin, is_allowed) in [
        ("https://carrel.example", true),
        ("https://app.example", true),
        ("http://carrel.example", false),
        ("https://evil.example", false),
        ("null", false),
    ] {
        let preflight = server.anonymous().with("origin", origin).send(Method::OPTIONS, "/mcp", None).await;
        let allowed = preflight.header("access-control-allow-origin");
        assert_eq!((preflight.status, allowed), (204, if is_allowed { origin } else { "" }), "{origin}");
        assert!(!preflight.headers.contains_key("access-control-allow-credentials"));
        for header in ["Mcp-Method", "Mcp-Name", "MCP-Protocol-Version", "Authorization", "Mcp-Session-Id"] {
            assert!(preflight.header("access-control-allow-headers").contains(header), "{header}");
        }
        assert!(preflight.header_number("access-control-max-age") > 0);
        for (client, status) in [(&server.anonymous(), 401), (&key, 200)] {
            let response =
                client.clone().with("origin", origin).post("/mcp", message("tools/list", json!({}))).await;
            assert_eq!(response.status, if is_allowed { status } else { 403 }, "{origin}");
            assert_eq!(
                response.header("access-control-allow-origin"),
                if is_allowed { origin } else { "" },
                "{origin}"
            );
            assert_eq!(response.header("cache-control"), "no-store");
        }
    }
    // DNS rebinding: a foreign name resolves to the server, and the browser sends that name as the host.
    let rebound =
        key.clone().with("host", "evil.example").post("/mcp", message("tools/list", json!({}))).await;
    assert_eq!(rebound.status, 403);
}

#[actix_web::test]
async fn request_without_key_gets_the_oauth_challenge() {
    let server = Server::start_with(&[("SERVER__BASE_URL", "https://carrel.example")]).await;
    let anonymous = server.anonymous();
    let wanted =
        "Bearer resource_metadata=\"https://carrel.example/.well-known/oauth-protected-resource/mcp\"";

    for path in ["/mcp", "/mcp/"] {
        for method in [Method::GET, Method::DELETE, Method::POST] {
            let response = anonymous.send(method.clone(), path, None).await;
            assert_eq!(
                (response.status, response.header("www-authenticate")),
                (401, wanted),
                "{method} {path}"
            );
        }
    }
    let wrong = anonymous.with_key("ca_0000000000000000000000000000000000000000000").get("/mcp").await;
    let challenge = wrong.header("www-authenticate");
    assert!(
        challenge.contains("error=\"invalid_token\"") && challenge.contains("resource_metadata="),
        "{challenge}"
    );
    assert!(!challenge.contains("scope="), "{challenge}");
}

#[actix_web::test]
async fn invalid_messages_are_refused_by_their_fault() {
    let server = Server::start_with(&[("SERVER__MAX_BODY_BYTES", "2048")]).await;
    let key = server.user(Plan::Pro).await.mcp_key().await;
    for method in [Method::GET, Method::DELETE, Method::PUT] {
        let response = key.send(method.clone(), "/mcp", None).await;
        assert_eq!((response.status, response.header("allow")), (405, "POST, OPTIONS"), "{method}");
    }
    let list = message("tools/list", json!({}));
    let long = message("tools/list", json!({ "x": "y".repeat(3_000) }));
    assert_eq!(key.post("/mcp", long).await.status, 413);
    assert_eq!(key.post_form("/mcp", &[("jsonrpc", "2.0")]).await.status, 415);
    assert_eq!(key.clone().with("accept", "text/html").post("/mcp", list.clone()).await.status, 406);
    for accept in ["*/*", "application/json", "application/json, text/event-stream", "application/*"] {
        let response = key.clone().with("accept", accept).post("/mcp", list.clone()).await;
        assert_eq!((response.status, response.header("content-type")), (200, "application/json"), "{accept}");
    }
    assert_rpc_error(&key.post_text("/mcp", "{\"jsonrpc\"").await, 400, -32700);
    for body in [
        json!([list]),
        json!([]),
        json!("tools/list"),
        json!({ "jsonrpc": "2.0", "id": null, "method": "tools/list" }),
        json!({ "jsonrpc": "1.0", "id": 1, "method": "tools/list" }),
        json!({ "id": 1, "method": "tools/list" }),
        json!({ "jsonrpc": "2.0", "id": 1 }),
        json!({ "jsonrpc": "2.0", "id": {}, "method": "tools/list" }),
    ] {
        assert_rpc_error(&key.post("/mcp", body).await, 400, -32600);
    }
    // A notification has no id, so it gets no JSON-RPC response.
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let accepted = key.post("/mcp", notification).await;
    assert_eq!((accepted.status, accepted.text.as_str()), (202, ""));
}

#[actix_web::test]
async fn sessions_are_not_used() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.mcp_key().await;

    let response =
        key.clone().with("mcp-session-id", "made-up").post("/mcp", message("tools/list", json!({}))).await;

    assert_eq!(response.status, 200);
    assert!(!response.headers.contains_key("mcp-session-id"));
}

#[actix_web::test]
async fn initialize_negotiates_requested_or_newest_revision() {
    let server = Server::start().await;
    let mcp = McpClient::new((*server.user(Plan::Pro).await.mcp_key().await).clone());
    for (requested, agreed) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2024-11-05"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let params = json!({ "protocolVersion": requested, "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } });
        let result = mcp.call_method("initialize", params).await;
        assert_eq!(
            (&result["protocolVersion"], &result["capabilities"]),
            (&json!(agreed), &json!({ "tools": {} }))
        );
        let instructions = result["instructions"].as_str().unwrap();
        assert!(instructions.contains("data") && instructions.contains("instructions"), "{instructions}");
    }
    let listed = mcp.call_method("tools/list", json!({})).await;
    for modern_member in ["resultType", "ttlMs", "cacheScope"] {
        assert!(listed.get(modern_member).is_none(), "{modern_member}");
    }
    assert_eq!(mcp.call_method("ping", json!({})).await, json!({}));
    assert_rpc_error(&mcp.send("prompts/list", json!({})).await, 200, -32601);
    let unknown = mcp.client.clone().with("mcp-protocol-version", "1999-01-01");
    let unknown = unknown.post("/mcp", message("tools/list", json!({}))).await;
    assert_rpc_error(&unknown, 400, -32022);
    assert_eq!(unknown.body["error"]["data"]["requested"], "1999-01-01");
    assert!(unknown.body["error"]["data"]["supported"].as_array().unwrap().contains(&json!("2025-11-25")));
}

#[actix_web::test]
async fn modern_result_states_completeness_scope_and_ttl() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.mcp_key().await;
    for method in ["server/discover", "tools/list"] {
        let response = ask_modern(&key, method, json!({})).await;
        let result = &response.body["result"];
        assert_eq!((response.status, &result["resultType"]), (200, &json!("complete")), "{}", response.text);
        assert!(result["ttlMs"].as_u64().is_some() && result["cacheScope"].is_string(), "{method}");
        assert!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"].is_string(), "{method}");
        assert_eq!(response.body["id"], "a-7");
    }
    let listed = ask_modern(&key, "tools/list", json!({})).await;
    assert_eq!(listed.body["result"]["cacheScope"], "private");
    let call = json!({ "name": "search_library", "arguments": { "query": "herons" } });
    let called = with_method(&key, "tools/call").with("mcp-name", "search_library");
    let called = called.post("/mcp", modern_message("tools/call", call)).await;
    assert_eq!(called.body["result"]["resultType"], "complete", "{}", called.text);
    for removed in
        ["ping", "initialize", "logging/setLevel", "prompts/list", "resources/list", "subscriptions/listen"]
    {
        assert_rpc_error(&ask_modern(&key, removed, json!({})).await, 404, -32601);
    }
}

#[actix_web::test]
async fn headers_must_match_the_body() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.mcp_key().await;
    let call =
        || modern_message("tools/call", json!({ "name": "search_library", "arguments": { "query": "x" } }));
    let good = with_method(&key, "tools/call");
    // Header values may have surrounding space, and Base64 for characters that a header cannot have.
    for name in ["search_library", "  search_library ", "=?base64?c2VhcmNoX2xpYnJhcnk=?="] {
        let response = good.clone().with("mcp-name", name).post("/mcp", call()).await;
        assert_eq!(response.status, 200, "{name}: {}", response.text);
    }
    let list =
        |client: Client| async move { client.post("/mcp", modern_message("tools/list", json!({}))).await };
    for response in [
        good.post("/mcp", call()).await,
        good.clone().with("mcp-name", "Search_Library").post("/mcp", call()).await,
        good.clone().with("mcp-name", "=?base64?!?=").post("/mcp", call()).await,
        good.clone().with("mcp-name", "get_document").post("/mcp", call()).await,
        list(key.clone().with("mcp-method", "tools/list")).await,
        list(key.clone().with("mcp-protocol-version", NEWEST_REVISION)).await,
        list(with_method(&key, "Tools/List")).await,
        list(with_method(&key, "tools/list").with("mcp-protocol-version", "2025-11-25")).await,
    ] {
        assert_rpc_error(&response, 400, -32020);
        assert_eq!(response.body["id"], "a-7");
    }
}

#[actix_web::test]
async fn tools_declare_hints_and_accept_no_other_arguments() {
    let server = Server::start().await;
    let mcp = server.user(Plan::Pro).await.assistant().await;

    let listed = mcp.call_method("tools/list", json!({})).await;

    let hints = |tool: &Value| {
        let annotations = &tool["annotations"];
        ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]
            .map(|hint| annotations[hint].as_bool())
    };
    let tools = listed["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "search_library",
            "get_document",
            "list_projects",
            "get_project_context",
            "add_bookmark",
            "create_note"
        ]
    );
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{name}");
        assert!(tool["title"].is_string() && tool["description"].is_string(), "{name}");
        let [read_only, destructive, idempotent, open] = hints(tool);
        assert_eq!(read_only, Some(!matches!(name, "add_bookmark" | "create_note")), "{name}");
        if read_only == Some(false) {
            assert_eq!((destructive, idempotent), (Some(false), Some(name == "add_bookmark")), "{name}");
        }
        assert_eq!(open, Some(name == "add_bookmark"), "{name}");
    }
    let unknown = mcp.send("tools/call", json!({ "name": "no_such_tool", "arguments": {} })).await;
    assert_rpc_error(&unknown, 200, -32602);
    assert!(unknown.body["error"]["message"].as_str().unwrap().contains("Unknown tool: no_such_tool"));
    let refused = mcp.send("tools/call", json!({ "name": "get_document", "arguments": {} })).await;
    assert_eq!(refused.body["result"]["_meta"]["carrel/error"]["code"], "VALIDATION_FAILED");
}

/// Covers the threat table (row I2).
#[actix_web::test]
async fn third_party_content_is_marked_by_every_tool() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, assistant) = (user.full_key().await, user.assistant().await);
    let saved = key.save_text("https://a.example/", "Herons stand in the reeds.").await;
    key.wait_for(&saved, "ready").await;
    let project = crate::rest::projects::create_project(&user.sign_in().await, "Birds").await;
    let marked = async |tool: &str, arguments: Value| {
        let response = assistant.send("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        let result = response.body["result"].clone();
        assert_ne!(result["isError"], true, "{tool}: {result}");
        let texts = result["content"].as_array().unwrap().iter();
        texts.filter(|block| block["text"].as_str().unwrap().contains("third-party content")).count()
    };

    for (tool, arguments, marks) in [
        ("search_library", json!({ "query": "herons" }), 1),
        ("get_document", json!({ "documentId": saved["documentId"] }), 1),
        ("list_projects", json!({}), 0),
        ("get_project_context", json!({ "projectId": project }), 1),
        ("add_bookmark", json!({ "url": "https://b.example/" }), 1),
        ("create_note", json!({ "bookmarkId": saved["bookmarkId"], "body": "N" }), 0),
    ] {
        assert_eq!(marked(tool, arguments).await, marks, "{tool}");
    }
}

#[actix_web::test]
async fn message_over_the_size_limit_gets_413() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.mcp_key().await;
    let long =
        |bytes: usize| json!({ "jsonrpc": "2.0", "method": "x", "params": { "a": "x".repeat(bytes) } });
    assert_eq!(key.post("/mcp", long(1 << 20)).await.status, 202);
    assert_eq!(key.post("/mcp", long(2 << 20)).await.status, 413);
}

#[actix_web::test]
async fn discover_is_refused_for_older_revisions() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.mcp_key().await;
    let old = Client::clone(&key).with("mcp-protocol-version", "2025-11-25");
    let discover = json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover" });
    let response = old.post("/mcp", discover).await;
    assert_eq!((response.status, &response.body["error"]["code"]), (400, &json!(-32602)));
}
