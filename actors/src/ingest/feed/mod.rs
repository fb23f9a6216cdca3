//! Feeds in the background: one fetch of a URL serves all users who follow it.
//!
//! The row of a source holds its schedule. When a fetch is due ([`due`]), a job fetches the feed ([`fetch_source`]) and stores it
//! as the source's copy; then a job of each follower creates rows for the new entries ([`deliver`]). Each step may run twice. The
//! texts of entries are made in the background, after everything that a user waits for. A feed that names a hub announces new
//! entries itself ([`websub`]). [`remove`] deletes the documents of a feed that is no longer followed.
//!
//! [`search`] finds the feed of a URL for a user who waits for it.

pub mod context;
pub mod deliver;
mod discovery;
pub mod due;
mod existing_entries;
mod fetch;
pub mod fetch_source;
pub mod incoming_entry;
pub mod remove;
pub mod search;
pub mod stored_copy;
pub mod websub;
pub mod websub_secrets;

pub use discovery::DiscoveredFeed;
