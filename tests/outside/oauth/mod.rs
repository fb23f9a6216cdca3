//! Assistants that sign in by OAuth: the assertions of the design (mcp-oauth.md, section 5), one part of it a file.

mod access;
mod authorize;
mod consent;
mod discovery;
mod documents;
mod ends;
mod exchange;
mod nodes;
mod refresh;
mod registration;
