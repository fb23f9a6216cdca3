//! # Supervised actors
//!
//! Starts, asks, watches and restarts actors. Apart from the actors themselves, this is the only crate that knows how actix behaves.
//!
//! | To | Call |
//! |---|---|
//! | start an actor, and restart it whenever it stops or panics (actix's supervisor does not, after a panic) | [`supervise`] |
//! | ask an actor, with a bound on how many ask at once and on how long each waits | [`Port::ask`] |
//! | send it a message without waiting | [`Port::tell`] |
//! | run work that touches no state of an actor to its end, with a bound on how much runs at once | [`Port::run_to_end`] |
//! | run such work that can be repeated, with a bound on how long its end is awaited | [`Port::run_within_timeout`] |
//! | know how an actor is doing | [`Health`] |
//!
//! | Bound | |
//! |---|---|
//! | crashes of an actor within a minute, after which it is left down | 60 |
//! | pause before a restart, doubled from 1 ms | at most 1 s |
//!
//! Supervision needs unwinding: no profile may set `panic = "abort"`. An actor loses its state in a crash; the file of each actor says
//! what that means. Nothing is retried: the caller learns at once that an actor is busy, late or crashed ([`AskError`]). This crate
//! knows no rows, no HTTP and no settings. Of Carrel it depends only on the crate `concurrency`, which has no actix and declares
//! [`AskError`].
//!
//! [`AskError`]: concurrency::AskError

mod health;
mod port;
mod supervisor;

pub use health::{Health, HealthReport};
pub use port::Port;
pub use supervisor::{SupervisorConfig, supervise};
