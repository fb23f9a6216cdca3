// Requests to the MCP server with an API key, as an assistant sends them.

/** Sends a request of the protocol. Returns the response. */
export const callMcp = (base, secret, method, params = {}) => fetch(`${base}/mcp`, {
  method: "POST",
  headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json", Accept: "application/json, text/event-stream", "User-Agent": "bookworm/3.1" },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
});
