//! Codes of the errors that only some operations return. An operation lists its own in `Operation::ERRORS`.

/// A limit of the plan is reached.
pub const PLAN_LIMIT_REACHED: &str = "PLAN_LIMIT_REACHED";
/// The AI tokens of the month are used up.
pub const AI_QUOTA_EXCEEDED: &str = "AI_QUOTA_EXCEEDED";
/// The project would have more items than the plan allows.
pub const PROJECT_LIMIT_REACHED: &str = "PROJECT_LIMIT_REACHED";
/// The project is archived.
pub const PROJECT_ARCHIVED: &str = "PROJECT_ARCHIVED";
/// The bytes of the upload have not all arrived, or are not those that were announced.
pub const UPLOAD_INCOMPLETE: &str = "UPLOAD_INCOMPLETE";
/// The upload expired before its bytes arrived.
pub const UPLOAD_EXPIRED: &str = "UPLOAD_EXPIRED";
/// The URL may not be saved or fetched.
pub const URL_REJECTED: &str = "URL_REJECTED";
/// The URL leads to no feed that can be followed.
pub const FEED_NOT_FOUND: &str = "FEED_NOT_FOUND";
/// The AI is paused until midnight UTC.
pub const AI_PAUSED: &str = "AI_PAUSED";
/// The model did not answer.
pub const AI_UNAVAILABLE: &str = "AI_UNAVAILABLE";
