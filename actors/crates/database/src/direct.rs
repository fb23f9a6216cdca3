//! The connections of direct reads, which read one row or a few on the thread of their caller, their queries and their rows. Module
//! `direct_reads` uses them.
//!
//! A statement through a pool is a message to the thread of a connection and its answer, and another pair when the connection returns.
//! For a row that is found by an index they cost several times as much as the row itself. A direct read takes a connection that no other
//! read uses at the moment and runs the statement in place, so a task that awaits it is not suspended.

mod connection;
mod query;
mod row;

pub(super) use connection::{DirectConnections, DirectReadFailure};
pub use query::DirectQuery;
pub use row::DirectRow;
