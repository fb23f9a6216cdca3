//! # Errors
//!
//! The error of the operations, and how surfaces present it.
//!
//! | To | Use |
//! |---|---|
//! | refuse an operation | a variant of [`Error`]; [`Error::invalid`], [`Error::not_found`] |
//! | report faulty fields, all at once | [`Error::Invalid`] with a [`validation::Invalid`] |
//! | hide a cause from the client and keep it for the log | [`Error::internal`], [`Error::chain`] |
//! | present an error | [`Error::spec`], [`Error::details`], [`Error::retry_after`], [`ErrorBody`] |
//! | list all errors, for a document | [`ERRORS`], with [`Error::examples`] |
//! | list the errors of an operation | the constants of [`code`] |
//!
//! [`ERRORS`] is the one table of codes, statuses, headers and texts. REST, MCP, the pages of OAuth, the command line, the
//! worker, the OpenAPI document and the manual read it; no surface matches the variants again. `Display` is a sentence for the client, which never contains the cause.
//!
//! Errors of the crates below are converted here, so that `?` works everywhere: a database that is locked or unreachable
//! becomes [`Error::Busy`], a fault of the storage [`Error::StorageFailed`], a broken reference [`Error::NotFound`]. This
//! crate does no I/O and knows no HTTP type.

pub mod code;
mod examples;
mod spec;

use std::borrow::Cow;
use std::error::Error as StdError;
use std::time::Duration;

use concurrency::{AskError, PermitError, QUEUE_RETRY_AFTER, QueueFull, WorkError};
use database::{DatabaseFault, StorageFault};
use disk::StorageFull;
use sea_orm::DbErr;
use serde_json::{Map, Value, json};
use storage::blobs::BlobError;
use tracing::error;
use validation::Invalid;
use values::scope::Scope;
use web::UrlRejection;

pub use spec::{ERRORS, ErrorSpec, HeaderRule, JobRule, McpDelivery, PageText, RetryRule, RouteRule};

/// What a client or a user is told of a failure inside the service, whose cause is only for the log.
pub const INTERNAL_MESSAGE: &str = "an internal error occurred";

/// Why the storage did not take a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StorageFailure {
    /// A read, a write or a sync failed, memory or file handles ran out, or the server of the database takes no writes.
    #[error("the storage failed, so it is not known whether a change was kept; try again later")]
    Transient,
    /// Damage was met in the database.
    #[error("the database is damaged and is being verified; nothing is written meanwhile; try again later")]
    Damaged,
    /// A file of the database was removed, moved or replaced.
    #[error("a file of the database is missing; changes are not kept until the operator has put it back")]
    Removed,
    /// There is no passage index, because its disk has no space for one.
    #[error(
        "search is not available, because the disk has no space for its index; reading still works; try again when \
         the operator has freed space"
    )]
    NoIndex,
}

impl StorageFailure {
    /// Returns how long a client waits before it retries.
    pub fn retry_after(self) -> Duration {
        Duration::from_secs(match self {
            // The connection that met the fault has been replaced by then.
            Self::Transient => 5,
            // Writes continue when a check finds no damage, or the file is back in its place; searches when an operator has freed space.
            Self::Damaged | Self::Removed | Self::NoIndex => 60,
        })
    }
}

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
    /// A sign-in with an unknown e-mail address or a wrong password; the answer does not say which.
    #[error("wrong e-mail address or password")]
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
        "the file does not fit: files of imports and exports take up {used} of {limit} bytes that the plan allows \
         (transfer_bytes); undo a paused import, or wait: the file of an import is deleted when it ends, an export \
         a week after it was begun"
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
    #[error("the project is archived; set its status to active before you change it")]
    ProjectArchived,
    /// The month's AI tokens are used up.
    #[error("the {limit} AI tokens of this month are used up; the next month (UTC) brings new ones")]
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
    #[error("this key lacks the {}; create a key or connect the app again with what is missing", named_scopes(.0))]
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
    /// The URL may not be saved or fetched.
    #[error("{0}")]
    UrlRejected(String),
    /// The URL is not a feed and names none that can be followed.
    #[error("{0}")]
    FeedNotFound(String),
    /// An item does not exist, or it belongs to another account; of a request with several items, which one. The message names no
    /// kind of item: it is the same for an id that is malformed, unknown, or of another account (contract.md: one 404).
    #[error("the {0} does not exist, or it is not yours")]
    NotFound(Cow<'static, str>),
    /// No route has the path of the request.
    #[error("no route has this path; GET /openapi.json lists the routes of the REST API")]
    UnknownRoute,
    /// The route does not support the method; the methods that it supports.
    #[error("this route does not support the method; it supports {}", .0.join(", "))]
    MethodNotAllowed(Vec<String>),
    /// A unique name is taken, the state of the item does not allow the change, or an Idempotency-Key was used before.
    #[error("{0}")]
    Conflict(&'static str),
    /// A request with the same Idempotency-Key, or for the same item, is in progress.
    #[error(
        "a request with the same Idempotency-Key, or for the same item, is still running; try again in a second"
    )]
    StillRunning,
    /// An upload is completed before its bytes have arrived, or with others than announced.
    #[error("{0}")]
    UploadIncomplete(&'static str),
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
    RateLimited(Wait),
    /// Too many failed authentications or new accounts from one IP address, or failed sign-ins to one account.
    #[error("too many attempts; try again in {}", seconds(*.0))]
    TooManyFailures(Duration),
    /// An account sends too many files at the same time.
    #[error(
        "{limit} uploads of this account are being received at the same time, which is the limit; send this file when one of \
         them has ended"
    )]
    TooManyUploads {
        /// Uploads of one account that are received at the same time.
        limit: usize,
    },
    /// A component is at its capacity, or is being restarted.
    #[error("the service is busy; try again in {}", seconds(*.0))]
    Busy(Duration),
    /// Any other failure; the cause is only for the log.
    #[error("{}", INTERNAL_MESSAGE)]
    Internal(#[source] Cause),
}

impl From<UrlRejection> for Error {
    fn from(rejection: UrlRejection) -> Self {
        Error::UrlRejected(rejection.to_string())
    }
}

/// An error as a member of a JSON answer.
#[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct ErrorBody {
    /// Code of the error, which stays the same when the message changes.
    pub code: String,
    /// What is wrong and what to do, in words.
    pub message: String,
    /// More, by the code: the faulty fields, the scopes that are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl From<&Error> for ErrorBody {
    fn from(error: &Error) -> Self {
        let details = Some(error.details()).filter(|details| !details.is_empty());
        Self {
            code: error.spec().code.to_owned(),
            message: error.to_string(),
            details: details.map(Value::Object),
        }
    }
}

/// The limit on requests that was reached, and how long the client waits (spec.md: Limits, rule 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Requests that the limit allows.
    pub limit: u32,
    /// What the limit counts: the requests of an hour or of a day.
    pub window: RateWindow,
    /// Time until one more request is allowed.
    pub retry_after: Duration,
    /// Time until the full limit is available again.
    pub reset: Duration,
}

/// The window in which a limit counts requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateWindow {
    /// The requests of one key or connection in an hour.
    Hour,
    /// The requests of an account on a UTC day.
    Day,
}

impl std::fmt::Display for RateWindow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Hour => "requests per hour",
            Self::Day => "requests per day",
        })
    }
}

/// The cause of an internal error; its text may name tables and files, never what a user wrote.
pub type Cause = Box<dyn StdError + Send + Sync>;

/// Returns the names of the scopes after their noun, such as `scopes: read:notes, write:notes`.
pub fn named_scopes(scopes: &[Scope]) -> String {
    let names: Vec<_> = scopes.iter().map(|scope| scope.name()).collect();
    let noun = if names.len() == 1 { "scope" } else { "scopes" };
    format!("{noun}: {}", names.join(", "))
}

/// Formats a wait in whole seconds. It is rounded up and never zero, because a client that retries too early is refused again.
fn seconds(wait: Duration) -> String {
    match wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)) {
        0 | 1 => "1 second".to_owned(),
        seconds => format!("{seconds} seconds"),
    }
}

impl Error {
    /// Creates an error about one faulty field.
    pub fn invalid(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Error::Invalid(Invalid::new(field, reason))
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
        } else if let Error::UrlRejected(why) = &mut self {
            *why = format!("{path}: {why}");
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

    /// Returns how long a client waits before it retries (`Retry-After`), or `None` if the same request would fail again.
    pub fn retry_after(&self) -> Option<Duration> {
        match self.spec().retry {
            RetryRule::Never => None,
            RetryRule::After(wait) => Some(wait),
            RetryRule::Carried => self.carried_wait(),
        }
    }

    /// Returns the limit that was reached ([`HeaderRule::RateLimit`]), or `None` for other errors.
    pub fn rate_limit(&self) -> Option<&Wait> {
        if let Error::RateLimited(wait) = self { Some(wait) } else { None }
    }

    /// Returns the methods that the route supports ([`HeaderRule::Allow`]). Empty for other errors.
    pub fn methods(&self) -> &[String] {
        if let Error::MethodNotAllowed(methods) = self { methods } else { &[] }
    }

    /// Returns the wait that the variant contains.
    fn carried_wait(&self) -> Option<Duration> {
        if let Error::Busy(wait) | Error::TooManyFailures(wait) | Error::AiPaused(wait) = self {
            Some(*wait)
        } else if let Error::RateLimited(wait) = self {
            Some(wait.retry_after)
        } else if let Error::StorageFailed(failure) = self {
            Some(failure.retry_after())
        } else {
            None
        }
    }

    /// Formats the error and its causes on one line, for the log. Causes may name tables and files, never what a user wrote.
    pub fn chain(&self) -> String {
        let mut chain = self.to_string();
        let mut cause = StdError::source(self);
        while let Some(inner) = cause {
            chain = format!("{chain}: {inner}");
            cause = inner.source();
        }
        chain
    }

    /// Whether the failure was logged where it occurred, so that it need not be logged again (see [`database::is_reported`]).
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

impl From<DbErr> for Error {
    fn from(error: DbErr) -> Self {
        // Before the test whether the database is unreachable: a file that cannot be opened is a `DbErr::Conn` too.
        match DatabaseFault::of(&error) {
            DatabaseFault::Storage(fault) => fault.into(),
            DatabaseFault::Locked | DatabaseFault::Unreachable => Error::Busy(Duration::from_secs(1)),
            // The row that this one refers to was removed since it was read.
            DatabaseFault::MissingReference => Error::not_found(),
            DatabaseFault::Statement => Error::internal(error),
        }
    }
}

impl From<StorageFault> for Error {
    fn from(fault: StorageFault) -> Self {
        match fault {
            StorageFault::Full => Error::StorageFull,
            StorageFault::Io
            | StorageFault::ReadOnly
            | StorageFault::NoHandles
            | StorageFault::OutOfMemory => StorageFailure::Transient.into(),
            StorageFault::Corrupt => StorageFailure::Damaged.into(),
            StorageFault::Removed => StorageFailure::Removed.into(),
        }
    }
}

impl From<StorageFull> for Error {
    fn from(_: StorageFull) -> Self {
        Error::StorageFull
    }
}

impl From<BlobError> for Error {
    fn from(error: BlobError) -> Self {
        match error {
            BlobError::Full => Error::StorageFull,
            BlobError::Failed(cause) => {
                // Logged here, because `StorageFailure` carries no cause.
                error!(%cause, "a file of the store could not be read or written");
                StorageFailure::Transient.into()
            }
            // Not `NotFound`: the database has the item, so the store must have its file.
            BlobError::Missing | BlobError::PresignedOnly => Error::internal(error),
        }
    }
}

impl From<AskError> for Error {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Busy | AskError::Timeout => Error::Busy(Duration::from_secs(1)),
            AskError::Crashed => Error::internal("a component crashed while it answered"),
        }
    }
}

impl From<QueueFull> for Error {
    fn from(_: QueueFull) -> Self {
        Error::Busy(QUEUE_RETRY_AFTER)
    }
}

impl From<PermitError> for Error {
    fn from(error: PermitError) -> Self {
        match error {
            PermitError::QueueFull(_) | PermitError::Timeout => Error::Busy(QUEUE_RETRY_AFTER),
        }
    }
}

impl From<WorkError> for Error {
    fn from(error: WorkError) -> Self {
        match error {
            WorkError::NoPermit(refusal) => refusal.into(),
            WorkError::LaneClosed(_) | WorkError::NoThread(_) | WorkError::Panicked(_) => {
                Error::internal(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt;
    use std::fs;
    use std::io;
    use std::path::PathBuf;
    use std::sync::Arc;

    use database::Db;
    use sea_orm::{ConnectionTrait, RuntimeErr};
    use sqlx::error::{DatabaseError, ErrorKind};

    use super::*;

    const INSERT: &str = "INSERT INTO number VALUES (1)";

    /// An SQLite database with a table of numbers.
    struct TestDatabase {
        db: Db,
        folder: tempfile::TempDir,
    }

    impl TestDatabase {
        async fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
            let db = Db::connect(&url).await.unwrap();
            db.write().execute_unprepared("CREATE TABLE number (n INTEGER)").await.unwrap();
            Self { db, folder }
        }

        fn file(&self) -> PathBuf {
            self.folder.path().join("a.db")
        }
    }

    #[tokio::test]
    async fn write_to_a_damaged_database_is_a_storage_failure() {
        let TestDatabase { db, folder: _folder } = TestDatabase::new().await;
        db.health().set_damaged();

        let refused =
            [db.write().execute_unprepared(INSERT).await.err().unwrap(), db.begin().await.err().unwrap()];

        for error in refused {
            let error = Error::from(error);
            assert!(matches!(error, Error::StorageFailed(StorageFailure::Damaged)), "{error:?}");
            assert!(error.is_reported());
        }
    }

    #[tokio::test]
    async fn write_to_a_removed_database_is_a_storage_failure() {
        let database = TestDatabase::new().await;
        fs::remove_file(database.file()).unwrap();

        let refused = database.db.write().execute_unprepared(INSERT).await.unwrap_err();

        let error = Error::from(refused);
        assert!(matches!(error, Error::StorageFailed(StorageFailure::Removed)), "{error:?}");
        assert!(error.is_reported());
    }

    #[tokio::test]
    async fn lack_of_file_handles_is_a_transient_storage_failure() {
        let database = TestDatabase::new().await;
        // SQLite opens a file read-only where it has no handle to open it for writing.
        let read_only = format!("sqlite://{}?mode=ro", database.file().display());
        let db = Db::connect(&read_only).await.unwrap();

        let refused = db.write().execute_unprepared(INSERT).await.unwrap_err();

        let error = Error::from(refused);
        assert!(matches!(error, Error::StorageFailed(StorageFailure::Transient)), "{error:?}");
    }

    /// An error that PostgreSQL reports with this SQLSTATE.
    #[derive(Debug)]
    struct SqlState(&'static str);

    impl fmt::Display for SqlState {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl StdError for SqlState {}

    impl DatabaseError for SqlState {
        fn message(&self) -> &str {
            self.0
        }

        fn code(&self) -> Option<Cow<'_, str>> {
            Some(self.0.into())
        }

        fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
            self
        }

        fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
            self
        }

        fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
            self
        }

        fn kind(&self) -> ErrorKind {
            ErrorKind::Other
        }
    }

    /// Deadlock, serialization failure, lock not available, read-only server, administrative shutdown.
    #[test]
    fn refusals_of_postgres_are_503_with_a_wait() {
        for code in ["40P01", "40001", "55P03", "25006", "57P01"] {
            let refused = || RuntimeErr::SqlxError(Arc::new(sqlx::Error::Database(Box::new(SqlState(code)))));
            for error in [DbErr::Exec(refused()), DbErr::Query(refused())] {
                let error = Error::from(error);

                assert_eq!(error.spec().status, 503, "{code}");
                assert!(error.retry_after().is_some(), "{code}");
            }
        }
    }

    #[test]
    fn write_to_a_read_only_server_is_a_transient_storage_failure() {
        let refused = sqlx::Error::Database(Box::new(SqlState("25006")));

        let error = Error::from(DbErr::Exec(RuntimeErr::SqlxError(Arc::new(refused))));

        assert!(matches!(error, Error::StorageFailed(StorageFailure::Transient)), "{error:?}");
    }

    #[test]
    fn broken_connection_to_the_database_may_be_retried() {
        let broken = || Arc::new(sqlx::Error::Io(io::ErrorKind::UnexpectedEof.into()));

        let errors = [
            DbErr::Query(RuntimeErr::SqlxError(broken())),
            DbErr::Exec(RuntimeErr::SqlxError(broken())),
            DbErr::Conn(RuntimeErr::SqlxError(broken())),
        ];

        for error in errors {
            assert!(matches!(Error::from(error), Error::Busy(_)));
        }
    }

    #[test]
    fn caller_without_a_permit_may_retry() {
        let refusals = [WorkError::NoPermit(PermitError::Timeout), PermitError::from(QueueFull).into()];

        for refusal in refusals {
            assert!(matches!(Error::from(refusal), Error::Busy(wait) if wait == QUEUE_RETRY_AFTER));
        }
    }

    #[derive(Debug, thiserror::Error)]
    #[error("could not read the index")]
    struct Unreadable(#[source] io::Error);

    #[test]
    fn causes_follow_the_error() {
        let error = Error::internal(Unreadable(io::Error::other("the disk failed")));

        assert_eq!(error.chain(), "an internal error occurred: could not read the index: the disk failed");
    }

    #[test]
    fn panic_of_blocking_work_is_an_internal_error() {
        let error = Error::from(WorkError::Panicked("blocking work"));

        assert!(matches!(error, Error::Internal(_)));
        assert_eq!(error.chain(), "an internal error occurred: blocking work panicked");
    }
}
