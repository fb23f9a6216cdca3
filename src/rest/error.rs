//! How REST tells each error: status, code and details (architecture.md, section 7; contract.md, section 2).

use actix_web::http::StatusCode;
use actors::error::{Error, Told};
use serde_json::{Value, json};

/// The HTTP status of an error.
pub fn status(error: &Error) -> StatusCode {
    match error {
        Error::KeyInvalid | Error::KeyInQuery | Error::NotSignedIn | Error::WrongPassword => {
            StatusCode::UNAUTHORIZED
        }
        Error::NotForMcp
        | Error::ForeignOrigin
        | Error::Closed(_)
        | Error::ScopeRequired(_)
        | Error::UploadRefused(_) => StatusCode::FORBIDDEN,
        Error::PlanRequired
        | Error::PlanLimit(_)
        | Error::LibraryFull { .. }
        | Error::TransfersFull { .. }
        | Error::ProjectLimit
        | Error::QuotaUsed => StatusCode::PAYMENT_REQUIRED,
        Error::ScopeNotAllowed(_) | Error::Invalid(_) => StatusCode::BAD_REQUEST,
        Error::UrlRejected(_) | Error::FeedNotFound(_) => StatusCode::UNPROCESSABLE_ENTITY,
        Error::NotFound => StatusCode::NOT_FOUND,
        Error::MethodNotAllowed(_) => StatusCode::METHOD_NOT_ALLOWED,
        Error::Conflict(_) | Error::StillRunning | Error::ProjectArchived | Error::UploadIncomplete => {
            StatusCode::CONFLICT
        }
        Error::UploadExpired => StatusCode::GONE,
        Error::StorageFull => StatusCode::INSUFFICIENT_STORAGE,
        Error::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Error::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
        Error::UnsupportedType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Error::RateLimited(_) | Error::TooManyFailures(_) => StatusCode::TOO_MANY_REQUESTS,
        Error::AiPaused | Error::AiUnavailable | Error::Busy(_) | Error::StorageFailed(_) => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        Error::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The stable code of an error.
pub fn code(error: &Error) -> &'static str {
    match error {
        Error::KeyInvalid => "API_KEY_INVALID",
        Error::KeyInQuery => "API_KEY_IN_QUERY",
        Error::NotForMcp | Error::ScopeRequired(_) => "SCOPE_REQUIRED",
        Error::NotSignedIn | Error::WrongPassword => "NOT_SIGNED_IN",
        Error::ForeignOrigin => "FOREIGN_ORIGIN",
        Error::Closed(_) => "CLOSED",
        Error::PlanRequired => "PLAN_REQUIRED",
        Error::PlanLimit(_) | Error::LibraryFull { .. } | Error::TransfersFull { .. } => "PLAN_LIMIT_REACHED",
        Error::ProjectLimit => "PROJECT_LIMIT_REACHED",
        Error::ProjectArchived => "PROJECT_ARCHIVED",
        Error::QuotaUsed => "AI_QUOTA_EXCEEDED",
        Error::AiPaused => "AI_PAUSED",
        Error::AiUnavailable => "AI_UNAVAILABLE",
        Error::ScopeNotAllowed(_) => "SCOPE_NOT_ALLOWED",
        Error::Invalid(_) => "VALIDATION_FAILED",
        Error::UrlRejected(_) => "URL_REJECTED",
        Error::FeedNotFound(_) => "FEED_NOT_FOUND",
        Error::NotFound => "NOT_FOUND",
        Error::MethodNotAllowed(_) => "METHOD_NOT_ALLOWED",
        Error::Conflict(_) | Error::StillRunning => "CONFLICT",
        Error::UploadIncomplete => "UPLOAD_INCOMPLETE",
        Error::UploadExpired => "UPLOAD_EXPIRED",
        Error::UploadRefused(_) => "UPLOAD_REFUSED",
        Error::StorageFull => "STORAGE_FULL",
        Error::TooLarge => "PAYLOAD_TOO_LARGE",
        Error::BodyTimeout => "REQUEST_TIMEOUT",
        Error::UnsupportedType(_) => "UNSUPPORTED_MEDIA_TYPE",
        Error::RateLimited(_) | Error::TooManyFailures(_) => "RATE_LIMITED",
        Error::Busy(_) | Error::StorageFailed(_) => "OVERLOADED",
        Error::Internal(_) => "INTERNAL",
    }
}

/// The `error` of a failure's envelope. What an internal error was caused by is for the log alone.
pub fn describe(error: &Error) -> Value {
    let mut told = json!({ "code": code(error), "message": error.to_string() });
    if let (Some(details), Some(told)) = (details(error), told.as_object_mut()) {
        told.insert("details".to_owned(), details);
    }
    told
}

/// An error of a part of a request; an internal one is logged, for no envelope of its own will.
pub fn told(error: &Error) -> Told {
    if let Error::Internal(_) = error {
        tracing::error!(cause = error.chain(), "a part of a request failed inside");
    }
    Told { code: code(error).to_owned(), message: error.to_string(), details: details(error) }
}

fn details(error: &Error) -> Option<Value> {
    match error {
        Error::ScopeRequired(scopes) | Error::ScopeNotAllowed(scopes) => Some(json!({ "scopes": scopes })),
        Error::Invalid(invalid) => Some(json!({ "fields": invalid.faults })),
        Error::LibraryFull { used, limit } | Error::TransfersFull { used, limit } => {
            Some(json!({ "usedBytes": used, "limitBytes": limit }))
        }
        Error::KeyInvalid
        | Error::KeyInQuery
        | Error::NotForMcp
        | Error::NotSignedIn
        | Error::WrongPassword
        | Error::ForeignOrigin
        | Error::Closed(_)
        | Error::PlanRequired
        | Error::PlanLimit(_)
        | Error::ProjectLimit
        | Error::ProjectArchived
        | Error::QuotaUsed
        | Error::AiPaused
        | Error::AiUnavailable
        | Error::UrlRejected(_)
        | Error::FeedNotFound(_)
        | Error::NotFound
        | Error::MethodNotAllowed(_)
        | Error::Conflict(_)
        | Error::StillRunning
        | Error::UploadIncomplete
        | Error::UploadExpired
        | Error::UploadRefused(_)
        | Error::StorageFull
        | Error::StorageFailed(_)
        | Error::TooLarge
        | Error::BodyTimeout
        | Error::UnsupportedType(_)
        | Error::RateLimited(_)
        | Error::TooManyFailures(_)
        | Error::Busy(_)
        | Error::Internal(_) => None,
    }
}
