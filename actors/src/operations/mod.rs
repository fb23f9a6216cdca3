//! The operations that REST, MCP and the web app offer: a file for each, or for a few that belong together, with the request, the
//! response, the required scopes and the work.
//!
//! Each declares its request as a type ([`validation::request!`]), so that every surface checks and describes it in the same way. The
//! pipeline runs an [`Operation`](crate::operation::Operation) after all its checks. Operations never call the pipeline.

pub mod account;
pub mod activity;
pub mod apps;
pub mod ask;
pub mod bookmarks;
pub mod chunks;
pub mod collections;
pub mod document;
pub mod entries;
pub mod exports;
pub mod feeds;
pub mod highlights;
pub mod import_rows;
pub mod imports;
pub mod keys;
pub mod notes;
pub mod notices;
pub mod page;
pub mod projects;
pub mod rendition;
pub mod search;
pub mod tags;
pub mod transcript;
pub mod unknown;
pub mod uploads;
pub mod usage;
pub mod work;

pub use crate::target;
