//! # The verbs
//!
//! What can be *done*, by whom, how often, and who keeps the state. This crate knows rows and actors; it never sees HTTP.
//!
//! An **operation** ([`ops`]) is one thing that can be asked. [`perform`] is the one pipeline to it: key, plan, limits,
//! scopes, parameters, then the operation, then a line in the activity. Having a [`caller::Caller`] proves that these
//! checks ran.
//!
//! An **actor** owns state that must change in one place, a queue, or a schedule: [`keys`], [`limits`], [`grants`],
//! [`retrieval`], [`ingest`], [`activity`], [`notices`]. Each stands behind a handle that hides its [`runtime::Port`]: a port
//! promises that an answer comes, or that the caller learns at once that the actor is busy, late or crashed. The supervisor
//! restarts an actor whatever ended it. What must survive is a row; each actor's file says what is lost if it dies now.
//!
//! What people bring comes in by three ways, each with its rows, its files and its jobs: [`uploads`] of one file,
//! [`imports`] of what they have elsewhere, and back again [`exports`] of everything.
//!
//! The size of a library is kept in a row of its own and checked before a write commits: [`library_quota`]. The bytes of files
//! of imports and exports are reserved before they are written: [`transfer_quota`]. [`owned_transaction`] describes how a
//! transaction begins and in which order it locks. [`disk`] decides what a disk that is nearly full still accepts.
//!
//! What needs no actor is a function with an owner in its query. The command line has the [`desk`] alone: it writes rows
//! and jobs, never the index.

pub mod accounts;
pub mod activity;
pub mod ai;
pub mod answerer;
pub mod app;
pub mod caller;
pub mod clock;
pub mod core;
pub mod error;
pub mod exports;
pub mod fields;
pub mod grants;
pub mod idempotency;
pub mod idempotency_claim;
pub mod imports;
pub mod ingest;
pub mod keys;
pub mod library_quota;
pub mod limits;
pub mod notices;
pub mod ops;
pub mod owned_transaction;
pub mod password;
pub mod perform;
pub mod recognise;
pub mod retrieval;
pub mod sessions;
pub mod state;
pub mod transfer_quota;
pub mod uploads;
mod uses;
