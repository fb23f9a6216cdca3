//! # The surfaces
//!
//! How a verb is *asked for*. Each surface turns its wire into an operation and the reply into its wire, and decides
//! nothing: REST ([`rest`]), the web app's routes ([`app`]), MCP ([`mcp`]), OAuth ([`oauth`]), and the command line
//! ([`cli`]). What they share of HTTP stands in [`http`], of shapes in [`schema`]; [`openapi`] describes REST to programs
//! and people, and [`start_page`] is what a browser gets at `/`. [`server`] puts everything together and takes it apart again,
//! [`settings`] says with what, [`data_dir`] keeps the folder of the data, and [`library_database`] opens the database.

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
pub mod schema;
pub mod server;
pub mod settings;
pub mod start_page;
