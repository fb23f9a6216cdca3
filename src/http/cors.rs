//! What pages of other origins may send and see, where they may ask at all: clients in browsers send the same to /mcp and
//! to OAuth, and the browser stops them where that is not allowed (design: mcp-oauth.md, P4).

/// Headers of a request.
pub const TAKEN: &str = "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, \
                         Mcp-Session-Id, Last-Event-ID, X-API-Key";
/// Headers of an answer.
pub const SHOWN: &str = "WWW-Authenticate, MCP-Protocol-Version, Retry-After";
