//! Searches of the library.

mod at_once;
mod corrections;
mod endpoint_vectors;
mod filters;
mod query_language;
