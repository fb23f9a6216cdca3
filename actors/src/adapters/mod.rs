//! Adapters to what is outside of the service's own logic, most of them behind a trait: file storage, e-mail, the passage
//! index, the chat model, and the parsers of untrusted bytes.

pub mod answerer;
pub mod blobs;
pub mod index;
pub mod mail;
pub mod sandbox;
