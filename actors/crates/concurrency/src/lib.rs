//! # Bounded and fair work
//!
//! Locks, permits, queues and lanes for work that is bounded and shared fairly between accounts. It runs on tokio alone: crates below
//! the actors use it without compiling actix.
//!
//! | To | Call |
//! |---|---|
//! | gather items that are written in batches, also while they cannot be written | [`BatchBuffer`] |
//! | repeat an action while something is under way, such as the renewal of a lease | [`Heartbeat`] |
//! | run blocking work in a lane whose permits no other lane can take | [`Workers::run`] |
//! | hash passwords a few at a time, fairly | [`Workers::run_password_hash`] |
//! | let requests run before a thread | [`lower_thread_priority`] |
//! | give permits or turns to waiting accounts in turn | [`FairSemaphore`], [`FairQueue`] |
//! | have one lock, or the same number of permits, for each key | [`KeyedMutex`], [`KeyedSemaphore`] |
//! | share one value for each key among its holders | [`KeyedWeakMap`] |
//! | learn why an actor gave no answer | [`AskError`] |
//! | leave a service alone for a while after it failed several times | [`CircuitBreaker`] |
//! | send requests to a service from blocking code | [`OutboundRuntime`] |
//!
//! | Bound | |
//! |---|---|
//! | callers in a [`FairQueue`] | 4,096, and 1,024 of one account |
//! | unwritten items in a [`BatchBuffer`] | bytes, which its owner chooses; then the oldest are dropped |
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
//! Everything here is in memory of one process: after a restart all permits are free and all queues empty. This crate knows no rows,
//! no HTTP and no settings, and depends on no other crate of Carrel.
//!
//! [`AskError`] is declared here and not in crate `runtime`, which has the actors: crate `errors` converts it, and is built without
//! actix.

mod ask_error;
mod batch_buffer;
mod circuit_breaker;
mod fair_queue;
mod fair_semaphore;
mod heartbeat;
mod keyed_mutex;
mod keyed_semaphore;
mod keyed_weak_map;
mod outbound_runtime;
mod priority;
mod workers;

pub use ask_error::AskError;
pub use batch_buffer::BatchBuffer;
pub use circuit_breaker::{CallOutcome, CircuitBreaker, CircuitRules};
pub use fair_queue::{FairQueue, QUEUE_RETRY_AFTER, QueueFull};
pub use fair_semaphore::{FairPermit, FairSemaphore, PermitError};
pub use heartbeat::Heartbeat;
pub use keyed_mutex::KeyedMutex;
pub use keyed_semaphore::KeyedSemaphore;
pub use keyed_weak_map::KeyedWeakMap;
pub use outbound_runtime::OutboundRuntime;
pub use priority::lower_thread_priority;
pub use workers::{Lane, WorkError, Workers};
