//! What the table in [`errors`] means in HTTP (contract.md, section 2).

use actix_web::http::StatusCode;
use errors::Error;

/// Returns the HTTP status of an error.
pub fn status(error: &Error) -> StatusCode {
    StatusCode::from_u16(error.spec().status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
