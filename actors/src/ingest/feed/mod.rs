//! Feeds in the background: one fetch of an address serves all who follow it.
//!
//! A source's row is its schedule ([`due`]); when its time has come a job fetches it ([`poll`]) and keeps what came as the
//! source's copy; then each follower gets the new entries as own rows, by a job of the follower's own ([`deliver`]). Each
//! step may run twice. Entries become text like every saved page, behind what somebody waits for. A feed that names a hub
//! says by itself when there is something new ([`push`]). [`forget`] takes a feed's documents away after its follower left.

pub mod deliver;
pub mod due;
pub mod failing;
pub mod fetch;
pub mod forget;
pub mod poll;
pub mod push;
pub mod saved;
mod schedule;
pub mod source;
