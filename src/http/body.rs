//! Reads a request's body: never more than may be, never for longer than it should take.

use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use actix_web::web::{Bytes, BytesMut, Data, Payload};
use actors::error::Error;
use futures_util::StreamExt;

/// A body that takes longer is given up: a slow sender holds no place for ever.
const DEADLINE: Duration = Duration::from_secs(60);

/// The longest JSON body (`server.max_body_bytes`).
#[derive(Clone, Copy, Debug)]
pub struct MaxBody(pub usize);

/// The whole body of at most `most` bytes.
///
/// # Errors
/// [`Error::TooLarge`], from the declared length already where there is one.
pub async fn read(request: &HttpRequest, mut payload: Payload, most: usize) -> Result<Bytes, Error> {
    let declared =
        request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|length| length > most as u64) {
        return Err(Error::TooLarge);
    }
    let gather = async {
        let mut body = BytesMut::new();
        while let Some(some) = payload.next().await {
            let some = some.map_err(|_| Error::invalid("body", "did not arrive whole"))?;
            if body.len() + some.len() > most {
                return Err(Error::TooLarge);
            }
            body.extend_from_slice(&some);
        }
        Ok(body.freeze())
    };
    let read = tokio::time::timeout(DEADLINE, gather).await;
    read.unwrap_or_else(|_| Err(Error::invalid("body", "did not arrive in time")))
}

/// The longest JSON body that this server takes.
pub fn most(request: &HttpRequest) -> usize {
    request.app_data::<Data<MaxBody>>().map_or(0, |most| most.0)
}

/// Whether the body is said to be JSON; a charset beside it does not matter, JSON is UTF-8.
///
/// # Errors
/// [`Error::UnsupportedType`] where it is not.
pub fn must_be_json(request: &HttpRequest) -> Result<(), Error> {
    let said = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = said.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        Ok(())
    } else {
        Err(Error::UnsupportedType("the body must be JSON"))
    }
}
