//! The names of MCP clients in first-use notices, in the activity and in the list of keys.

use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{Client, McpClient, Server};

async fn flush_records(server: &Server) {
    server.context().auth.keys.flush().await.unwrap();
    server.service().notices.flush().await;
    server.context().requests.activity.flush().await.unwrap();
}

async fn list_activity(session: &Client) -> Vec<Value> {
    session.get("/app/api/activity").await.data(200)["activity"].as_array().unwrap().clone()
}

fn with_user_agent(assistant: McpClient, user_agent: &str) -> McpClient {
    McpClient::new(assistant.client.with("user-agent", user_agent))
}

#[actix_web::test]
async fn first_use_notice_names_the_initialized_client_once() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (session, assistant) =
        (user.sign_in().await, with_user_agent(user.assistant().await, "python-httpx/0.28"));

    assistant.initialize("Bookworm", "2.1").await;
    flush_records(&server).await;
    assistant.call("list_projects", json!({})).await.unwrap();
    flush_records(&server).await;

    let notices = session.get("/app/api/notices").await;
    let notices = notices.data(200)["notices"].as_array().unwrap();
    assert_eq!((notices.len(), &notices[0]["client"]), (1, &json!("Bookworm 2.1")));
    let keys = session.get("/app/api/keys").await;
    assert_eq!(keys.data(200)["keys"][0]["lastClient"], "Bookworm 2.1");
}

#[actix_web::test]
async fn later_calls_use_the_latest_client_name_of_their_key() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let session = user.sign_in().await;
    let (one, other) = (
        with_user_agent(user.assistant().await, "node/22"),
        with_user_agent(user.assistant().await, "curl/8.5 (x)"),
    );

    other.call("list_projects", json!({})).await.unwrap();
    for version in ["1", "2"] {
        one.initialize("Bookworm", version).await;
        flush_records(&server).await;
        one.call("list_projects", json!({})).await.unwrap();
    }
    flush_records(&server).await;

    let clients: Vec<Value> =
        list_activity(&session).await.into_iter().map(|row| row["client"].clone()).collect();
    assert_eq!(clients, ["Bookworm 2", "Bookworm 1", "curl/8.5"]);
}

#[actix_web::test]
async fn call_of_newest_revision_uses_its_own_client_info() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (session, assistant) = (user.sign_in().await, user.assistant().await);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "Modern", "version": "9" },
    });
    let modern = assistant.client.with("mcp-protocol-version", "2026-07-28");
    let modern = McpClient::new(modern.with("mcp-method", "tools/call").with("mcp-name", "list_projects"));

    let call = json!({ "name": "list_projects", "arguments": {}, "_meta": meta });
    let result = modern.call_method("tools/call", call).await;
    flush_records(&server).await;

    assert_eq!(result["structuredContent"]["projects"], json!([]));
    assert_eq!(list_activity(&session).await[0]["client"], "Modern 9");
}

#[actix_web::test]
async fn activity_of_tool_call_has_tool_and_code_but_no_text() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (session, assistant) = (user.sign_in().await, user.assistant().await);

    assistant.initialize("Bookworm", "1").await;
    assistant.list_tools().await;
    assistant.call("search_library", json!({ "query": "zanzibar" })).await.unwrap();
    let unknown_id = "01890000-0000-7000-8000-000000000000";
    assistant.call_error_code("create_note", json!({ "projectId": unknown_id, "body": "zanzibar" })).await;
    assistant.call_error_code("add_bookmark", json!({ "url": "ftp://zanzibar.example/" })).await;
    flush_records(&server).await;

    let rows = list_activity(&session).await;
    let shown: Vec<_> = rows.iter().map(|row| (&row["tool"], &row["status"])).collect();
    assert_eq!(
        json!(shown),
        json!([["add_bookmark", "URL_REJECTED"], ["create_note", "NOT_FOUND"], ["search_library", "ok"],])
    );
    assert!(rows.iter().all(|row| row["surface"] == "mcp" && row["route"].is_null()));
    assert!(!json!(rows).to_string().contains("zanzibar"));
}
