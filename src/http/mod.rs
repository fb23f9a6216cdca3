//! What the surfaces share of HTTP: envelope and errors, credentials and sessions, bodies and their limits, the request log, health and
//! metrics.

pub mod account;
pub mod body;
pub mod budget;
pub mod cache;
pub mod compression;
pub mod context;
pub mod cors;
pub mod credential;
pub mod device;
pub mod disk_floor;
pub mod envelope;
pub mod error;
pub mod fields;
pub mod files;
pub mod head;
pub mod health;
pub mod host;
pub mod log;
pub mod methods;
pub mod metrics;
pub mod min_body_rate;
pub mod originals;
pub mod peer;
pub mod push;
pub mod response_slots;
pub mod session;
pub mod task;
pub mod upload_deadline;
