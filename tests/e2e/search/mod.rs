//! Searches of the library.

mod at_once;
mod corrections;
mod endpoint_vectors;
mod filters;
mod model_change;
mod query_language;
mod word_parts;
