//! Carrel from outside: over HTTP, on the database that the run selects, by a clock that the test sets.
//!
//! With `CARREL_TEST_POSTGRES` each test has a database of its own there; without it, SQLite in a folder of its own.
//! [`world`] holds what the tests talk to; one topic is one file.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on ends there"
)]

mod work;
mod world;

mod answer_load;
mod app_conditions;
mod ask;
mod bodies;
mod caching;
mod command_line;
mod compression;
mod conditions;
mod connection;
mod crash;
mod day;
mod deaths;
mod disk_floor;
mod drain;
mod exports;
mod feed_push;
mod feeds;
mod first_use;
mod hour;
mod idempotency;
mod imports;
mod index_faults;
mod index_repair;
mod keys;
mod letters;
mod library_quota;
mod lock_order;
mod log_output;
mod main_job;
mod mcp_clients;
mod mcp_counting;
mod mcp_wire;
mod methods;
mod notes;
mod oauth;
mod pages;
mod panics;
mod project_context;
mod project_items;
mod projects;
mod queue;
mod reading;
mod retention;
mod search_load;
mod start_page;
mod storage;
mod threats;
mod transcripts;
mod transfer_quota;
mod tries;
mod two_services;
mod undo;
mod uploads;
mod uploads_past_us;
mod v1;
mod wire;
