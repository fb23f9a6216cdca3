//! # A Qdrant server for tests
//!
//! [`TestQdrant`] serves the gRPC interface of a Qdrant server on this machine, over the engine that the server has too (qdrant-edge), so
//! that an index on a server is tested without one. It runs on a thread of its own, for tests with and without a runtime.
//!
//! It serves the requests that Carrel sends and answers all others with `Unimplemented`. It is stricter than a server: a filter must begin
//! with the user, a write must wait until it is applied, and a field that is filtered must have an index (module `request_rules`). A
//! collection has one shard, and nothing outlives the process.
//!
//! | To | Call |
//! |---|---|
//! | start one | [`TestQdrant::start`], [`TestQdrant::with_options`] |
//! | let requests fail or wait | [`TestQdrant::fail`], [`TestQdrant::refuse`], [`TestQdrant::hang`], [`TestQdrant::hang_at`] |
//! | refuse connections, and accept them again | [`TestQdrant::stop`], [`TestQdrant::restart`] |
//! | lose all collections | [`TestQdrant::wipe`] |
//! | serve by https | [`ServerOptions::has_tls`], [`TestQdrant::ca_file`] |

mod collection;
mod collections;
mod convert;
mod gate;
mod points;
mod request_rules;
mod server;
mod service;
#[cfg(test)]
mod tests;

pub use gate::ServerOptions;
pub use server::TestQdrant;
