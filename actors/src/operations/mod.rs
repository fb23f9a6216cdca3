//! The operations that REST, MCP and the web app offer: a file for each, or for a few that belong together, with the request,
//! the response, the required scopes and the work.
//!
//! Each declares its request as a type ([`validation::request!`]), so that every surface checks and describes it in the same way.
//! The pipeline runs an [`Operation`](crate::operation::Operation) after all its checks. Operations never call the pipeline.
//!
//! An operation that writes keeps this order:
//!
//! 1. Work that needs no lock, such as fetching a feed or splitting a note, because a transaction makes all other writes of the
//!    user wait (on SQLite those of every user).
//! 2. [`begin_request`](library::owned_transaction::begin_request), which also marks the request's Idempotency-Key as used.
//! 3. Locks, in the order that the module of the rows states; a row of another user is answered with 404, like an unknown one.
//! 4. [`LibraryRoom`](library::library_quota::LibraryRoom), read before the first write, with `must_hold` after the last: the quota
//!    is checked on what the transaction really added.
//! 5. The commit, and only then the signal to the worker, which would not see the jobs of an open transaction.

pub mod account;
pub mod activity;
pub mod activity_days;
pub mod apps;
pub mod ask;
pub mod ask_threads;
pub mod bookmarks;
pub mod chunks;
pub mod collections;
pub mod document;
pub mod entries;
pub mod exports;
pub mod feeds;
pub mod find_text;
pub mod highlights;
pub mod home;
pub mod import_rows;
pub mod imports;
pub mod keys;
mod name_match;
pub mod notes;
pub mod notices;
pub mod onboarding;
pub mod operator;
pub mod page;
pub mod pdf;
pub mod projects;
pub mod reading;
pub mod recording;
pub mod rendition;
pub mod saved_searches;
pub mod search;
pub mod search_passages;
pub mod sessions;
pub mod settings;
pub mod shell;
pub mod tag_changes;
pub mod tags;
pub mod text_positions;
pub mod transcript;
pub mod undo;
pub mod unknown;
pub mod uploads;
pub mod usage;
pub mod usage_by_credential;
pub mod work;

pub use crate::target;
