//! What the table in [`errors`] means in HTTP (contract.md, section 2).

use actix_web::http::StatusCode;
use errors::Error;

/// Returns the HTTP status of an error.
pub fn status(error: &Error) -> StatusCode {
    StatusCode::from_u16(error.spec().status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Formats the message of an error as a sentence of a page: with a capital letter and a full stop.
pub fn message_sentence(error: &Error) -> String {
    let message = error.to_string();
    let mut rest = message.chars();
    let first: String = rest.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", rest.as_str())
}
