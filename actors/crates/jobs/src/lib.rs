//! The queue of durable work: rows with a lease, a fencing token, tries, and an end.
//!
//! It is bounded: of each kind at most one job waits and one runs for a thing, however often it is asked for; beyond
//! [`MOST_WAITING`] of a person's no more is saved or imported; what runs at a time is bounded by the track's room. What waits
//! is a row, and takes no memory.
//!
//! [`enqueue()`] writes the intent, in the transaction that makes the work necessary. [`claim()`] takes what is due, fairly
//! ([`turn`]), and each try ends in one of the ways of [`ending`].

mod enqueue;
mod claim;
mod complete;
mod inspect;
mod fairness;
mod kind;

use std::time::Duration;

pub use enqueue::{enqueue, enqueue_all, withdraw};
pub use claim::{Claimed, ClaimOrder, LeaseOwner, SlotBudget, claim, end_leases};
pub use complete::{
    DIED, Later, advance, backoff, mark_dead, crash_reason, current, end_wait, finish, give_up, yield_job,
    put_back, release, renew, sweep,
};
pub use inspect::{
    Depth, depths, failed_by_kind, has_room, is_given_up, is_waiting, others_wait, subjects, subjects_due,
};
pub use fairness::promote;
pub use kind::{Priority, Track, JobKind};

/// A try that says nothing for so long is taken for dead. Its worker renews at a third of that.
pub const LEASE: Duration = Duration::from_secs(12);
/// Jobs of one person that wait for their turn: beyond so many that they wait for saves are refused, and beyond so many of a
/// backlog imports wait.
pub const MOST_WAITING: u64 = 100_000;
/// After so many tries a job is given up.
pub const MOST_ATTEMPTS: i32 = 6;
/// After so many tries that died with their process a job is given up.
pub const MOST_DEATHS: i32 = 3;
