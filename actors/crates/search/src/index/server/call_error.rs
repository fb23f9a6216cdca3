//! Why a call of the server failed.

use std::time::Duration;

use qdrant_client::QdrantError;

use crate::index::fault::EngineFault;
use crate::index::index_error::IndexError;

/// Characters of the server's message that are kept. It names fields and ids, never text: the index has none.
const MAX_MESSAGE_CHARS: usize = 300;
/// Minimum value of `Retry-After`.
const MIN_RETRY_AFTER: Duration = Duration::from_secs(1);

/// The codes of gRPC that say something of the request, and not of the server.
mod code {
    pub const INVALID_ARGUMENT: i32 = 3;
    pub const NOT_FOUND: i32 = 5;
    pub const ALREADY_EXISTS: i32 = 6;
    pub const FAILED_PRECONDITION: i32 = 9;
    pub const OUT_OF_RANGE: i32 = 11;
    pub const UNIMPLEMENTED: i32 = 12;
}

/// Why a call failed. Holds neither the key nor the headers of the response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Earlier calls failed, so this one was not made.
    #[error("it has failed several times, and is asked again in {} ms", .0.as_millis())]
    Suspended(Duration),
    /// There was no answer within this time.
    #[error("it did not answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// The server, or the transport, answered with an error.
    #[error("{name}: {message}")]
    Refused {
        /// The code of gRPC.
        code: i32,
        /// The name of the code.
        name: String,
        /// The message, shortened.
        message: String,
    },
    /// The client could not send the request.
    #[error("the request could not be sent: {0}")]
    Unsent(String),
}

impl CallError {
    /// Returns whether the failure says something of the server: it does not work, or does not admit this client.
    pub fn is_fault_of_server(&self) -> bool {
        !matches!(
            self,
            CallError::Refused {
                code: code::INVALID_ARGUMENT
                    | code::NOT_FOUND
                    | code::ALREADY_EXISTS
                    | code::FAILED_PRECONDITION
                    | code::OUT_OF_RANGE
                    | code::UNIMPLEMENTED,
                ..
            }
        )
    }

    /// Returns whether the collection does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, CallError::Refused { code: code::NOT_FOUND, .. })
    }

    /// Returns whether what is to be created exists. Versions of the server differ in the code.
    pub fn is_already_there(&self) -> bool {
        matches!(self, CallError::Refused { code: code::ALREADY_EXISTS, .. })
            || matches!(self, CallError::Refused { message, .. } if message.contains("already exists"))
    }

    /// Converts the error of a request to the collection; `action` names what failed ([`IndexError::Engine`]). `wait` is the time for which
    /// the server is not asked.
    pub fn into_index_error(self, action: &'static str, wait: Duration) -> IndexError {
        if self.is_not_found() {
            IndexError::Blocked
        } else if self.is_fault_of_server() {
            IndexError::Unreachable { retry_after: wait.max(MIN_RETRY_AFTER), source: Box::new(self) }
        } else {
            IndexError::Engine { action, fault: EngineFault::InvalidRequest, source: Box::new(self) }
        }
    }
}

impl From<QdrantError> for CallError {
    fn from(error: QdrantError) -> Self {
        let status = if let QdrantError::ResponseError { status }
        | QdrantError::ResourceExhaustedError { status, .. } = error
        {
            status
        } else {
            return CallError::Unsent(shortened(&error.to_string()));
        };
        let name = format!("{:?}", status.code());
        CallError::Refused { code: i32::from(status.code()), name, message: shortened(status.message()) }
    }
}

fn shortened(message: &str) -> String {
    message.chars().take(MAX_MESSAGE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: i32) -> CallError {
        CallError::Refused { code, name: "a code".to_owned(), message: "a message".to_owned() }
    }

    #[test]
    fn server_that_fails_or_refuses_the_key_is_unreachable() {
        let wait = Duration::from_secs(3);
        let timeout = CallError::Timeout(wait);
        // Cancelled, Unknown, DeadlineExceeded, PermissionDenied, ResourceExhausted, Aborted, Internal, Unavailable, DataLoss,
        // Unauthenticated.
        let codes = [1, 2, 4, 7, 8, 10, 13, 14, 15, 16].map(refused);
        for error in codes.into_iter().chain([timeout, CallError::Suspended(wait)]) {
            let converted = error.clone().into_index_error("search", wait);

            assert!(
                matches!(converted, IndexError::Unreachable { retry_after, .. } if retry_after == wait),
                "{error}"
            );
            assert!(!converted.is_damage());
        }
    }

    #[test]
    fn refused_request_says_nothing_of_the_server() {
        for code in [3, 6, 9, 11, 12] {
            let error = refused(code).into_index_error("search", Duration::ZERO);

            assert_eq!(error.fault(), Some(EngineFault::InvalidRequest), "{code}");
        }
        assert!(matches!(refused(5).into_index_error("search", Duration::ZERO), IndexError::Blocked));
    }

    #[test]
    fn client_waits_for_a_second_at_least() {
        let error = refused(14).into_index_error("search", Duration::ZERO);

        assert!(
            matches!(error, IndexError::Unreachable { retry_after, .. } if retry_after == MIN_RETRY_AFTER)
        );
    }
}
