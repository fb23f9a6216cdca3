//! Why a client gets no tokens. The small error of the grant rules; the surface tells it in the words of RFC 6749.

use runtime::AskError;
use sea_orm::DbErr;

use super::lifecycle::Untaken;
use crate::error::Error;

/// See the file's head.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The client is unknown, or did not prove to be itself.
    #[error("the client is unknown or did not authenticate")]
    Client,
    /// The code or the refresh token is not good for this client, or not any more.
    #[error("{0}")]
    Grant(&'static str),
    /// There never was such a code or refresh token, or not for long: it may be a guess. It is told as the one before.
    #[error("{0}")]
    Guessed(&'static str),
    /// More was asked for than was granted.
    #[error("the scope exceeds what was granted")]
    Scope,
    /// Something inside went wrong, or there is no room.
    #[error(transparent)]
    Inside(#[from] Error),
}

impl From<DbErr> for Refused {
    fn from(error: DbErr) -> Self {
        Refused::Inside(error.into())
    }
}

impl From<Untaken> for Refused {
    fn from(untaken: Untaken) -> Self {
        match untaken {
            Untaken::Used => Refused::Grant("it was used before"),
            Untaken::Database(error) => error.into(),
        }
    }
}

impl From<AskError> for Refused {
    fn from(error: AskError) -> Self {
        Refused::Inside(error.into())
    }
}
