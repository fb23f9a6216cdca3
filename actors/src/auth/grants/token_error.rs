//! Errors of the token endpoint. The OAuth endpoints answer them with a code of RFC 6749, section 5.2.

use concurrency::AskError;
use errors::Error;
use sea_orm::DbErr;

use super::lifecycle::TransitionError;
use super::pkce::VERIFIER_RULE;

/// The description of [`TokenError::InvalidClient`].
pub const INVALID_CLIENT: &str =
    "the client is unknown or did not authenticate by the method that it registered";
/// The description of [`TokenError::InvalidScope`].
pub const SCOPE_EXCEEDED: &str = "the requested scope exceeds the scope that the user granted";

/// Why a client gets no tokens.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The client is unknown, or did not authenticate by the method that it registered.
    #[error("{}", INVALID_CLIENT)]
    InvalidClient,
    /// The code or the refresh token is not valid for this client, or not any more.
    #[error("{0}")]
    InvalidGrant(&'static str),
    /// The code or refresh token never existed or was removed long ago, so it counts as a failed authentication. The client gets the
    /// response of [`TokenError::InvalidGrant`].
    #[error("{0}")]
    UnknownGrant(&'static str),
    /// The code verifier is missing or malformed (RFC 7636, section 4.1).
    #[error("{}", VERIFIER_RULE)]
    InvalidVerifier,
    /// The requested scope exceeds what was granted.
    #[error("{}", SCOPE_EXCEEDED)]
    InvalidScope,
    /// Another error, such as of the database, or of an actor that is busy.
    #[error(transparent)]
    Internal(#[from] Error),
}

impl From<DbErr> for TokenError {
    fn from(error: DbErr) -> Self {
        TokenError::Internal(error.into())
    }
}

impl From<TransitionError> for TokenError {
    fn from(error: TransitionError) -> Self {
        match error {
            TransitionError::AlreadyUsed => {
                TokenError::InvalidGrant("the code or refresh token was used before; authorize again")
            }
            TransitionError::Database(error) => error.into(),
        }
    }
}

impl From<AskError> for TokenError {
    fn from(error: AskError) -> Self {
        TokenError::Internal(error.into())
    }
}
