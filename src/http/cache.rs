//! Caching of responses that depend on the caller (row H4).

use actix_web::http::header::{CACHE_CONTROL, VARY};
use actix_web::middleware::DefaultHeaders;

/// The request headers that carry API keys and access tokens.
pub const BY_KEY: &str = "Authorization, X-API-Key";
/// The request header that carries a session.
pub const BY_SESSION: &str = "Cookie";

/// Keeps responses out of caches. A cache that stores one nevertheless must separate it by the request headers that `vary` names.
/// Headers that a response has already are kept.
pub fn no_store(vary: &'static str) -> DefaultHeaders {
    // `DefaultHeaders` adds only what is missing, so a handler can allow caching of its own response.
    DefaultHeaders::new().add((CACHE_CONTROL, "no-store")).add((VARY, vary))
}
