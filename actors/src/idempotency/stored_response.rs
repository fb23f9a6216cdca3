//! A response that was stored for a repeated request.

use entity::idempotency::Model;
use errors::Error;
use values::time::Timestamp;

use super::row_state::is_heartbeat_missing;

/// A response that was sent before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredResponse {
    /// The HTTP status that was sent.
    pub status: u16,
    /// `data` of a success, `error` of a failure, as JSON.
    pub body: String,
}

/// Checks that the row is that of the same request.
pub(super) fn check_same_request(row: &Model, request_hash: &[u8]) -> Result<(), Error> {
    if row.request_hash == request_hash {
        Ok(())
    } else {
        Err(Error::conflict("this Idempotency-Key was already used for a different request; use a new one"))
    }
}

/// Returns the stored response of a row, or the error of a request that has none.
pub(super) fn stored_response(
    row: Model,
    request_hash: &[u8],
    now: Timestamp,
) -> Result<StoredResponse, Error> {
    check_same_request(&row, request_hash)?;
    match (row.status.and_then(|status| u16::try_from(status).ok()), row.body) {
        (Some(status), Some(body)) => Ok(StoredResponse { status, body }),
        (Some(200..=299), None) => Err(Error::conflict(
            "the request with this Idempotency-Key was carried out, and its response is not kept; look at the result before you \
             send it again with a new key",
        )),
        (Some(_), None) => Err(Error::conflict(
            "the request with this Idempotency-Key was refused, and its response is not kept; send it with a new key",
        )),
        (None, _) if row.is_committed && is_heartbeat_missing(row.heartbeat_at, now) => Err(Error::conflict(
            "the request with this Idempotency-Key was carried out at least in part, and its response is not kept; look at the \
             result before you send it again with a new key",
        )),
        (None, _) => Err(Error::StillRunning),
    }
}
