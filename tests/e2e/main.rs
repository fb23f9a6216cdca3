//! Carrel from outside: over HTTP, on the database that the run selects, by a clock that the test sets.
//!
//! With `CARREL_TEST_POSTGRES` each test has a database of its own there; without it, SQLite in a folder of its own.
//! [`support`] holds what the tests talk to; one topic is one file.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on ends there"
)]

mod cli;
mod export;
mod feeds;
mod import;
mod ingest;
mod limits;
mod mcp;
mod oauth;
mod recovery;
mod rest;
mod scale;
mod support;
mod threats;
mod web;
