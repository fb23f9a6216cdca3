//! Adapters to what is outside of the service's own logic, most of them behind a trait: HTTP, file storage, e-mail, the passage
//! index, and the speech and chat models.

pub mod answerer;
pub mod blobs;
pub mod fetch;
pub mod index;
pub mod mail;
pub mod probe;
pub mod transcriber;
