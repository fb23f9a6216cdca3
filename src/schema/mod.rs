//! JSON Schemas, made from what the program works with: what may be asked from the tables of fields that it is read by,
//! what is answered from the types that are written.

mod fields;
mod reply;

pub use fields::{Reader, of_kind, record};
pub use reply::{described_by, generator, plain};
