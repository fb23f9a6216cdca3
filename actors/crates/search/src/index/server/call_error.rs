//! Why a call of the server failed.

use std::time::Duration;

use concurrency::CallOutcome;
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
    pub const UNAVAILABLE: i32 = 14;
}

/// What the client says of an answer without a status of gRPC, before the status of HTTP.
const HTTP_STATUS_NOTICE: &str = "mapped from HTTP status code ";

/// The codes of gRPC by their numbers, as labels of metrics.
const CODE_LABELS: [&str; 17] = [
    "ok",
    "cancelled",
    "unknown",
    "invalid_argument",
    "deadline_exceeded",
    "not_found",
    "already_exists",
    "permission_denied",
    "resource_exhausted",
    "failed_precondition",
    "aborted",
    "out_of_range",
    "unimplemented",
    "internal",
    "unavailable",
    "data_loss",
    "unauthenticated",
];

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
    /// Returns the error of an answer with this code of gRPC, its name and its message.
    fn of_status(code: i32, name: String, message: &str) -> Self {
        let Some(http_status) = http_status(message) else {
            let message = certificate_fault(message).unwrap_or_else(|| shortened(message));
            return CallError::Refused { code, name, message };
        };
        let message = format!(
            "HTTP status {http_status} without a status of gRPC, as of a proxy whose server is down; if it lasts, correct vectors.url"
        );
        // The client takes 404 for a method that the server lacks. A proxy answers with it while it knows no server.
        if code == code::UNIMPLEMENTED {
            return CallError::Refused { code: code::UNAVAILABLE, name: "Unavailable".to_owned(), message };
        }
        CallError::Refused { code, name, message }
    }

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

    /// Returns the kind of the failure, as a label of metrics: the code of gRPC, or why there is none.
    pub fn label(&self) -> &'static str {
        match self {
            CallError::Suspended(_) => "suspended",
            CallError::Timeout(_) => "timeout",
            CallError::Refused { code, .. } => usize::try_from(*code)
                .ok()
                .and_then(|code| CODE_LABELS.get(code))
                .copied()
                .unwrap_or("unknown"),
            CallError::Unsent(_) => "unsent",
        }
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

    /// Returns how a call ended that failed by a fault of the server ([`Self::is_fault_of_server`]).
    pub fn outcome(&self) -> CallOutcome {
        match self {
            CallError::Timeout(_) => CallOutcome::TimedOut,
            CallError::Suspended(_) | CallError::Refused { .. } | CallError::Unsent(_) => CallOutcome::Failed,
        }
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
        CallError::of_status(i32::from(status.code()), format!("{:?}", status.code()), status.message())
    }
}

/// Returns the status of HTTP from the message of the client, if the answer had no status of gRPC: it is not of the server itself.
fn http_status(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once(HTTP_STATUS_NOTICE)?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    (!digits.is_empty()).then_some(digits)
}

/// Returns what is wrong with the certificate of the server, and what to do, if the message of a failed connection says so: it has the error
/// of rustls in its debug format.
fn certificate_fault(message: &str) -> Option<String> {
    let (_, reason) = message.split_once("InvalidCertificate(")?;
    let reason: String = reason.chars().take_while(char::is_ascii_alphanumeric).collect();
    Some(format!(
        "its certificate is not trusted ({reason}); for a CA of your own, name the PEM file of its certificate in SSL_CERT_FILE"
    ))
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
    fn answer_of_a_proxy_is_temporary() {
        // The codes are those of tonic for 404, 502 and 503.
        for (code, name, http) in
            [(12, "Unimplemented", 404), (14, "Unavailable", 502), (14, "Unavailable", 503)]
        {
            let message = format!("grpc-status header missing, mapped from HTTP status code {http}");

            let error = CallError::of_status(code, name.to_owned(), &message);

            assert!(error.is_fault_of_server(), "{http}");
            let text = error.to_string();
            assert!(text.contains(&format!("HTTP status {http} ")) && text.contains("vectors.url"), "{text}");
        }
        let of_server = CallError::of_status(12, "Unimplemented".to_owned(), "unknown method");
        assert!(!of_server.is_fault_of_server());
    }

    #[test]
    fn label_of_a_failure_names_its_code() {
        for (code, label) in [(1, "cancelled"), (14, "unavailable"), (16, "unauthenticated"), (99, "unknown")]
        {
            assert_eq!(refused(code).label(), label);
        }
        assert_eq!(CallError::Timeout(Duration::ZERO).label(), "timeout");
    }

    #[test]
    fn client_waits_for_a_second_at_least() {
        let error = refused(14).into_index_error("search", Duration::ZERO);

        assert!(
            matches!(error, IndexError::Unreachable { retry_after, .. } if retry_after == MIN_RETRY_AFTER)
        );
    }

    #[test]
    fn fault_of_a_certificate_is_told_with_its_remedy() {
        let message = "Failed to connect to https://a/: tonic::transport::Error(Transport, ConnectError(Custom { \
                       kind: InvalidData, error: InvalidCertificate(UnknownIssuer) }))";

        let fault = certificate_fault(message).unwrap();

        assert!(fault.contains("(UnknownIssuer)") && fault.contains("SSL_CERT_FILE"), "{fault}");
        assert_eq!(certificate_fault("connection refused"), None);
    }
}
