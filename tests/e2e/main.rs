//! End-to-end tests over HTTP, on the database that the run selects, with a clock that the test sets.
//!
//! With `CARREL_TEST_POSTGRES` each test has its own database there; without it, its own SQLite file. [`support`] is the harness.
//! Each other module covers one part of the product, each file one subject.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may panic"
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
mod search;
mod support;
mod threats;
mod web;
