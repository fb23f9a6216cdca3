//! Who may do what: accounts, API keys, OAuth clients, sessions, and the limits of each.
//!
//! | Module | Content |
//! |---|---|
//! | [`secret`], [`password`] | secrets that are shown once and stored as hashes, and passwords |
//! | [`caller`] | the caller of a request, which only a checked credential creates |
//! | [`accounts`] | user accounts and the changes that an operator makes to them |
//! | [`keys`] | API keys: their actor, its cache, and the rules of plans |
//! | [`grants`] | OAuth clients, and what users grant them |
//! | [`limits`] | hourly and daily limits, and limits by IP address |
//! | [`sessions`] | signed-in browsers, and protection against guessed passwords |
//! | [`authenticate`] | from the credential of a request to its caller |
//! | [`context`] | all of it that the surfaces and the operations use |
//!
//! Functions take what they need (the core, a handle), so the command line uses those that need no running server.

pub mod accounts;
pub mod authenticate;
pub mod caller;
mod client_names;
pub mod context;
pub(crate) mod existing_users;
pub mod grants;
pub mod keys;
pub(crate) mod last_use;
mod latest_by_id;
pub mod limits;
pub mod password;
pub mod password_resets;
pub mod secret;
mod session_row;
pub mod sessions;
