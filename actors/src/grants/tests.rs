//! Laws of connections.
