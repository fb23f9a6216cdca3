//! Headers that pages of other origins may send and read, where they may send requests at all: MCP and OAuth clients in browsers use
//! the same ones for /mcp and /oauth, and the browser blocks a request with any other.

/// Request headers that pages of other origins may send: those of HTTP with a credential, and those of every MCP revision.
pub const ALLOWED_HEADERS: &str = "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, \
                                   Mcp-Session-Id, Last-Event-ID, X-API-Key";
/// Response headers that pages of other origins may read: a browser hides all others from them.
pub const EXPOSED_HEADERS: &str = "WWW-Authenticate, MCP-Protocol-Version, Retry-After";
