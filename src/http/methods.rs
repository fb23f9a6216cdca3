//! The methods that routes have, and those that none has.

use actix_web::http::Method;

/// Whether this is a method that the service never supports: TRACE or CONNECT.
pub fn is_unserved(method: &Method) -> bool {
    matches!(*method, Method::TRACE | Method::CONNECT)
}

/// The methods that routes of this service have.
pub fn known_methods() -> Vec<String> {
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].map(str::to_owned).to_vec()
}
