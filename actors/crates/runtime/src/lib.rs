//! # Supervised actors and bounded work
//!
//! Starts, asks, watches and restarts actors, and bounds blocking work. Apart from the actors themselves, this is the only crate
//! that knows how actix behaves.
//!
//! | To | Call |
//! |---|---|
//! | start an actor, and restart it whenever it stops or panics (actix's supervisor does not, after a panic) | [`supervise`] |
//! | ask an actor, with a bound on how many ask at once and on how long each waits | [`Port::ask`] |
//! | send it a message without waiting | [`Port::tell`] |
//! | know how an actor is doing | [`Health`] |
//! | gather items until a batch is full, and again while they cannot be written | [`BatchBuffer`] |
//! | repeat an action while something is under way, such as the renewal of a lease | [`Heartbeat`] |
//! | run blocking work in a lane whose permits no other lane can take | [`Workers::run`] |
//! | hash passwords a few at a time, fairly | [`Workers::run_password_hash`] |
//! | give permits or turns to waiting accounts in turn | [`FairSemaphore`], [`FairQueue`] |
//! | have one lock, or the same number of permits, for each key | [`KeyedMutex`], [`KeyedSemaphore`] |
//! | share one value for each key among its holders | [`KeyedWeakMap`] |
//! | write an error with its causes to the log | [`error_chain()`] |
//!
//! | Bound | |
//! |---|---|
//! | crashes of an actor within a minute, after which it is left down | 60 |
//! | pause before a restart, doubled from 1 ms | at most 1 s |
//! | callers in a [`FairQueue`] | 4,096, and 1,024 of one account |
//! | unwritten items in a [`BatchBuffer`] | 50 batches; then the oldest are dropped |
//!
//! All crates have these words for who waits for what, also those that do not depend on this one:
//!
//! | Word | Meaning |
//! |---|---|
//! | slot | room for one piece of work, out of a bounded number |
//! | lock | room for one holder |
//! | permit, guard | holds a slot, or a lock, which is released when it is dropped |
//! | queue | the callers that wait |
//! | `acquire`, `lock` | waits in the queue |
//! | `try_acquire` | does not wait, but returns that there is no slot |
//!
//! Supervision needs unwinding: no profile may set `panic = "abort"`. An actor loses its state in a crash; the file of each actor says
//! what that means. Nothing is retried: the caller learns at once that an actor is busy, late or crashed ([`AskError`]). This crate
//! knows no rows, no HTTP and no settings, and depends on no other crate of Carrel.

mod batch_buffer;
mod error_chain;
mod fair_queue;
mod fair_semaphore;
mod health;
mod heartbeat;
mod keyed_mutex;
mod keyed_semaphore;
mod keyed_weak_map;
mod port;
mod priority;
mod supervisor;
mod workers;

pub use batch_buffer::BatchBuffer;
pub use error_chain::error_chain;
pub use fair_queue::{FairQueue, QUEUE_RETRY_AFTER, QueueFull};
pub use fair_semaphore::{FairPermit, FairSemaphore, PermitError};
pub use health::{Health, HealthReport};
pub use heartbeat::Heartbeat;
pub use keyed_mutex::KeyedMutex;
pub use keyed_semaphore::KeyedSemaphore;
pub use keyed_weak_map::KeyedWeakMap;
pub use port::{AskError, Port};
pub use supervisor::{SupervisorConfig, supervise};
pub use workers::{Lane, WorkError, Workers};
