//! What the table in [`errors`] means in HTTP (contract.md, section 2).

use std::time::Duration;

use actix_web::http::StatusCode;
use errors::Error;

/// Returns the HTTP status of an error.
pub fn status(error: &Error) -> StatusCode {
    StatusCode::from_u16(error.spec().status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Returns whole seconds, rounded up: rounding down would send a client back too early.
pub fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0))
}
