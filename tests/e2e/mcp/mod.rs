//! The MCP server at `/mcp`.

mod client_info;
mod protocol;
mod usage_limits;
