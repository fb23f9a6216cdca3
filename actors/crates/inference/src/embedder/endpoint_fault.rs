//! Why a service that embeds cannot be used.

/// Why a service that embeds cannot be used. Contains nothing of what was sent or received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointFault {
    /// There is no connection to it, or it was lost.
    #[error("it cannot be reached (ai.embedding.url)")]
    Unreachable,
    /// The response was not complete within the deadline.
    #[error("it did not answer in time")]
    Timeout,
    /// The key is missing, wrong, or lacks a permission: status 401 or 403.
    #[error("it answered with status {0}: the key is not accepted (ai.embedding.key)")]
    KeyRefused(u16),
    /// There is no such route, or no such model: status 404.
    #[error(
        "it answered with status 404: it has no such route or model (ai.embedding.url, ai.embedding.model)"
    )]
    NotFound,
    /// It answered with this other status.
    #[error("it answered with status {0}")]
    Refused(u16),
    /// The response is too long or not as the API describes it, for this reason.
    #[error("its response is not valid: {0}")]
    InvalidResponse(&'static str),
    /// The vectors have another length than expected.
    #[error("its vectors have {found} numbers instead of {expected} (ai.embedding.dimensions)")]
    Dimensions {
        /// The length that is set, or that the vectors had before.
        expected: usize,
        /// The length of a vector of the response.
        found: usize,
    },
}

impl EndpointFault {
    /// Returns the fault that a status other than 200 shows.
    pub(super) fn of_status(status: u16) -> Self {
        match status {
            401 | 403 => Self::KeyRefused(status),
            404 => Self::NotFound,
            _ => Self::Refused(status),
        }
    }

    /// Returns whether the cause may be the texts of the request alone, so that others may be accepted.
    pub(super) fn is_about_texts(self) -> bool {
        matches!(self, Self::Refused(400 | 413 | 415 | 422))
    }

    /// Returns whether it lasts until someone changes a setting, or the service.
    pub(super) fn is_about_settings(self) -> bool {
        matches!(
            self,
            Self::KeyRefused(_) | Self::NotFound | Self::InvalidResponse(_) | Self::Dimensions { .. }
        )
    }
}
