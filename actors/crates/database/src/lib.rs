//! # The database
//!
//! Opens SQLite or PostgreSQL, lends connections for reads and writes, and keeps faults of the storage from destroying acknowledged
//! writes.
//!
//! | To | Call |
//! |---|---|
//! | open it and migrate the tables | [`Db::open`]; for the server [`Db::connect`] and [`Db::prepare`] |
//! | check a URL before it is used | [`Db::check_url`] |
//! | read | [`Db::read`] |
//! | read a row or a few that an index finds, without a change of threads | [`Db::direct`], [`DirectQuery`], [`DirectRow`] |
//! | write one statement | [`Db::write`] |
//! | write several statements, all or none | [`Db::begin`], [`Transaction`] |
//! | share a commit with those that wait too | [`Db::begin_in_group`] |
//! | use the connections of account security or of jobs | [`Db::for_accounts`], [`Db::for_jobs`] |
//! | bound the connections of one account | [`on_behalf_of`] |
//! | insert many rows | [`insert_all`] |
//! | keep the databases from the wrong index | [`tested_only()`], [`is_null_tested`] |
//! | continue a list after a row | [`compare_rows()`] |
//! | do maintenance in one process at a time | [`Db::hold_lock`] |
//! | compare the counted bytes of libraries, and the counters, with the rows | [`library_counts`], [`counters`] |
//! | know what an error means | [`DatabaseFault::of`]; [`StorageFault::of`] for the storage alone |
//! | know whether writes are stopped, and why | [`Db::health`], [`StorageHealth`] |
//! | know how many statements were sent | [`Db::statement_count`] |
//! | check for damage | [`Db::check_before_start`], [`Db::check_while_serving`], [`Db::full_check`] |
//! | watch the storage in the background | [`Db::watch_files`], [`Db::watch_log`], [`Db::verify_after_damage`], [`checkpoint_below_floor`] |
//!
//! SQLite takes one writer at a time, and a transaction that reads before it writes fails at once when another wrote in
//! between; so writes go through a pool of one connection and begin IMMEDIATE, and reads use separate connections.
//! Direct reads, of one row or a few, run on the thread of their caller, through connections that belong to no pool, and through the
//! readers where they cannot.
//! On PostgreSQL requests, account security and jobs have separate pools, each one for reads and one for writes: a statement that waits for
//! a lock holds its connection, and the others continue. An account has a share of them ([`on_behalf_of`]).
//!
//! A storage fault (disk full, failed read or sync) of the writer never outlives its connection: [`Transaction`] refuses
//! everything after a failed statement, and the connection is lent only outside of any transaction, or else replaced. Damage, and a
//! file that is not at its path, stop all writes until they are over.
//!
//! This crate runs the migrations and uses no table: [`library_counts`] and [`counters`] only make SQL. Of carrel-values it uses only
//! the ids of accounts. It retries only opening a file that another process holds.
//!
//! The feature `test-support` adds what tests need: the statements that are sent (`Db::record_statements`), how the database runs them
//! (`QueryPlan`, `Explainer`), and the errors of a database (`refusal_with_code`). Only dev-dependencies turn it on.

mod account_share;
mod bulk_insert;
mod checkpoint;
mod close;
mod compare_rows;
mod connection;
mod connection_url;
pub mod counters;
mod db;
mod direct;
mod direct_reads;
mod driver_panics;
mod failure;
mod fault;
mod file_names;
mod group_commit;
mod handles;
mod health;
mod hold_lock;
mod integrity;
pub mod library_counts;
mod list_lengths;
mod lock_file;
mod log_size;
mod migrations;
mod open;
mod open_error;
mod open_files;
mod pools;
mod postgres;
mod rescue;
mod retry;
mod session_lock;
mod sqlite;
mod statement_counts;
#[cfg(any(test, feature = "test-support"))]
mod test_support;
mod tested_only;
mod transaction;
mod verification;
mod watch_files;

pub use account_share::on_behalf_of;
pub use bulk_insert::insert_all;
pub use checkpoint::checkpoint_below_floor;
pub use compare_rows::compare_rows;
pub use connection::Connection;
pub use connection_url::UrlFault;
pub use db::Db;
pub use direct::{DirectQuery, DirectRow};
pub use direct_reads::DirectReads;
pub use fault::{DatabaseFault, StorageFault, is_reported};
pub use health::StorageHealth;
pub use list_lengths::{padded, padded_to};
pub use open_error::{Damage, OpenError};
pub use session_lock::SessionLock;
pub use statement_counts::StatementRoute;
#[cfg(any(test, feature = "test-support"))]
pub use test_support::{
    DistinctStatements, Explainer, PartialRead, QueryPlan, ResidualFilter, StatementLog, refusal_with_code,
};
pub use tested_only::{is_null_tested, tested_only};
pub use transaction::Transaction;

#[cfg(test)]
mod tests;
