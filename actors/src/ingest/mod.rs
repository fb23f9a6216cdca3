//! Ingest: from an address or given content to passages that are found.
//!
//! The intent is a row ([`queue`]), written in the transaction that made it necessary; the actor claims due rows, runs
//! each in a task of its own under a lease, and moves it on. Every step may run twice: a text comes in as a new version of
//! its document in one transaction, and passages are points of the index under their own ids.

pub mod again;
pub mod feed;
pub(crate) mod file;
pub(crate) mod forget;
pub(crate) mod index;
mod magic;
pub(crate) mod marks;
pub mod media;
pub mod model;
pub(crate) mod page;
pub mod pdf;
pub mod places;
pub mod repair;
mod store;
mod unread;

pub use store::{Split, Text, put_text};
pub(crate) use unread::unread;
