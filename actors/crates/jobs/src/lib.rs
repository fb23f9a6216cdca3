//! The queue of durable work: rows with a lease, a fencing token, tries, and an end.
//!
//! It is bounded: of each kind at most one job waits and one runs for a thing, however often it is asked for; beyond
//! [`MOST_WAITING`] of a person's no more is saved or imported; what runs at a time is bounded by the track's room. What waits
//! is a row, and takes no memory.
//!
//! [`ask()`] writes the intent, in the transaction that makes the work necessary. [`claim()`] takes what is due, fairly
//! ([`turn`]), and each try ends in one of the ways of [`ending`].

mod ask;
mod claim;
mod ending;
mod look;
mod turn;
mod work;

use std::time::Duration;

pub use ask::{ask, ask_all, withdraw};
pub use claim::{Claimed, Favour, LeaseOwner, Places, claim, end_leases};
pub use ending::{
    DIED, Later, advance, backoff, bury, cause_of_death, current, end_wait, finish, give_up, give_way,
    put_back, release, renew, sweep,
};
pub use look::{
    Depth, depths, failed_by_kind, has_room, is_given_up, is_waiting, others_wait, subjects, subjects_due,
};
pub use turn::promote;
pub use work::{Priority, Track, Work};

/// A try that says nothing for so long is taken for dead. Its worker renews at a third of that.
pub const LEASE: Duration = Duration::from_secs(12);
/// Jobs of one person that wait for their turn: beyond so many that they wait for saves are refused, and beyond so many of a
/// backlog imports wait.
pub const MOST_WAITING: u64 = 100_000;
/// After so many tries a job is given up.
pub const MOST_ATTEMPTS: i32 = 6;
/// After so many tries that died with their process a job is given up.
pub const MOST_DEATHS: i32 = 3;
