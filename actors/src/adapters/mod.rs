//! Adapters to what is outside of the service's own logic, most of them behind a trait: HTTP, the speech and chat models.


pub mod answerer;
pub mod fetch;
pub mod probe;
pub mod transcriber;
