//! Refusals for machines, in the words of RFC 6749, section 5.2, RFC 7591, section 3.2.2, and RFC 8707, section 2.

use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use actors::error::{Error, STORAGE_FULL_RETRY_AFTER};
use actors::grants::client::Unfit;
use actors::grants::{NotRegistered, Refused};
use serde_json::json;
use tracing::error;

use super::open::{self, Kept};
use crate::rest::seconds;

/// Why a machine does not get what it asked for.
#[derive(Debug)]
pub enum Refusal {
    /// The request is not one.
    Request(&'static str),
    /// The body is of another type.
    Type(&'static str),
    /// The body is too long.
    TooLarge,
    /// The body arrived too slowly.
    Late,
    /// The client is unknown or did not authenticate; whether it tried by the header.
    Client {
        /// It sent `Authorization`.
        by_header: bool,
    },
    /// The code or the refresh token is not good.
    Grant(&'static str),
    /// No such way to tokens.
    GrantType,
    /// More was asked for than was granted, or nothing that there is.
    Scope,
    /// Tokens for something else.
    Target,
    /// A redirect address that may not be registered.
    Redirect(&'static str),
    /// Something else that may not be registered.
    Metadata(&'static str),
    /// Nobody may register.
    Closed,
    /// Too often from this address.
    Wait(Duration),
    /// Something inside.
    Inside(Error),
}

impl Refusal {
    /// As it is sent.
    pub fn response(self) -> HttpResponse {
        let (status, error, description) = self.told();
        let body = json!({ "error": error, "error_description": description });
        let mut response = open::json(status, Kept::Never, &body);
        let headers = response.headers_mut();
        match self {
            Refusal::Client { by_header: true } => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"carrel\""));
            }
            Refusal::Wait(wait) | Refusal::Inside(Error::Busy(wait)) => {
                headers.insert(RETRY_AFTER, seconds(wait).max(1).into());
            }
            Refusal::Inside(Error::StorageFailed(failure)) => {
                headers.insert(RETRY_AFTER, seconds(failure.retry_after()).into());
            }
            Refusal::Inside(Error::StorageFull) => {
                headers.insert(RETRY_AFTER, seconds(STORAGE_FULL_RETRY_AFTER).into());
            }
            Refusal::Inside(cause) => error!(cause = cause.chain(), "an OAuth request failed inside"),
            Refusal::Request(_)
            | Refusal::Type(_)
            | Refusal::TooLarge
            | Refusal::Late
            | Refusal::Client { by_header: false }
            | Refusal::Grant(_)
            | Refusal::GrantType
            | Refusal::Scope
            | Refusal::Target
            | Refusal::Redirect(_)
            | Refusal::Metadata(_)
            | Refusal::Closed => {}
        }
        response
    }

    fn told(&self) -> (StatusCode, &'static str, &'static str) {
        let bad = StatusCode::BAD_REQUEST;
        match self {
            Refusal::Request(why) => (bad, "invalid_request", why),
            Refusal::Type(why) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid_request", why),
            Refusal::Late => {
                (StatusCode::REQUEST_TIMEOUT, "invalid_request", "the body did not arrive in time")
            }
            Refusal::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "invalid_request", "the body is too large"),
            Refusal::Client { .. } => {
                (StatusCode::UNAUTHORIZED, "invalid_client", "the client is unknown or did not authenticate")
            }
            Refusal::Grant(why) => (bad, "invalid_grant", why),
            Refusal::GrantType => {
                (bad, "unsupported_grant_type", "grant_type must be authorization_code or refresh_token")
            }
            Refusal::Scope => (bad, "invalid_scope", "the scope exceeds what was granted"),
            Refusal::Target => (bad, "invalid_target", "tokens are for the MCP server of this service alone"),
            Refusal::Redirect(why) => (bad, "invalid_redirect_uri", why),
            Refusal::Metadata(why) => (bad, "invalid_client_metadata", why),
            Refusal::Closed => (StatusCode::FORBIDDEN, "access_denied", "registration is closed"),
            Refusal::Wait(_) => {
                (StatusCode::TOO_MANY_REQUESTS, "temporarily_unavailable", "too many attempts")
            }
            Refusal::Inside(Error::Busy(_)) => {
                (StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", "the service is busy")
            }
            Refusal::Inside(Error::StorageFailed(_)) => (
                StatusCode::SERVICE_UNAVAILABLE,
                "temporarily_unavailable",
                "the storage failed; try again later",
            ),
            Refusal::Inside(Error::StorageFull) => (
                StatusCode::INSUFFICIENT_STORAGE,
                "temporarily_unavailable",
                "the disk of the service is full",
            ),
            Refusal::Inside(_) => {
                (StatusCode::INTERNAL_SERVER_ERROR, "server_error", "something went wrong inside")
            }
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        if let Error::TooManyFailures(wait) = error {
            return Refusal::Wait(wait);
        }
        if matches!(error, Error::TooLarge) {
            return Refusal::TooLarge;
        }
        if matches!(error, Error::BodyTimeout) {
            return Refusal::Late;
        }
        if matches!(error, Error::Invalid(_)) {
            return Refusal::Request("the body did not arrive whole");
        }
        Refusal::Inside(error)
    }
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Client => Refusal::Client { by_header: false },
            Refused::Grant(why) | Refused::Guessed(why) => Refusal::Grant(why),
            Refused::Scope => Refusal::Scope,
            Refused::Inside(error) => error.into(),
        }
    }
}

impl From<Unfit> for Refusal {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::Redirect(why) => Refusal::Redirect(why),
            Unfit::Metadata(why) => Refusal::Metadata(why),
        }
    }
}

impl From<NotRegistered> for Refusal {
    fn from(not: NotRegistered) -> Self {
        match not {
            NotRegistered::Closed => Refusal::Closed,
            NotRegistered::Unfit(unfit) => unfit.into(),
            NotRegistered::TooMany(wait) => Refusal::Wait(wait),
            NotRegistered::Inside(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use actors::error::StorageFailure;

    use super::*;
    use crate::oauth::page;

    /// Of the fault table (row 5).
    #[test]
    fn storage_faults_are_answered_with_retry_after() {
        for (error, status, wait) in [
            (Error::StorageFull, 507, "60"),
            (Error::StorageFailed(StorageFailure::Passing), 503, "5"),
            (Error::StorageFailed(StorageFailure::Removed), 503, "60"),
            (Error::Busy(Duration::from_secs(1)), 503, "1"),
        ] {
            for response in [page::inside(&error), Refusal::from(error).response()] {
                assert_eq!(response.status().as_u16(), status);
                assert_eq!(response.headers().get(RETRY_AFTER).unwrap(), wait);
            }
        }
    }
}
