//! What can be asked: one file an operation, with what is asked, what is answered, what it needs and what it does.
//!
//! Each names its fields as tables ([`validation`]), so that every surface reads it in the same way.

pub mod account;
pub mod activity;
pub mod apps;
pub mod ask;
pub mod bookmarks;
pub mod chunks;
pub mod collections;
pub mod cursor;
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
pub mod target;
pub mod transcript;
pub mod unknown;
pub mod uploads;
pub mod usage;
pub mod work;
