//! An MCP client that sends single JSON-RPC messages over HTTP.

use serde_json::{Value, json};

use super::client::{Client, Response};

/// Sends JSON-RPC messages to `/mcp`.
pub struct McpClient {
    pub client: Client,
}

impl McpClient {
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Calls a method and returns its result.
    pub async fn call_method(&self, method: &str, params: Value) -> Value {
        let answer = self.send(method, params).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body["result"].clone()
    }

    /// Does the same as [`Self::call_method`], and returns the response whatever its status.
    pub async fn send(&self, method: &str, params: Value) -> Response {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.client.post("/mcp", request).await
    }

    /// Sends `initialize` with this client info.
    pub async fn initialize(&self, name: &str, version: &str) {
        let client = json!({ "name": name, "version": version });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        self.call_method("initialize", params).await;
    }

    /// The names of the listed tools.
    pub async fn list_tools(&self) -> Vec<String> {
        let listed = self.call_method("tools/list", json!({})).await;
        let tools = listed["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Calls a tool and returns its structured content, or its error with a code.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<Value, Value> {
        let result = self.call_method("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        if result["isError"] == true {
            assert!(result.get("structuredContent").is_none());
            let text = result["content"][0]["text"].as_str().unwrap();
            Err(serde_json::from_str(text).unwrap())
        } else {
            Ok(result["structuredContent"].clone())
        }
    }

    /// Calls a tool that must fail, and returns the error code.
    pub async fn call_error_code(&self, tool: &str, arguments: Value) -> String {
        let error = self.call(tool, arguments).await.unwrap_err();
        error["code"].as_str().unwrap().to_owned()
    }
}
