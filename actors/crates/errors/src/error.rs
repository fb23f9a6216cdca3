//! Why an operation was not done.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::time::Duration;

use serde_json::{Map, Value, json};
use validation::Invalid;
use values::cause::error_chain;
use values::kind::KeyKind;
use values::scope::Scope;
use web::UrlRejection;

use super::feed_fault::FeedFault;
use super::rate_limit::RateLimitExceeded;
use super::seconds::retry_after_seconds;
use super::storage_failure::StorageFailure;
use super::upload_fault::UploadFault;

/// The message that a client or a user gets for a failure inside the server, whose cause is only for the log.
pub const INTERNAL_MESSAGE: &str = "an internal error occurred";

/// Why an operation was not done. `Display` tells the client what is wrong and what to do; the cause of an internal error is only
/// for the log.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No credential, or one that is unknown, revoked, expired, or of a disabled account.
    #[error(
        "the API key or access token is missing, unknown, revoked or expired; send a valid one as \
         `Authorization: Bearer KEY`"
    )]
    KeyInvalid,
    /// An access token of OAuth was sent to the REST API (spec.md: API keys, rule 8).
    #[error(
        "the access token of a connected app works at /mcp only; the REST API needs an API key, sent as `Authorization: Bearer KEY`"
    )]
    TokenNotForRest,
    /// The key was sent in the URL, where it would be logged.
    #[error(
        "an API key must not be sent in the URL, which is logged; send it as `Authorization: Bearer KEY`"
    )]
    KeyInQuery,
    /// The key is valid but lacks the scope `mcp`.
    #[error("this key is for the REST API; create a key of kind mcp for the MCP server")]
    NotForMcp,
    /// No session, or one that has ended.
    #[error("there is no session, or it has ended; sign in first")]
    NotSignedIn,
    /// A sign-in with an unknown e-mail address or a wrong password; the response does not say which.
    #[error("wrong e-mail address or password; check both, or ask the operator to set a new password")]
    WrongPassword,
    /// The request comes from a page of another origin.
    #[error("requests from pages of another origin are refused; send the request from a page of this server")]
    ForeignOrigin,
    /// Signing up, or setting up, is closed.
    #[error("{0}")]
    Closed(&'static str),
    /// The plan does not include this at all: a noun phrase.
    #[error("the plan of this account does not include {0}; ask the operator for another plan")]
    PlanRequired(Cow<'static, str>),
    /// A limit that the plan sets is reached: which one, its number and what to do.
    #[error("{0}")]
    PlanLimit(String),
    /// The plan allows no keys of this kind at all.
    #[error("the plan of this account includes no keys of kind {0}; ask the operator for another plan")]
    NoKeysInPlan(KeyKind),
    /// The library holds as many bytes as the plan allows, or would hold more with this.
    #[error(
        "the library of this account is full: {used} of {limit} bytes are used; delete something, or ask the operator for \
         another plan"
    )]
    LibraryFull {
        /// Bytes that the library holds already.
        used: u64,
        /// Bytes that the plan allows (`plans.<plan>.library_bytes`).
        limit: u64,
    },
    /// The files of the account's imports and exports take up as many bytes as the plan allows, or would with this one.
    #[error(
        "the file does not fit: files of imports and exports take up {used} of the {limit} bytes that the plan allows \
         (transfer_bytes); wait until running imports have finished, or undo a paused one; exports, and the files of failed \
         imports and of dry runs, are deleted after a week"
    )]
    TransfersFull {
        /// Bytes that the stored files take up already.
        used: u64,
        /// Bytes that the plan allows (`plans.<plan>.transfer_bytes`).
        limit: u64,
    },
    /// The project would hold more items than the plan allows.
    #[error("the project would have more than the {limit} items that the plan allows; remove some first")]
    ProjectLimit {
        /// Items of one project that the plan allows.
        limit: u32,
    },
    /// The project is archived, so nothing in it changes.
    #[error("the project is archived; ask the owner to set the project to active")]
    ProjectArchived,
    /// The month's AI tokens are used up.
    #[error("the {limit} AI tokens of this month are used up; they are available again next month (UTC)")]
    QuotaUsed {
        /// Tokens of a month that the plan allows.
        limit: u64,
    },
    /// The AI is paused; the time until midnight UTC.
    #[error("the AI is paused until midnight UTC; search still matches words")]
    AiPaused(Duration),
    /// The model did not answer.
    #[error("the model did not answer; try again later")]
    AiUnavailable,
    /// The scopes that the key lacks.
    #[error(
        "this key lacks the {}; create a key that has {}, or connect the app again and allow {}",
        named_scopes(.0),
        scope_pronoun(.0),
        scope_pronoun(.0)
    )]
    ScopeRequired(Vec<Scope>),
    /// Scopes that a key of this plan may not have.
    #[error(
        "the plan of this account does not include the {}; choose other scopes, or ask the operator for another plan",
        named_scopes(.0)
    )]
    ScopeNotAllowed(Vec<Scope>),
    /// Parameters or fields of the request are faulty.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The URL may not be saved or fetched; of a request with several items, which one.
    #[error("{}{rejection}", path_prefix(.item.as_deref()))]
    UrlRejected {
        /// The path of the item, such as `items[2]`.
        item: Option<String>,
        /// What is wrong with the URL.
        rejection: UrlRejection,
    },
    /// The URL is not a feed and names none that can be followed.
    #[error(transparent)]
    FeedNotFound(#[from] FeedFault),
    /// An item does not exist, or it belongs to another account; of a request with several items, which one. The message names no
    /// kind of item: it is the same for an id that is malformed, unknown, or of another account (contract.md: one 404).
    #[error("the {0} does not exist, or it is not yours")]
    NotFound(Cow<'static, str>),
    /// No route has the path of the request.
    #[error("this path does not exist; GET /openapi.json lists the paths of the REST API")]
    UnknownRoute,
    /// The route does not support the method; the methods that it supports.
    #[error("this route does not support the method; it supports {}", .0.join(", "))]
    MethodNotAllowed(Vec<String>),
    /// A unique name is taken, the state of the item does not allow the change, or an Idempotency-Key was used before.
    #[error("{0}")]
    Conflict(Cow<'static, str>),
    /// A request with the same Idempotency-Key is in progress.
    #[error("a request with the same Idempotency-Key is still running; try again in a second")]
    StillRunning,
    /// An upload is completed before its bytes have arrived, or with others than announced.
    #[error(transparent)]
    UploadIncomplete(#[from] UploadFault),
    /// An upload expired, and no bytes came.
    #[error("the upload expired before its bytes arrived; create a new upload")]
    UploadExpired,
    /// Bytes were sent to an upload URL that is not ours, or that has expired.
    #[error("{0}")]
    UploadRefused(&'static str),
    /// The disk of the database, the index or the files is full, so nothing was written.
    #[error(
        "the disk is full and nothing was written; reading and searching still work; try again when the operator has \
         freed space"
    )]
    StorageFull,
    /// The database, the passage index or a file could not be read, written or synced.
    #[error(transparent)]
    StorageFailed(#[from] StorageFailure),
    /// The body, or the file that it announces, is too large.
    #[error("{what} is too large: at most {limit} bytes are allowed; send a smaller one")]
    TooLarge {
        /// The body or the file, as a noun phrase.
        what: &'static str,
        /// Greatest number of bytes that is allowed.
        limit: u64,
    },
    /// The body arrived too slowly.
    #[error("the body arrived too slowly; send it again over a faster connection")]
    BodyTimeout,
    /// The body is not of a type that is accepted here.
    #[error("{0}")]
    UnsupportedType(&'static str),
    /// The daily or hourly limit is reached.
    #[error("the limit of {} {} is reached; try again in {}", .0.limit, .0.window, seconds(.0.retry_after))]
    RateLimited(RateLimitExceeded),
    /// Too many failed authentications or new accounts from one IP address, or failed sign-ins to one account.
    #[error("too many attempts; try again in {}", seconds(*.0))]
    TooManyFailures(Duration),
    /// An account sends too many files at the same time.
    #[error(
        "this account already sends {limit} files, which is the limit; send this file when one of them has arrived"
    )]
    TooManyUploads {
        /// Uploads of one account that are received at the same time.
        limit: usize,
    },
    /// A component is at its capacity, or is being restarted.
    #[error("the server is busy; try again in {}", seconds(*.0))]
    Busy(Duration),
    /// The server of the passage index does not answer. Nothing that was saved is lost: only searches and the index wait for it.
    #[error("the search index does not answer; everything else works; try again in {}", seconds(*.0))]
    IndexUnreachable(Duration),
    /// Nothing was found, and the passage index may lack what was looked for: it is compared with the database, is being restored, or is
    /// not reached.
    #[error(
        "nothing was found, but the search index is not complete at present; try again in {}", seconds(*.0)
    )]
    IndexIncomplete(Duration),
    /// Any other failure; the cause is only for the log.
    #[error("{}", INTERNAL_MESSAGE)]
    Internal(#[source] Cause),
}

/// The cause of an internal error; its text may name tables and files, never what a user wrote.
pub type Cause = Box<dyn StdError + Send + Sync>;

/// Returns the names of the scopes after their noun, such as `scopes: read:notes, write:notes`.
pub fn named_scopes(scopes: &[Scope]) -> String {
    let names: Vec<_> = scopes.iter().map(|scope| scope.name()).collect();
    let noun = if names.len() == 1 { "scope" } else { "scopes" };
    format!("{noun}: {}", names.join(", "))
}

fn scope_pronoun(scopes: &[Scope]) -> &'static str {
    if scopes.len() == 1 { "it" } else { "them" }
}

fn path_prefix(item: Option<&str>) -> String {
    item.map(|path| format!("{path}: ")).unwrap_or_default()
}

/// Formats a wait as in `Retry-After`.
fn seconds(wait: Duration) -> String {
    match retry_after_seconds(wait) {
        1 => "1 second".to_owned(),
        seconds => format!("{seconds} seconds"),
    }
}

impl Error {
    /// Creates an error about one faulty field.
    pub fn invalid(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Error::Invalid(Invalid::new(field, reason))
    }

    /// Creates an error about a name that is taken, or a state that does not allow the change: what is wrong and what to do.
    pub fn conflict(message: impl Into<Cow<'static, str>>) -> Self {
        Error::Conflict(message.into())
    }

    /// Creates an error about an item that does not exist in the account.
    pub fn not_found() -> Self {
        Error::NotFound(Cow::Borrowed("item"))
    }

    /// Prefixes the paths of faulty fields with the path of the part of the request that they are in.
    #[must_use]
    pub fn within(mut self, path: &str) -> Self {
        if let Error::Invalid(invalid) = &mut self {
            for fault in &mut invalid.faults {
                fault.field = format!("{path}.{}", fault.field);
            }
        }
        self
    }

    /// Names one of several items of a request: the message about an unknown item or a rejected URL then contains its path, such
    /// as `items[2]` or `parentId`.
    #[must_use]
    pub fn of_item(mut self, path: &str) -> Self {
        if let Error::NotFound(item) = &mut self {
            *item = format!("{item} ({path})").into();
        } else if let Error::UrlRejected { item, .. } = &mut self {
            *item = Some(match item.take() {
                Some(inner) => format!("{path}: {inner}"),
                None => path.to_owned(),
            });
        }
        self
    }

    /// Returns what a client receives besides code and message: the missing scopes, the faulty fields, the bytes in use and
    /// allowed. Empty for most errors.
    pub fn details(&self) -> Map<String, Value> {
        if let Error::ScopeRequired(scopes) | Error::ScopeNotAllowed(scopes) = self {
            members([("scopes", json!(scopes))])
        } else if let Error::Invalid(invalid) = self {
            members([("fields", json!(invalid.faults))])
        } else if let Error::LibraryFull { used, limit } | Error::TransfersFull { used, limit } = self {
            members([("usedBytes", json!(used)), ("limitBytes", json!(limit))])
        } else {
            Map::new()
        }
    }

    /// Returns the limit that was reached ([`HeaderRule::RateLimit`](crate::HeaderRule::RateLimit)), or `None` for other errors.
    pub fn rate_limit(&self) -> Option<&RateLimitExceeded> {
        if let Error::RateLimited(wait) = self { Some(wait) } else { None }
    }

    /// Returns the methods that the route supports ([`HeaderRule::Allow`](crate::HeaderRule::Allow)). Empty for other errors.
    pub fn methods(&self) -> &[String] {
        if let Error::MethodNotAllowed(methods) = self { methods } else { &[] }
    }

    /// Formats the error and its causes on one line, for the log. Causes may name tables and files, never what a user wrote.
    pub fn chain(&self) -> String {
        error_chain(self)
    }

    /// Returns whether the failure was logged where it occurred, so that it need not be logged again (see [`database::is_reported`]).
    pub fn is_reported(&self) -> bool {
        matches!(
            self,
            Error::StorageFailed(StorageFailure::Damaged | StorageFailure::Removed | StorageFailure::NoIndex)
        )
    }

    /// Creates an internal error with a cause for the log.
    pub fn internal(cause: impl Into<Cause>) -> Self {
        Error::Internal(cause.into())
    }
}

fn members<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("could not read the index")]
    struct Unreadable(#[source] io::Error);

    #[test]
    fn causes_follow_the_error() {
        let error = Error::internal(Unreadable(io::Error::other("the disk failed")));

        assert_eq!(error.chain(), "an internal error occurred: could not read the index: the disk failed");
    }
}
