//! JSON Schemas, made from the types that the program works with: requests from the types that are read, replies from the types
//! that are written.

mod reply;
mod request;

pub use reply::{described_by, generator, plain};
pub use request::{for_model, for_query, has_field, is_id};
