//! The methods that routes have, and those that none has.

use actix_web::http::Method;

/// Returns whether this is a method that the server never supports.
pub fn is_unserved(method: &Method) -> bool {
    // TRACE would send back headers with credentials, and CONNECT is for proxies (row H6).
    matches!(*method, Method::TRACE | Method::CONNECT)
}

/// Returns whether the fields of a request with this method come in its body, not in its query. The body of a GET, HEAD or DELETE has
/// no meaning (RFC 9110, section 9.3) and is ignored.
pub fn takes_body(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::DELETE)
}

/// Returns every method that a route of this server may have, for `Allow` where no path is known.
pub fn known_methods() -> Vec<String> {
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].map(str::to_owned).to_vec()
}
