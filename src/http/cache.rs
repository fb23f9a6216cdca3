//! Caching of answers that depend on who asks (faults-and-threats, row H4).

use actix_web::http::header::{CACHE_CONTROL, VARY};
use actix_web::middleware::DefaultHeaders;

/// Request headers by which a caller is known where API keys and access tokens are taken.
pub const BY_KEY: &str = "Authorization, X-API-Key";
/// The request header by which a caller is known where a session is taken.
pub const BY_SESSION: &str = "Cookie";

/// Keeps answers out of caches. A cache that keeps one all the same must keep it apart by the request headers that `vary`
/// names. Headers that an answer has already stay.
pub fn no_store(vary: &'static str) -> DefaultHeaders {
    DefaultHeaders::new().add((CACHE_CONTROL, "no-store")).add((VARY, vary))
}
