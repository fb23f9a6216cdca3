//! The one error of the OAuth endpoints: its status, its code and its description. Codes are those of RFC 6749 (sections 4.1.2.1
//! and 5.2), RFC 7591 (section 3.2.2) and RFC 8707 (section 2); revocation (RFC 7009, section 2.2.1) uses the same ones.

use std::time::Duration;

use actix_web::http::StatusCode;
use actors::auth::grants::client::InvalidClientMetadata;
use actors::auth::grants::pkce::VERIFIER_RULE;
use actors::auth::grants::{
    INVALID_CLIENT, REGISTRATION_CLOSED, RegistrationError, SCOPE_EXCEEDED, TokenError,
};
use errors::{Error, INTERNAL_MESSAGE};

use crate::http::body::BodyError;
use crate::http::error::status;

/// Why an OAuth request is refused. `Display` is the `error_description`, for the developer of the client.
#[derive(Debug, thiserror::Error)]
pub enum OAuthError {
    /// A required parameter is missing or empty.
    #[error("the parameter {0} is missing")]
    MissingParameter(&'static str),
    /// A parameter was repeated that may be sent only once (RFC 6749, section 3.1).
    #[error("the parameter {0} is repeated; send it once")]
    RepeatedParameter(&'static str),
    /// A parameter is longer than the server sends back or stores.
    #[error("{name} must have at most {max_bytes} bytes")]
    ParameterTooLong {
        /// The name of the parameter.
        name: &'static str,
        /// The bytes that are accepted.
        max_bytes: usize,
    },
    /// Another fault of the request; the text is the description.
    #[error("{0}")]
    InvalidRequest(&'static str),
    /// The endpoint does not support the method. Holds the methods that it supports, as the value of `Allow`.
    #[error("the endpoint does not support the method; it supports {0}")]
    MethodNotAllowed(&'static str),
    /// The body has another type than the endpoint reads; the text is the description.
    #[error("{0}")]
    UnsupportedMediaType(&'static str),
    /// The body is longer than the endpoint accepts.
    #[error("the body is too large: at most {limit} bytes are allowed; send a smaller one")]
    BodyTooLarge {
        /// The bytes that are accepted.
        limit: u64,
    },
    /// The body arrived more slowly than `http::min_body_rate` allows.
    #[error("the body arrived too slowly; send it again")]
    BodyTimeout,
    /// The client is unknown, or did not authenticate by the method that it registered.
    #[error("{}", INVALID_CLIENT)]
    InvalidClient {
        /// Whether it sent `Authorization`, which is answered with a challenge (RFC 6749, section 5.2).
        by_header: bool,
    },
    /// The code or the refresh token is unknown, spent, expired or another client's; the text is the description.
    #[error("{0}")]
    InvalidGrant(&'static str),
    /// `grant_type` is neither `authorization_code` nor `refresh_token`.
    #[error("grant_type must be authorization_code or refresh_token")]
    UnsupportedGrantType,
    /// `response_type` is not `code`, the only one of OAuth 2.1.
    #[error("response_type must be code")]
    UnsupportedResponseType,
    /// Request objects are not supported (OpenID Connect Core, section 6).
    #[error("request objects are not supported; send the parameters themselves instead of request")]
    RequestNotSupported,
    /// Request objects are not supported (OpenID Connect Core, section 6).
    #[error("request objects are not supported; send the parameters themselves instead of request_uri")]
    RequestUriNotSupported,
    /// No requested scope may be granted, or a refresh requests more than was granted; the text is the description.
    #[error("{0}")]
    InvalidScope(&'static str),
    /// The resource is not this server's `/mcp`.
    #[error("resource must be the URL of this MCP server")]
    InvalidTarget,
    /// A registration contains a redirect URI that is not allowed; the text is the description.
    #[error("{0}")]
    InvalidRedirectUri(&'static str),
    /// A registration contains other metadata that is not allowed; the text is the description.
    #[error("{0}")]
    InvalidClientMetadata(&'static str),
    /// The operator does not allow apps to register themselves.
    #[error("{}", REGISTRATION_CLOSED)]
    RegistrationClosed,
    /// The user declined, or allowed no scope.
    #[error("the user declined")]
    AccessDenied,
    /// Too many failures or registrations from one IP address.
    #[error("{}", Error::TooManyFailures(*.0))]
    TooManyAttempts(Duration),
    /// An error that is not about OAuth. Only a temporary one, such as a full disk, is described to the client.
    #[error("{}", describe(.0))]
    Internal(Error),
}

impl OAuthError {
    /// Returns the status and the `error` code.
    fn spec(&self) -> (StatusCode, &'static str) {
        match self {
            Self::MissingParameter(_)
            | Self::RepeatedParameter(_)
            | Self::ParameterTooLong { .. }
            | Self::InvalidRequest(_) => (StatusCode::BAD_REQUEST, "invalid_request"),
            Self::MethodNotAllowed(_) => (StatusCode::METHOD_NOT_ALLOWED, "invalid_request"),
            Self::UnsupportedMediaType(_) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid_request"),
            Self::BodyTooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "invalid_request"),
            Self::BodyTimeout => (StatusCode::REQUEST_TIMEOUT, "invalid_request"),
            // Clients register again on this status, such as after the server removed an unused client.
            Self::InvalidClient { .. } => (StatusCode::UNAUTHORIZED, "invalid_client"),
            Self::InvalidGrant(_) => (StatusCode::BAD_REQUEST, "invalid_grant"),
            Self::UnsupportedGrantType => (StatusCode::BAD_REQUEST, "unsupported_grant_type"),
            Self::UnsupportedResponseType => (StatusCode::BAD_REQUEST, "unsupported_response_type"),
            Self::RequestNotSupported => (StatusCode::BAD_REQUEST, "request_not_supported"),
            Self::RequestUriNotSupported => (StatusCode::BAD_REQUEST, "request_uri_not_supported"),
            Self::InvalidScope(_) => (StatusCode::BAD_REQUEST, "invalid_scope"),
            Self::InvalidTarget => (StatusCode::BAD_REQUEST, "invalid_target"),
            Self::InvalidRedirectUri(_) => (StatusCode::BAD_REQUEST, "invalid_redirect_uri"),
            Self::InvalidClientMetadata(_) => (StatusCode::BAD_REQUEST, "invalid_client_metadata"),
            Self::RegistrationClosed | Self::AccessDenied => (StatusCode::FORBIDDEN, "access_denied"),
            // No RFC has a code for rate limits. This is the only one that invites a client to try again.
            Self::TooManyAttempts(_) => (StatusCode::TOO_MANY_REQUESTS, "temporarily_unavailable"),
            Self::Internal(error) if error.spec().is_temporary => (status(error), "temporarily_unavailable"),
            Self::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, "server_error"),
        }
    }

    /// Returns the HTTP status where the client is answered directly, not by a redirect.
    pub fn status(&self) -> StatusCode {
        self.spec().0
    }

    /// Returns the value of `error` in the response.
    pub fn code(&self) -> &'static str {
        self.spec().1
    }

    /// Returns how long the client should wait; `None` if the same request would fail again.
    pub fn retry_after(&self) -> Option<Duration> {
        if let Self::TooManyAttempts(wait) = self {
            Some(*wait)
        } else if let Self::Internal(error) = self {
            error.retry_after().filter(|_| error.spec().is_temporary)
        } else {
            None
        }
    }
}

/// The description of an error that is not about OAuth; other causes than temporary ones are for the log alone.
fn describe(error: &Error) -> String {
    if error.spec().is_temporary { error.to_string() } else { INTERNAL_MESSAGE.to_owned() }
}

impl From<Error> for OAuthError {
    fn from(error: Error) -> Self {
        let spec = error.spec();
        if let Error::TooManyFailures(wait) = error {
            Self::TooManyAttempts(wait)
        } else if spec.is_temporary || spec.is_logged {
            Self::Internal(error)
        } else {
            // An endpoint checks its parameters itself, so that another error than these is a fault of the server.
            Self::Internal(Error::internal(error.chain()))
        }
    }
}

impl From<BodyError> for OAuthError {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge { limit } => Self::BodyTooLarge { limit },
            BodyError::TooSlow => Self::BodyTimeout,
            BodyError::Incomplete => Self::InvalidRequest("the body ended before all of it had arrived"),
            BodyError::UnsupportedType(why) => Self::UnsupportedMediaType(why),
            BodyError::Internal(error) => error.into(),
        }
    }
}

impl From<TokenError> for OAuthError {
    fn from(error: TokenError) -> Self {
        match error {
            // The client was removed after it had authenticated, so no challenge would help. `client::authenticate`
            // reports its own failures.
            TokenError::InvalidClient => Self::InvalidClient { by_header: false },
            TokenError::InvalidGrant(why) | TokenError::UnknownGrant(why) => Self::InvalidGrant(why),
            TokenError::InvalidVerifier => Self::InvalidRequest(VERIFIER_RULE),
            TokenError::InvalidScope => Self::InvalidScope(SCOPE_EXCEEDED),
            TokenError::Internal(error) => error.into(),
        }
    }
}

impl From<InvalidClientMetadata> for OAuthError {
    fn from(invalid: InvalidClientMetadata) -> Self {
        match invalid {
            InvalidClientMetadata::RedirectUri(why) => Self::InvalidRedirectUri(why),
            InvalidClientMetadata::Other(why) => Self::InvalidClientMetadata(why),
        }
    }
}

impl From<RegistrationError> for OAuthError {
    fn from(error: RegistrationError) -> Self {
        match error {
            RegistrationError::Closed => Self::RegistrationClosed,
            RegistrationError::InvalidMetadata(invalid) => invalid.into(),
            RegistrationError::TooManyAttempts(wait) => Self::TooManyAttempts(wait),
            RegistrationError::Internal(error) => error.into(),
        }
    }
}

/// Why a request for authorization is refused, and who learns it (RFC 6749, section 4.1.2.1).
#[derive(Debug)]
pub enum AuthorizationError {
    /// The user, on a page: nothing is sent to a redirect URI that may not belong to the client.
    Page {
        /// The heading of the page.
        title: &'static str,
        /// What is wrong, and what the user can do.
        text: String,
    },
    /// The client, at its redirect URI.
    Redirect {
        /// A redirect URI that the client registered.
        redirect_uri: String,
        /// The `state` of the request; `None` if it was missing or repeated.
        state: Option<String>,
        /// The fault that the client is told.
        error: OAuthError,
    },
    /// Another error, such as that the database failed. The user sees a page.
    Internal(Error),
}

impl From<Error> for AuthorizationError {
    fn from(error: Error) -> Self {
        Self::Internal(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_statuses_are_those_of_the_rfcs() {
        let wait = Duration::from_secs(9);
        for (error, status, code) in [
            (OAuthError::MissingParameter("code"), 400, "invalid_request"),
            (OAuthError::RepeatedParameter("code"), 400, "invalid_request"),
            (OAuthError::ParameterTooLong { name: "state", max_bytes: 1 }, 400, "invalid_request"),
            (OAuthError::MethodNotAllowed("POST, OPTIONS"), 405, "invalid_request"),
            (OAuthError::UnsupportedMediaType("the body must be JSON"), 415, "invalid_request"),
            (OAuthError::BodyTooLarge { limit: 1 }, 413, "invalid_request"),
            (OAuthError::BodyTimeout, 408, "invalid_request"),
            (OAuthError::InvalidClient { by_header: true }, 401, "invalid_client"),
            (OAuthError::InvalidGrant("the code has expired"), 400, "invalid_grant"),
            (OAuthError::UnsupportedGrantType, 400, "unsupported_grant_type"),
            (OAuthError::UnsupportedResponseType, 400, "unsupported_response_type"),
            (OAuthError::RequestNotSupported, 400, "request_not_supported"),
            (OAuthError::RequestUriNotSupported, 400, "request_uri_not_supported"),
            (OAuthError::InvalidScope("the scope is unknown"), 400, "invalid_scope"),
            (OAuthError::InvalidTarget, 400, "invalid_target"),
            (OAuthError::InvalidRedirectUri("redirect_uris is missing"), 400, "invalid_redirect_uri"),
            (OAuthError::InvalidClientMetadata("client_name is too long"), 400, "invalid_client_metadata"),
            (OAuthError::RegistrationClosed, 403, "access_denied"),
            (OAuthError::AccessDenied, 403, "access_denied"),
            (OAuthError::TooManyAttempts(wait), 429, "temporarily_unavailable"),
            (OAuthError::Internal(Error::Busy(wait)), 503, "temporarily_unavailable"),
            (OAuthError::Internal(Error::invalid("name", "is too long")), 500, "server_error"),
            (OAuthError::Internal(Error::internal("a table is missing")), 500, "server_error"),
        ] {
            assert_eq!((error.status().as_u16(), error.code()), (status, code));
            // The characters that RFC 6749 allows in `error_description`.
            let description = error.to_string();
            let is_allowed = |c: char| matches!(c, ' '..='~') && !matches!(c, '"' | '\\');
            assert!(description.chars().all(is_allowed), "{description}");
            assert!(description.len() > 15 && !description.contains("a table"), "{description}");
        }
    }

    #[test]
    fn temporary_error_is_retried() {
        let wait = Duration::from_secs(9);

        assert_eq!(OAuthError::TooManyAttempts(wait).retry_after(), Some(wait));
        assert_eq!(OAuthError::Internal(Error::Busy(wait)).retry_after(), Some(wait));
        assert_eq!(OAuthError::Internal(Error::AiUnavailable).retry_after(), None);
        assert_eq!(OAuthError::InvalidTarget.retry_after(), None);
    }
}
