//! # The surfaces
//!
//! Each surface parses its wire format into an operation and writes the reply in its wire format, and decides nothing: REST ([`rest`]),
//! the web app's pages ([`web`]) and JSON routes ([`app`]), MCP ([`mcp`]), OAuth ([`oauth`]), and the command line ([`cli`]). Tables of routes are mounted by
//! [`routing`]; what all share of HTTP is in [`http`], and the JSON Schemas are made in [`schema`]. [`openapi`] describes REST.
//! [`server`] starts and stops everything by the [`settings`]; [`data_dir`] locks and protects the
//! folder of the data, and [`library_database`] opens the database.
//!
//! Sections `# Errors` do not list errors of the database: crate [`errors`] converts them.

pub mod app;
pub mod cli;
pub mod data_dir;
pub mod http;
pub mod library_database;
pub mod log;
pub mod mcp;
pub mod oauth;
pub mod openapi;
pub mod rest;
pub mod routing;
pub mod schema;
pub mod server;
pub mod settings;
pub mod web;
