//! Methods that no route has, and those that routes have.

use actix_web::http::Method;

/// Whether a method asks for the request to be sent back or for a tunnel.
pub fn is_unserved(method: &Method) -> bool {
    matches!(*method, Method::TRACE | Method::CONNECT)
}

/// The methods that routes of this service have.
pub fn known_methods() -> Vec<String> {
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].map(str::to_owned).to_vec()
}
