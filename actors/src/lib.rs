//! # Actors and operations
//!
//! What the server does, apart from HTTP: it authenticates callers, checks their limits, runs operations, and works in the
//! background. This crate knows rows, actors and jobs; the surfaces (REST, MCP, OAuth, the web app) are above it.
//!
//! An **operation** ([`operation::Operation`]) is one request that a caller can make. [`pipeline::execute`] is the one way to it:
//! plan, limits, scopes, parameters, Idempotency-Key, then the operation, then an entry in the activity view. It takes a
//! [`auth::caller::Caller`], which only a checked credential creates.
//!
//! An **actor** owns state that must change in one place, a queue, or a schedule. Its **handle** ([`auth::keys::Keys`],
//! [`retrieval::Retrieval`], [`worker::Worker`], ...) is what the other modules hold: clones are cheap, and a call returns an answer, or
//! an error as soon as the actor is known to be busy, late or crashed ([`runtime::Port`]). The supervisor restarts an actor however it
//! ended. State that must survive is in rows; the documentation of each actor says what a crash loses. What needs no actor is a
//! function, which the command line calls too.
//!
//! A **context** is a plain struct of handles: [`context::OperationContext`] for operations, one for each group of job handlers.
//! That of operations consists of smaller ones, such as [`auth::context::AuthContext`]; a function takes the smallest that has what it
//! needs. [`service::Service`] builds them from the bottom up.
//!
//! Every function that reads or changes rows, or files of the store, also fails when these do, with the conversions that crate
//! [`errors`] has of [`sea_orm::DbErr`] and [`storage::blobs::BlobError`]. Sections `# Errors` list only what a function returns
//! besides.
//!
//! The modules, lowest first. Each uses only modules of the rows before its own, and the crates `library`, `jobs` and below:
//!
//! | Module | Content |
//! |---|---|
//! | [`service_state`] | facts about the whole service that every process reads |
//! | `write_behind` | how an actor gathers small changes and writes them together |
//! | `user_shards`, `throttle` | state that the threads of requests share; limits of how often something happens |
//! | [`ai`] | the pause of the AI and the budgets |
//! | [`ledger`] | what is to be written about each call, until it is |
//! | [`notices`] | notices in the app and by e-mail |
//! | [`retrieval`], [`answerer`] | search: the passage index, with its changes within the permits of a port; answers to questions |
//! | [`auth`] | accounts, keys, OAuth grants, sessions, limits |
//! | [`activity`] | writes the ledger: the activity view, and the last uses of keys and grants |
//! | [`idempotency`], [`cursor`], [`batch_slots`], [`document_page_cache`] | repeated requests, pages of lists, batches at the same time, document pages that were read recently |
//! | [`ingest`] | the stages from a URL or a file to passages, feeds, and the repair of the index |
//! | [`target`], [`context`], [`operation`] | what operations are made from, what they work with, and what they declare |
//! | [`operations`] | the operations |
//! | [`pipeline`] | checks around every operation |
//! | [`worker`] | background work: the table from the kind of a job to its handler, and the maintenance tasks |
//! | [`service`] | the start, the health and the end of all of it |

pub mod activity;
pub mod ai;
pub mod answerer;
pub mod auth;
pub mod batch_slots;
pub mod context;
pub mod cursor;
pub mod document_page_cache;
pub mod idempotency;
pub mod ingest;
pub mod ledger;
pub mod notices;
pub mod operation;
pub mod operations;
pub mod originals;
pub mod pdf_pages;
pub mod picture_cache;
pub mod pipeline;
pub mod recordings;
pub mod retrieval;
pub mod service;
pub mod service_state;
pub mod target;
mod throttle;
mod user_shards;
pub mod worker;
mod write_behind;
