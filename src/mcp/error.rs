//! How MCP reports an error, by the table in [`errors`]: in the result of a tool if a model can act on it, and by HTTP if the
//! client has to.

use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, RETRY_AFTER, WWW_AUTHENTICATE};
use errors::{Error, HeaderRule, McpDelivery, retry_after_seconds};
use serde_json::{Map, Value, json};
use tracing::error;
use values::scope::Scope;

use super::rpc::{INTERNAL_ERROR, RpcError};
use crate::http::error::status;

/// The methods that /mcp supports, as the value of `Allow`. There is no GET, because there is no stream of events.
pub const METHODS: &str = "POST, OPTIONS";

/// The error in the result of a tool: code, message and details. `None` for an error that is reported by HTTP.
pub fn tool_error(error: &Error) -> Option<Map<String, Value>> {
    let spec = error.spec();
    if spec.mcp == McpDelivery::Http {
        return None;
    }
    let mut members = error.details();
    members.insert("code".to_owned(), json!(spec.mcp_code));
    members.insert("message".to_owned(), json!(error.to_string()));
    if let Some(exceeded) = error.rate_limit() {
        members.insert("retryAfterSeconds".to_owned(), json!(retry_after_seconds(exceeded.retry_after)));
    }
    Some(members)
}

/// Returns the challenge by which a client finds the authorization server (RFC 9728, section 5.1).
pub fn challenge(base_url: &str, has_credential: bool) -> String {
    // Only a request with a credential can have an invalid token (RFC 6750, section 3.1). There is no `scope`:
    // clients would request only what it names, and could not ask for more later.
    let error = if has_credential { r#", error="invalid_token""# } else { "" };
    format!(r#"Bearer resource_metadata="{base_url}/.well-known/oauth-protected-resource/mcp"{error}"#)
}

/// Returns the challenge for a connected app that may ask its user for these scopes in addition.
pub fn step_up(base_url: &str, scopes: &[Scope]) -> String {
    let names: Vec<_> = scopes.iter().map(|scope| scope.name()).collect();
    format!(r#"{}, error="insufficient_scope", scope="{}""#, challenge(base_url, false), names.join(" "))
}

/// Reports an error by HTTP. Logs the cause of an internal error.
pub fn refusal(error: &Error, base_url: &str, has_credential: bool) -> RpcError {
    let spec = error.spec();
    if spec.is_logged {
        error!(cause = error.chain(), "could not answer an MCP request");
    }
    let (status, wait) = match spec.mcp {
        McpDelivery::Http => (status(error), error.retry_after()),
        // No tool was called, so there is no result that could hold the error.
        McpDelivery::ToolResult => (StatusCode::BAD_REQUEST, None),
    };
    // The specification of 2026-07-28 reserves -32000 to -32019 for older revisions; other numbers are free.
    let number = if status.is_server_error() { INTERNAL_ERROR } else { i32::from(status.as_u16()) };
    let refusal = RpcError::new(status, number, error).with_data(json!({ "code": spec.mcp_code }));
    let refusal = match spec.headers {
        HeaderRule::BearerChallenge => {
            refusal.with_header(WWW_AUTHENTICATE, challenge(base_url, has_credential))
        }
        HeaderRule::McpScopeChallenge => {
            refusal.with_header(WWW_AUTHENTICATE, r#"Bearer error="insufficient_scope", scope="mcp""#)
        }
        HeaderRule::Allow => refusal.with_header(ALLOW, error.methods().join(", ")),
        // The result of a tool reports a limit.
        HeaderRule::None | HeaderRule::RateLimit | HeaderRule::Close => refusal,
    };
    match wait {
        Some(wait) => refusal.with_header(RETRY_AFTER, retry_after_seconds(wait).to_string()),
        None => refusal,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use errors::{RateLimitExceeded, RateWindow};

    use super::*;

    fn details(error: &Error) -> Value {
        let mut members = tool_error(error).unwrap();
        assert!(members.remove("code").is_some() && members.remove("message").is_some());
        Value::Object(members)
    }

    #[test]
    fn result_has_the_details_of_its_error() {
        let (retry_after, reset) = (Duration::from_millis(2100), Duration::from_secs(9));
        let exceeded = RateLimitExceeded { limit: 3, window: RateWindow::Hour, retry_after, reset };

        assert_eq!(details(&Error::RateLimited(exceeded)), json!({ "retryAfterSeconds": 3 }));
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
    fn challenge_reports_an_invalid_token_only_if_one_was_sent() {
        let metadata = "https://a.example/.well-known/oauth-protected-resource/mcp";

        assert_eq!(challenge("https://a.example", false), format!("Bearer resource_metadata=\"{metadata}\""));
        assert_eq!(
            challenge("https://a.example", true),
            format!("Bearer resource_metadata=\"{metadata}\", error=\"invalid_token\"")
        );
    }

    #[test]
    fn internal_error_does_not_expose_its_cause() {
        let error = Error::internal("table `secrets` is gone");

        let response = format!("{:?}", refusal(&error, "https://a.example", true));

        assert!(!response.contains("secrets"), "{response}");
    }
}
