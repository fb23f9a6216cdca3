//! The codes of all errors, in the order of their statuses. The table of errors gives each its status and its meaning. An operation
//! lists in `Operation::ERRORS` those that only some operations return.

/// Parameters or fields of the request are faulty.
pub const VALIDATION_FAILED: &str = "VALIDATION_FAILED";
/// A key of this plan may not have the scope.
pub const SCOPE_NOT_ALLOWED: &str = "SCOPE_NOT_ALLOWED";
/// The key or access token is missing or not valid.
pub const API_KEY_INVALID: &str = "API_KEY_INVALID";
/// A key was sent in the URL.
pub const API_KEY_IN_QUERY: &str = "API_KEY_IN_QUERY";
/// There is no session, or the password is wrong.
pub const NOT_SIGNED_IN: &str = "NOT_SIGNED_IN";
/// The plan does not include what the request needs.
pub const PLAN_REQUIRED: &str = "PLAN_REQUIRED";
/// A limit of the plan is reached.
pub const PLAN_LIMIT_REACHED: &str = "PLAN_LIMIT_REACHED";
/// The AI tokens of the month are used up.
pub const AI_QUOTA_EXCEEDED: &str = "AI_QUOTA_EXCEEDED";
/// The project would have more items than the plan allows.
pub const PROJECT_LIMIT_REACHED: &str = "PROJECT_LIMIT_REACHED";
/// The key lacks a scope.
pub const SCOPE_REQUIRED: &str = "SCOPE_REQUIRED";
/// The request came from a page of another origin.
pub const FOREIGN_ORIGIN: &str = "FOREIGN_ORIGIN";
/// Sign-up is closed, or the first account exists already.
pub const CLOSED: &str = "CLOSED";
/// The upload URL is not signed by this server, or it has expired.
pub const UPLOAD_REFUSED: &str = "UPLOAD_REFUSED";
/// The item or the route does not exist.
pub const NOT_FOUND: &str = "NOT_FOUND";
/// The route does not support the method.
pub const METHOD_NOT_ALLOWED: &str = "METHOD_NOT_ALLOWED";
/// The body arrived too slowly.
pub const REQUEST_TIMEOUT: &str = "REQUEST_TIMEOUT";
/// The state of the item, or an earlier request, does not allow the change.
pub const CONFLICT: &str = "CONFLICT";
/// The project is archived.
pub const PROJECT_ARCHIVED: &str = "PROJECT_ARCHIVED";
/// The bytes of the upload have not all arrived, or are not those that were announced.
pub const UPLOAD_INCOMPLETE: &str = "UPLOAD_INCOMPLETE";
/// The upload expired before its bytes arrived.
pub const UPLOAD_EXPIRED: &str = "UPLOAD_EXPIRED";
/// The body or the file is too large.
pub const PAYLOAD_TOO_LARGE: &str = "PAYLOAD_TOO_LARGE";
/// The body or the file is of a type that is not accepted.
pub const UNSUPPORTED_MEDIA_TYPE: &str = "UNSUPPORTED_MEDIA_TYPE";
/// The URL may not be saved or fetched.
pub const URL_REJECTED: &str = "URL_REJECTED";
/// The URL leads to no feed that can be followed.
pub const FEED_NOT_FOUND: &str = "FEED_NOT_FOUND";
/// A limit on requests is reached.
pub const RATE_LIMITED: &str = "RATE_LIMITED";
/// The server itself failed.
pub const INTERNAL: &str = "INTERNAL";
/// The AI is paused until midnight UTC.
pub const AI_PAUSED: &str = "AI_PAUSED";
/// The model did not answer.
pub const AI_UNAVAILABLE: &str = "AI_UNAVAILABLE";
/// A component is busy, or a storage failed.
pub const OVERLOADED: &str = "OVERLOADED";
/// The disk is full.
pub const STORAGE_FULL: &str = "STORAGE_FULL";
