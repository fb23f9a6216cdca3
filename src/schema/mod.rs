//! JSON Schemas, generated from the types that the program uses: of requests from the types that are parsed, of replies from the types
//! that are serialized.

mod reply;
mod request;

pub use reply::{described_by, generator, plain};
pub use request::{for_model, for_query, has_field, is_id};
