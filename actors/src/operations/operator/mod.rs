//! What operators see and change in the web app: accounts, background work, failing hosts, storage and the state of the server.
//!
//! An operator is an account that is marked as one: the account of the set-up, and those of `carrel user set-operator`. Nothing of what
//! users read or write is shown here: no titles, no URLs and no texts, only counts, hosts and the reasons of failures.

pub mod ai;
pub mod health;
pub mod hosts;
pub mod storage;
pub mod users;
pub mod work;
