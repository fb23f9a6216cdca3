//! How MCP presents an error, by the table in [`errors`]: in the result of a tool where a model can act on it, and by
//! HTTP where the client has to.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, RETRY_AFTER, WWW_AUTHENTICATE};
use errors::{Error, McpDelivery};
use entity::scope::Scope;
use serde_json::{Map, Value, json};
use tracing::error;

use super::rpc::{Failure, INTERNAL_ERROR};
use crate::rest::status;

/// The methods that /mcp supports.
pub const METHODS: &str = "POST, OPTIONS";

/// What the result of a tool says of an error: its code, its message and its details. `None` for an error that is delivered by
/// HTTP.
pub fn tool_error(error: &Error) -> Option<Map<String, Value>> {
    let spec = error.spec();
    if spec.mcp == McpDelivery::Http {
        return None;
    }
    let mut members = error.details();
    members.insert("code".to_owned(), json!(spec.mcp_code));
    members.insert("message".to_owned(), json!(error.to_string()));
    if let Error::RateLimited(wait) = error {
        members.insert("retryAfterSeconds".to_owned(), json!(seconds(wait.retry_after)));
    }
    Some(members)
}

/// Whole seconds, rounded up and never zero: a client that comes back too early is refused again.
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

/// The refusal of a request by HTTP. An error that is delivered in a result is a bad request here: no tool was called.
pub fn refusal(error: &Error, base_url: &str, sent: bool) -> Failure {
    if let Error::Internal(_) = error {
        error!(cause = error.chain(), "could not answer an MCP request");
    }
    let spec = error.spec();
    let (status, wait) = match spec.mcp {
        McpDelivery::Http => (status(error), error.retry_after()),
        McpDelivery::ToolResult => (StatusCode::BAD_REQUEST, None),
    };
    // The specification of 2026-07-28 leaves -32000 to -32019 to the past; other numbers are free.
    let number = if status.is_server_error() { INTERNAL_ERROR } else { i32::from(status.as_u16()) };
    let mut failure = Failure::new(status, number, error).with_data(json!({ "code": spec.mcp_code }));
    if status == StatusCode::UNAUTHORIZED {
        failure = failure.with_header(WWW_AUTHENTICATE, challenge(base_url, sent));
    }
    if let Error::NotForMcp = error {
        let lacks_mcp = r#"Bearer error="insufficient_scope", scope="mcp""#;
        failure = failure.with_header(WWW_AUTHENTICATE, lacks_mcp);
    }
    if let Error::MethodNotAllowed(methods) = error {
        failure = failure.with_header(ALLOW, methods.join(", "));
    }
    if let Some(wait) = wait {
        failure = failure.with_header(RETRY_AFTER, seconds(wait).to_string());
    }
    failure
}

#[cfg(test)]
mod tests {
    use errors::{RateWindow, Wait};

    use super::*;

    fn details(error: &Error) -> Value {
        let mut members = tool_error(error).unwrap();
        assert!(members.remove("code").is_some() && members.remove("message").is_some());
        Value::Object(members)
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
        let (retry_after, reset) = (Duration::from_millis(2100), Duration::from_secs(9));
        let wait = Wait { limit: 3, window: RateWindow::Hour, retry_after, reset };

        assert_eq!(details(&Error::RateLimited(wait)), json!({ "retryAfterSeconds": 3 }));
        assert_eq!(
            details(&Error::ScopeRequired(vec![Scope::WriteNotes])),
            json!({ "scopes": ["write:notes"] })
        );
        assert_eq!(
            details(&Error::invalid("limit", "must be small")),
            json!({ "fields": [{ "field": "limit", "reason": "must be small" }] })
        );
    }

    #[test]
    fn full_library_has_a_code_of_the_specification() {
        let full = tool_error(&Error::LibraryFull { used: 9, limit: 8 }).unwrap();

        assert_eq!((&full["code"], &full["limitBytes"]), (&json!("PLAN_REQUIRED"), &json!(8)));
        assert!(tool_error(&Error::KeyInvalid).is_none());
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
