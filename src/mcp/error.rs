//! How an error is told over MCP (architecture.md, section 7): in a tool's result where a model can make something of
//! it, and by HTTP where the client must.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, RETRY_AFTER, WWW_AUTHENTICATE};
use actors::error::{Error, STORAGE_FULL_RETRY_AFTER};
use entity::scope::Scope;
use serde_json::{Map, Value, json};
use tracing::error;

use super::rpc::{Failure, INTERNAL_ERROR};

/// The methods that /mcp has.
pub const METHODS: &str = "POST, OPTIONS";

/// An error as it is told.
#[derive(Debug)]
pub struct Told {
    /// The code, which stands in the activity view too.
    pub code: &'static str,
    /// For people.
    pub message: String,
    /// Where it is told.
    pub place: Place,
}

/// Where an error is told.
#[derive(Debug)]
pub enum Place {
    /// In the tool's result, with these members beside code and message.
    Result(Map<String, Value>),
    /// By HTTP.
    Http(StatusCode, Header),
}

/// The header that belongs to a refusal.
#[derive(Debug)]
pub enum Header {
    /// None.
    Plain,
    /// Where to find out how to authenticate.
    Challenge,
    /// The scope that the key lacks.
    LacksMcp,
    /// When to come again.
    RetryAfter(Duration),
    /// What the route has.
    Allow,
}

/// How this error is told.
pub fn told(error: &Error) -> Told {
    let (code, place) = match error {
        Error::KeyInvalid => ("API_KEY_INVALID", http(StatusCode::UNAUTHORIZED, Header::Challenge)),
        Error::KeyInQuery => ("API_KEY_IN_QUERY", http(StatusCode::UNAUTHORIZED, Header::Challenge)),
        Error::NotSignedIn | Error::WrongPassword => {
            ("NOT_SIGNED_IN", http(StatusCode::UNAUTHORIZED, Header::Challenge))
        }
        Error::NotForMcp => ("SCOPE_REQUIRED", http(StatusCode::FORBIDDEN, Header::LacksMcp)),
        Error::ForeignOrigin => ("FOREIGN_ORIGIN", http(StatusCode::FORBIDDEN, Header::Plain)),
        Error::Closed(_) => ("CLOSED", http(StatusCode::FORBIDDEN, Header::Plain)),
        Error::MethodNotAllowed(_) => {
            ("METHOD_NOT_ALLOWED", http(StatusCode::METHOD_NOT_ALLOWED, Header::Allow))
        }
        Error::UploadIncomplete => ("UPLOAD_INCOMPLETE", http(StatusCode::CONFLICT, Header::Plain)),
        Error::UploadExpired => ("UPLOAD_EXPIRED", http(StatusCode::GONE, Header::Plain)),
        Error::UploadRefused(_) => ("UPLOAD_REFUSED", http(StatusCode::FORBIDDEN, Header::Plain)),
        Error::StorageFull => (
            "STORAGE_FULL",
            http(StatusCode::INSUFFICIENT_STORAGE, Header::RetryAfter(STORAGE_FULL_RETRY_AFTER)),
        ),
        Error::TooLarge => ("PAYLOAD_TOO_LARGE", http(StatusCode::PAYLOAD_TOO_LARGE, Header::Plain)),
        Error::BodyTimeout => ("REQUEST_TIMEOUT", http(StatusCode::REQUEST_TIMEOUT, Header::Plain)),
        Error::UnsupportedType(_) => {
            ("UNSUPPORTED_MEDIA_TYPE", http(StatusCode::UNSUPPORTED_MEDIA_TYPE, Header::Plain))
        }
        Error::TooManyFailures(wait) => {
            ("RATE_LIMITED", http(StatusCode::TOO_MANY_REQUESTS, Header::RetryAfter(*wait)))
        }
        Error::Busy(wait) => ("OVERLOADED", http(StatusCode::SERVICE_UNAVAILABLE, Header::RetryAfter(*wait))),
        Error::StorageFailed(failure) => {
            ("OVERLOADED", http(StatusCode::SERVICE_UNAVAILABLE, Header::RetryAfter(failure.retry_after())))
        }
        Error::Internal(_) => ("INTERNAL", http(StatusCode::INTERNAL_SERVER_ERROR, Header::Plain)),
        Error::PlanRequired => ("PLAN_REQUIRED", result([])),
        Error::PlanLimit(_) => ("PLAN_LIMIT_REACHED", result([])),
        // The specification's table of tool errors has no code for a limit of the plan but this one.
        Error::LibraryFull { used, limit } | Error::TransfersFull { used, limit } => {
            ("PLAN_REQUIRED", result([("usedBytes", json!(used)), ("limitBytes", json!(limit))]))
        }
        Error::ProjectLimit => ("PROJECT_LIMIT_REACHED", result([])),
        Error::ProjectArchived => ("PROJECT_ARCHIVED", result([])),
        Error::QuotaUsed => ("AI_QUOTA_EXCEEDED", result([])),
        Error::AiPaused => ("AI_PAUSED", result([])),
        Error::AiUnavailable => ("AI_UNAVAILABLE", result([])),
        Error::ScopeRequired(scopes) => ("SCOPE_REQUIRED", result([("scopes", json!(scopes))])),
        Error::ScopeNotAllowed(scopes) => ("SCOPE_NOT_ALLOWED", result([("scopes", json!(scopes))])),
        Error::Invalid(invalid) => ("VALIDATION_FAILED", result([("fields", json!(invalid.faults))])),
        Error::UrlRejected(_) => ("URL_REJECTED", result([])),
        Error::FeedNotFound(_) => ("FEED_NOT_FOUND", result([])),
        Error::NotFound => ("NOT_FOUND", result([])),
        Error::Conflict(_) | Error::StillRunning => ("CONFLICT", result([])),
        Error::RateLimited(wait) => {
            ("RATE_LIMITED", result([("retryAfterSeconds", json!(seconds(wait.retry_after)))]))
        }
    };
    Told { code, message: error.to_string(), place }
}

fn http(status: StatusCode, header: Header) -> Place {
    Place::Http(status, header)
}

fn result<const N: usize>(members: [(&str, Value); N]) -> Place {
    Place::Result(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Whole seconds, rounded up and never none: a client that is sent back too early is refused again.
pub fn seconds(wait: Duration) -> u64 {
    crate::rest::seconds(wait).max(1)
}

/// The challenge that lets a client find the authorization server (RFC 9728, section 5.1). `sent` is whether the
/// request presented anything: only then can it be an invalid token (RFC 6750, section 3.1).
pub fn challenge(base_url: &str, sent: bool) -> String {
    let error = if sent { r#", error="invalid_token""# } else { "" };
    format!(r#"Bearer resource_metadata="{base_url}/.well-known/oauth-protected-resource/mcp"{error}"#)
}

/// The challenge for a connected application that may ask its user for more.
pub fn step_up(base_url: &str, scopes: &[Scope]) -> String {
    let names: Vec<_> = scopes.iter().map(|scope| scope.name()).collect();
    format!(r#"{}, error="insufficient_scope", scope="{}""#, challenge(base_url, false), names.join(" "))
}

/// The refusal of a request by HTTP. What could be told in a result is told here only where no tool was called.
pub fn refusal(error: &Error, base_url: &str, sent: bool) -> Failure {
    if let Error::Internal(_) = error {
        error!(cause = error.chain(), "could not answer an MCP request");
    }
    let Told { code, message, place } = told(error);
    let (status, header) = match place {
        Place::Http(status, header) => (status, header),
        Place::Result(_) => (StatusCode::BAD_REQUEST, Header::Plain),
    };
    // The specification of 2026-07-28 leaves -32000 to -32019 to the past; other numbers are free.
    let number = if status.is_server_error() { INTERNAL_ERROR } else { i32::from(status.as_u16()) };
    let failure = Failure::new(status, number, message).with_data(json!({ "code": code }));
    match header {
        Header::Plain => failure,
        Header::Challenge => failure.with_header(WWW_AUTHENTICATE, challenge(base_url, sent)),
        Header::LacksMcp => {
            failure.with_header(WWW_AUTHENTICATE, r#"Bearer error="insufficient_scope", scope="mcp""#)
        }
        Header::RetryAfter(wait) => failure.with_header(RETRY_AFTER, seconds(wait).to_string()),
        Header::Allow => failure.with_header(ALLOW, METHODS),
    }
}

#[cfg(test)]
mod tests {
    use actors::error::Wait;

    use super::*;

    fn members(error: &Error) -> Value {
        match told(error).place {
            Place::Result(members) => Value::Object(members),
            Place::Http(status, _) => panic!("told by HTTP: {status}"),
        }
    }

    #[test]
    fn a_wait_is_rounded_up_and_never_zero() {
        for (wait, whole) in [(0, 1), (999, 1), (1000, 1), (2100, 3)] {
            assert_eq!(seconds(Duration::from_millis(wait)), whole);
        }
        assert_eq!(seconds(Duration::MAX), u64::MAX);
    }

    #[test]
    fn a_result_says_what_is_missing_wrong_or_how_long_to_wait() {
        let wait = Wait { limit: 3, retry_after: Duration::from_millis(2100), reset: Duration::from_secs(9) };

        assert_eq!(members(&Error::RateLimited(wait)), json!({ "retryAfterSeconds": 3 }));
        assert_eq!(
            members(&Error::ScopeRequired(vec![Scope::WriteNotes])),
            json!({ "scopes": ["write:notes"] })
        );
        assert_eq!(
            members(&Error::invalid("limit", "must be small")),
            json!({ "fields": [{ "field": "limit", "reason": "must be small" }] })
        );
    }

    #[test]
    fn the_challenge_calls_a_token_invalid_only_where_one_was_sent() {
        let metadata = "https://a.example/.well-known/oauth-protected-resource/mcp";

        assert_eq!(challenge("https://a.example", false), format!("Bearer resource_metadata=\"{metadata}\""));
        assert_eq!(
            challenge("https://a.example", true),
            format!("Bearer resource_metadata=\"{metadata}\", error=\"invalid_token\"")
        );
    }

    #[test]
    fn an_internal_error_says_nothing_of_its_cause() {
        let error = Error::internal("table `secrets` is gone");

        let answer = format!("{:?}", refusal(&error, "https://a.example", true));

        assert!(!answer.contains("secrets"), "{answer}");
    }
}
