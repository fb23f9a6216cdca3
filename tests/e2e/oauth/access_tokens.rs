//! Access tokens: valid at the MCP server only.

use std::time::Duration;

use sea_orm::{ConnectionTrait, Database, Statement};
use serde_json::{Value, json};
use values::plan::Plan;
use values::scope::Scope;

use crate::support::{
    CODE_VERIFIER, Client, Home, OAuthClient, Program, Response, Server, Tokens, eventually, files, holds,
    program, read_ticket,
};

const LIST_TOOLS_MESSAGE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

async fn list_tools(client: &Client) -> Response {
    client.post("/mcp", serde_json::from_str(LIST_TOOLS_MESSAGE).unwrap()).await
}

async fn call_tool(client: &Client, tool: &str) -> Response {
    let params = json!({ "name": tool, "arguments": { "query": "herons" } });
    client.post("/mcp", json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).await
}

/// Covers the threat table (row O7).
#[actix_web::test]
async fn access_token_is_valid_for_the_mcp_server_only() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let code = assistant.obtain_code(&browser, "read:library").await;
    let tokens = assistant.connect(&browser, "read:library").await;
    for path in ["/rest/v2/usage", "/rest/v2/search?q=x", "/rest/v1/bookmarks"] {
        let refused = server.anonymous().with_key(&tokens.access).get(path).await;
        assert_eq!(refused.error_code(401), "API_KEY_INVALID");
        assert!(refused.text.contains("works at /mcp only"), "{}", refused.text);
    }
    for wrong in [tokens.refresh.as_str(), &code, "ca_0000000000000000000000000000000000000000000"] {
        let refused = list_tools(&server.anonymous().with_key(wrong)).await;
        assert_eq!(refused.status, 401);
        assert!(refused.header("www-authenticate").contains(r#"error="invalid_token""#));
    }
    let in_body = server.anonymous().post_form("/mcp", &[("access_token", tokens.access.as_str())]).await;
    assert_eq!(in_body.status, 401);
    let other = "Bearer ca_0000000000000000000000000000000000000000000";
    let twice = server.anonymous().with_key(&tokens.access).with_additional("authorization", other);
    assert_eq!(list_tools(&twice).await.status, 401);
    for scheme in ["Basic", "Token"] {
        let other = server.anonymous().with("authorization", &format!("{scheme} {}", tokens.access));
        assert_eq!(list_tools(&other).await.status, 401, "{scheme}");
    }
    for prefix in ["/mcp?access_token=", "/mcp?token="] {
        let in_query = format!("{prefix}{}", tokens.access);
        let answer =
            server.anonymous().post(&in_query, serde_json::from_str(LIST_TOOLS_MESSAGE).unwrap()).await;
        assert_eq!(answer.status, 401);
    }
    let two_credentials = server.anonymous().with_key(&tokens.access).with("x-api-key", "pk_other");
    assert_eq!(list_tools(&two_credentials).await.status, 401);
    // RFC 9110: schemes are case-insensitive, and one or more spaces follow.
    let lowercase_scheme = server.anonymous().with("authorization", &format!("bearer   {}", tokens.access));
    assert_eq!(list_tools(&lowercase_scheme).await.status, 200);
}

#[actix_web::test]
async fn access_token_expires_after_an_hour_without_failure_limit() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let tokens = assistant.connect(&browser, "read:library").await;
    server.clock.advance(Duration::from_millis(3_599_999));
    assert_eq!(assistant.call_status(&tokens.access).await, 200);
    server.clock.advance(Duration::from_millis(1));

    // More often than the limit of failures allows guesses: a client with an expired token must learn that it has to refresh.
    for _ in 0..25 {
        let refused = assistant.list_tools(&tokens.access).await;
        assert_eq!(refused.status, 401);
        assert!(refused.header("www-authenticate").contains(r#"error="invalid_token""#));
    }

    for _ in 0..20 {
        assert_eq!(assistant.call_status("ca_0000000000000000000000000000000000000000000").await, 401);
    }
    assert_eq!(assistant.call_status("ca_0000000000000000000000000000000000000000000").await, 429);
    assert_eq!(assistant.call_status(&tokens.access).await, 401, "an expired token still gets 401");
}

#[actix_web::test]
async fn tools_outside_the_scope_are_hidden_and_challenged() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let tokens = assistant.connect(&browser, "write:notes").await;

    let listed = assistant.list_tools(&tokens.access).await;
    let refused = call_tool(&server.anonymous().with_key(&tokens.access), "search_library").await;

    assert!(!listed.text.contains("search_library"));
    let result = &refused.body["result"];
    assert_eq!((refused.status, &result["isError"]), (200, &Value::Bool(true)));
    assert!(result["content"][0]["text"].as_str().unwrap().contains("SCOPE_REQUIRED"));
    assert!(result["_meta"]["mcp/www_authenticate"].to_string().contains("insufficient_scope"));
}

/// Covers the threat table (row O7).
#[actix_web::test]
async fn token_of_another_base_url_is_refused() {
    let server = Server::start_with(&[("SERVER__BASE_URL", "http://127.0.0.1:9")]).await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let tokens = assistant.connect(&browser, "read:library").await;
    assert_eq!(assistant.call_status(&tokens.access).await, 200);

    let (home, clock) = server.stop().await;
    let moved = Server::start_in(home, clock, &[("SERVER__BASE_URL", "http://localhost:9")]).await;

    let assistant = assistant.with_client(moved.anonymous());
    assert_eq!(assistant.call_status(&tokens.access).await, 401);
    assert_eq!(assistant.refresh(&tokens.refresh).await.body["error"], "invalid_grant");
}

#[actix_web::test]
async fn connection_has_own_hourly_limit_and_shares_the_day() {
    let server = Server::start_with(&[("PLANS__PRO__HOURLY_PER_KEY", "2")]).await;
    let user = server.user(Plan::Pro).await;
    let (browser, key) = (user.sign_in().await, user.key([Scope::ReadLibrary]).await);
    let (one, other) =
        (OAuthClient::new(server.anonymous()).await, OAuthClient::new(server.anonymous()).await);
    let (mine, second) =
        (one.connect(&browser, "read:library").await, other.connect(&browser, "read:library").await);
    let mine = server.anonymous().with_key(&mine.access);
    for _ in 0..2 {
        assert_ne!(call_tool(&mine, "search_library").await.body["result"]["isError"], true);
    }

    let refused = call_tool(&mine, "search_library").await;

    assert!(refused.body["result"]["content"][0]["text"].as_str().unwrap().contains("RATE_LIMITED"));
    let second = server.anonymous().with_key(&second.access);
    assert_ne!(call_tool(&second, "search_library").await.body["result"]["isError"], true);
    assert_eq!(key.get("/rest/v2/usage").await.data(200)["mcp"]["today"], 3);
}

#[actix_web::test]
async fn activity_lists_calls_by_app() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let code = assistant.obtain_code(&browser, "read:library").await;
    let tokens = Tokens::from_response(&assistant.exchange(&code).await);
    let client = server.anonymous().with_key(&tokens.access).with("user-agent", "curl/8");
    call_tool(&client, "search_library").await;
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
                               "clientInfo": { "name": "Bittern", "version": "2" } });
    client.post("/mcp", json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })).await;

    let app = eventually("the last use is written", async || {
        let apps = browser.get("/app/api/connected-apps").await.data(200)["apps"].clone();
        apps[0]["lastUsedAt"].is_string().then(|| apps[0]["id"].as_str().unwrap().to_owned())
    })
    .await;
    eventually("calls without a handshake have the name of the latest one", async || {
        call_tool(&client, "search_library").await;
        server.context().requests.activity.flush().await.unwrap();
        let lines = browser.get(&format!("/app/api/activity?appId={app}")).await;
        let lines = lines.data(200)["activity"].as_array().unwrap().clone();
        let last = lines.last().unwrap();
        assert_eq!(
            (&last["client"], &last["keyId"], &last["tool"]),
            (&json!("Heron"), &Value::Null, &json!("search_library"))
        );
        lines[0]["client"].as_str().unwrap().starts_with("Bittern").then_some(())
    })
    .await;
}

/// Covers the threat table (rows A4, L2).
#[actix_web::test]
async fn secrets_are_in_no_row_file_log_or_activity() {
    let home = Home::new().await;
    program::create_account(&home);
    let running = Program::start(&home, "data").await;
    let browser = running.anonymous().sign_in(program::EMAIL, program::PASSWORD).await;
    let metadata = json!({ "token_endpoint_auth_method": "client_secret_post" });
    let assistant = OAuthClient::register(running.anonymous(), metadata).await;
    let unused_ticket = read_ticket(&browser.get(&assistant.authorization_url(&[])).await);
    let code = assistant.obtain_code(&browser, "read:library").await;
    let tokens = Tokens::from_response(&assistant.exchange(&code).await);
    call_tool(&running.anonymous().with_key(&tokens.access), "search_library").await;
    let refused = assistant.exchange(&code).await;
    let sign_in = read_ticket(&running.anonymous().get(&assistant.authorization_url(&[])).await);
    let activity = browser.get("/app/api/activity").await;
    assert!(running.terminate().await.success());

    let secrets = [
        &code,
        &tokens.access,
        &tokens.refresh,
        &unused_ticket,
        &sign_in,
        assistant.secret.as_ref().unwrap(),
        &CODE_VERIFIER.to_owned(),
        &browser.header("cookie").split_once('=').unwrap().1.to_owned(),
    ];
    let stored = files(home.folder())
        .into_iter()
        .map(|file| (file.display().to_string(), std::fs::read(file).unwrap()));
    let shown = [("activity", activity.text), ("refusal", refused.text), ("rows", rows_as_text(&home).await)];
    let shown = shown.into_iter().map(|(name, text)| (name.to_owned(), text.into_bytes()));
    for (name, bytes) in stored.chain(shown) {
        for secret in secrets {
            assert!(!holds(&bytes, secret), "{name}");
        }
    }
}

/// The rows of OAuth, sessions and activity on PostgreSQL; empty on SQLite, whose file is searched directly.
async fn rows_as_text(home: &Home) -> String {
    if home.database_file().is_some() {
        return String::new();
    }
    let rows = Database::connect(home.database_url()).await.unwrap();
    let mut text = String::new();
    for table in [
        "oauth_client",
        "oauth_grant",
        "oauth_consent",
        "oauth_sign_in",
        "oauth_code",
        "oauth_token",
        "session",
        "activity",
    ] {
        let all =
            Statement::from_string(rows.get_database_backend(), format!("SELECT t::text FROM {table} t"));
        for row in rows.query_all_raw(all).await.unwrap() {
            text.push_str(&row.try_get_by_index::<String>(0).unwrap());
        }
    }
    // The search for secrets proves nothing unless the rows were read.
    assert!(text.contains("Heron"));
    text
}
