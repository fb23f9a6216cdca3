//! The one error of operations. The surfaces tell it in two ways, each in one exhaustive match
//! (architecture.md, section 7).

use std::time::Duration;

use database::StorageFault;
use disk::StorageFull;
use entity::scope::Scope;
use runtime::{AskError, PermitError, QUEUE_RETRY_AFTER, QueueFull, WorkError, WriteError, error_chain};
use sea_orm::{DbErr, RuntimeErr, SqlErr};
use storage::blobs::BlobError;
use tracing::error;
use web::UrlRejection;

/// A full disk stays full until an operator frees space.
pub const STORAGE_FULL_RETRY_AFTER: Duration = Duration::from_secs(60);

/// Why the storage did not take a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StorageFailure {
    /// A read, a write or a sync failed, or memory or file handles ran out.
    #[error("the storage failed, so it is not known whether a change was kept; try again later")]
    Passing,
    /// Damage was met in the database.
    #[error(
        "damage was met in the database, which is being verified: nothing is written meanwhile; try again later"
    )]
    Damaged,
    /// A file of the database was removed, moved or replaced.
    #[error("a file of the database is missing: changes are not kept until its operator has put it back")]
    Removed,
}

impl StorageFailure {
    /// How long a client waits before it tries again.
    pub fn retry_after(self) -> Duration {
        Duration::from_secs(match self {
            // The connection that met the fault has been replaced by then.
            Self::Passing => 5,
            // Writes go on when a check finds no damage, or the file is back in its place.
            Self::Damaged | Self::Removed => 60,
        })
    }
}

/// Why an operation was not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No credential, or one that is unknown, revoked, expired, or of a disabled user.
    #[error("the API key is missing or not valid")]
    KeyInvalid,
    /// The key stands in the URL, where it would be logged.
    #[error("an API key may not be sent in the URL")]
    KeyInQuery,
    /// The key is good but has no scope `mcp`.
    #[error("this key cannot be used with the MCP server")]
    NotForMcp,
    /// No session, or one that has ended.
    #[error("sign in first")]
    NotSignedIn,
    /// A sign-in by an address that is unknown or a password that is not its own: nobody is told which.
    #[error("address and password do not fit together")]
    WrongPassword,
    /// The request comes from a page of another origin.
    #[error("requests from another origin are refused")]
    ForeignOrigin,
    /// Signing up, or setting up, is closed.
    #[error("{0}")]
    Closed(&'static str),
    /// The plan does not have this at all.
    #[error("the plan does not include this")]
    PlanRequired,
    /// A count that the plan sets is reached.
    #[error("{0}")]
    PlanLimit(&'static str),
    /// The library holds as many bytes as the plan allows, or would hold more with this.
    #[error("the library of this account is full: {used} of {limit} bytes are used")]
    LibraryFull {
        /// Bytes in use.
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
        /// Bytes in use.
        used: u64,
        /// Bytes that the plan allows (`plans.<plan>.transfer_bytes`).
        limit: u64,
    },
    /// The project would hold more items than the plan allows.
    #[error("the project has as many items as the plan allows")]
    ProjectLimit,
    /// The project is archived, so nothing in it changes.
    #[error("the project is archived")]
    ProjectArchived,
    /// The month's AI budget is used up.
    #[error("this month's AI budget is used up")]
    QuotaUsed,
    /// The AI pauses for the rest of the day.
    #[error("the AI pauses until midnight UTC")]
    AiPaused,
    /// The model did not answer.
    #[error("the model did not answer; try again later")]
    AiUnavailable,
    /// The scopes that are missing.
    #[error("the key lacks a scope that this needs")]
    ScopeRequired(Vec<Scope>),
    /// Scopes that a key of this plan may not have.
    #[error("the plan does not include a scope that was asked for")]
    ScopeNotAllowed(Vec<Scope>),
    /// Something was asked for in a way that cannot be.
    #[error("the request is not valid")]
    Invalid(#[from] Invalid),
    /// The address may not be saved or fetched.
    #[error("{0}")]
    UrlRejected(String),
    /// The address is no feed and names none that can be followed.
    #[error("{0}")]
    FeedNotFound(String),
    /// It does not exist, or it is not the caller's.
    #[error("not found")]
    NotFound,
    /// No such method on this route; what it has.
    #[error("the route does not have this method")]
    MethodNotAllowed(Vec<String>),
    /// A unique name is taken, or an Idempotency-Key stands for another request.
    #[error("{0}")]
    Conflict(&'static str),
    /// The same Idempotency-Key is being worked on.
    #[error("a request with this Idempotency-Key is still running")]
    StillRunning,
    /// An upload is completed before its bytes have arrived whole, or they are others than said.
    #[error("the bytes have not arrived whole")]
    UploadIncomplete,
    /// An upload's time is over, and no bytes came.
    #[error("the upload's time is over and no bytes came")]
    UploadExpired,
    /// Bytes come to an address that is not ours or not good any more.
    #[error("{0}")]
    UploadRefused(&'static str),
    /// The disk of the database, the index or the files is full.
    #[error("the disk is full: nothing was written; reads and search go on")]
    StorageFull,
    /// The database, the passage index or a file could not be read, written or synced.
    #[error(transparent)]
    StorageFailed(#[from] StorageFailure),
    /// The body is larger than may be.
    #[error("the body is too large")]
    TooLarge,
    /// The body arrived too slowly.
    #[error("the body did not arrive in time")]
    BodyTimeout,
    /// The body is not of a type that is read here.
    #[error("{0}")]
    UnsupportedType(&'static str),
    /// Over the daily or hourly limit.
    #[error("over the limit")]
    RateLimited(Wait),
    /// Too many failed authentications or new accounts from one address, or failed sign-ins to one account.
    #[error("too many attempts")]
    TooManyFailures(Duration),
    /// A component has no room, or is being restarted.
    #[error("the service is busy")]
    Busy(Duration),
    /// Anything else: the cause is for the log.
    #[error("something went wrong inside")]
    Internal(#[source] Cause),
}

impl From<UrlRejection> for Error {
    fn from(rejection: UrlRejection) -> Self {
        Error::UrlRejected(format!("the address {rejection}"))
    }
}

/// An error as a surface tells it, where it stands within an answer that is well as a whole.
#[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct Told {
    /// The stable code.
    pub code: String,
    /// What is wrong, in words.
    pub message: String,
    /// More, by the code: the faulty fields, the scopes that are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<serde_json::Value>,
}

/// How an exceeded limit is to be told (spec.md: Limits, rule 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The limit that refused.
    pub limit: u32,
    /// How long until one more is free.
    pub retry_after: Duration,
    /// How long until the limit is whole again.
    pub reset: Duration,
}

/// The cause of an internal error; its text may name tables and files, never what a user wrote.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Every fault of a request at once, by field.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("the request is not valid")]
pub struct Invalid {
    /// The faults, in the order in which they were found.
    pub faults: Vec<Fault>,
}

/// One fault of a request.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Fault {
    /// Name of the parameter, or path in the body like `items[2].bookmarkId`; empty for the body as a whole.
    pub field: String,
    /// What is wrong with it, in words; it never repeats the value.
    pub reason: String,
}

impl Invalid {
    /// One fault.
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { faults: vec![Fault { field: field.into(), reason: reason.into() }] }
    }

    /// What both parts of a request hold, or the faults of both together.
    ///
    /// # Errors
    /// Those of either part.
    pub fn together<A, B>(first: Result<A, Self>, then: Result<B, Self>) -> Result<(A, B), Self> {
        match (first, then) {
            (Ok(first), Ok(then)) => Ok((first, then)),
            (Err(faulty), Ok(_)) | (Ok(_), Err(faulty)) => Err(faulty),
            (Err(mut first), Err(then)) => {
                first.faults.extend(then.faults);
                Err(first)
            }
        }
    }
}

impl Error {
    /// A fault of one field.
    pub fn invalid(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Error::Invalid(Invalid::new(field, reason))
    }

    /// The same error of a part of a request: its fields stand under this path.
    #[must_use]
    pub fn within(mut self, path: &str) -> Self {
        if let Error::Invalid(invalid) = &mut self {
            for fault in &mut invalid.faults {
                fault.field = format!("{path}.{}", fault.field);
            }
        }
        self
    }

    /// The error and what caused it, on one line, for the log: causes name tables and files, never what a user wrote.
    pub fn chain(&self) -> String {
        error_chain(self)
    }

    /// As [`database::is_reported`].
    pub fn is_reported(&self) -> bool {
        matches!(self, Error::StorageFailed(StorageFailure::Damaged | StorageFailure::Removed))
    }

    /// Something inside went wrong for this reason.
    pub fn internal(cause: impl Into<Cause>) -> Self {
        Error::Internal(cause.into())
    }
}

impl From<DbErr> for Error {
    fn from(error: DbErr) -> Self {
        match StorageFault::of(&error) {
            Some(StorageFault::Full) => return Error::StorageFull,
            Some(StorageFault::Io | StorageFault::NoHandles | StorageFault::OutOfMemory) => {
                return StorageFailure::Passing.into();
            }
            Some(StorageFault::Corrupt) => return StorageFailure::Damaged.into(),
            Some(StorageFault::Removed) => return StorageFailure::Removed.into(),
            None => {}
        }
        // No connection became free in time: somebody else writes for long, or the database is away.
        let is_away =
            matches!(error, DbErr::ConnectionAcquire(_) | DbErr::Conn(_)) || is_disconnected(&error);
        if is_away || is_locked(&error) {
            return Error::Busy(Duration::from_secs(1));
        }
        // What the row would have stood on was there a moment ago, and somebody has removed it since.
        if matches!(error.sql_err(), Some(SqlErr::ForeignKeyConstraintViolation(_))) {
            return Error::NotFound;
        }
        Error::internal(error)
    }
}

/// Whether somebody else holds what the statement needs: SQLite's busy and locked, PostgreSQL's lock not available, deadlock,
/// serialization failure, timeouts, and its shutting down.
fn is_locked(error: &DbErr) -> bool {
    let (DbErr::Exec(RuntimeErr::SqlxError(cause)) | DbErr::Query(RuntimeErr::SqlxError(cause))) = error
    else {
        return false;
    };
    let code = cause.as_database_error().and_then(|database| database.code());
    let Some(code) = code else { return false };
    let sqlite = code.parse::<u32>().is_ok_and(|number| code.len() < 5 && matches!(number & 0xff, 5 | 6));
    sqlite || matches!(&*code, "55P03" | "40P01" | "40001" | "57014" | "25P03" | "57P01" | "57P02" | "57P03")
}

/// Whether the connection broke during a statement: PostgreSQL crashed, or its host is unreachable. The next statement gets
/// another connection.
fn is_disconnected(error: &DbErr) -> bool {
    let (DbErr::Exec(RuntimeErr::SqlxError(cause)) | DbErr::Query(RuntimeErr::SqlxError(cause))) = error
    else {
        return false;
    };
    matches!(**cause, sqlx::Error::Io(_))
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
                error!(%cause, "a file of the store could not be read or written");
                StorageFailure::Passing.into()
            }
            BlobError::Missing | BlobError::PresignedOnly => Error::internal(error),
        }
    }
}

impl From<AskError> for Error {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Busy | AskError::Timeout => Error::Busy(Duration::from_secs(1)),
            AskError::Crashed => Error::internal("a component died while it answered"),
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

impl WriteError for Error {
    fn is_reported(&self) -> bool {
        Error::is_reported(self)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::sync::Arc;

    use database::Db;
    use sea_orm::ConnectionTrait;

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
    async fn want_of_file_handles_is_a_passing_storage_failure() {
        let database = TestDatabase::new().await;
        // SQLite opens a file read-only where it has no handle to open it for writing.
        let read_only = format!("sqlite://{}?mode=ro", database.file().display());
        let db = Db::connect(&read_only).await.unwrap();

        let refused = db.write().execute_unprepared(INSERT).await.unwrap_err();

        let error = Error::from(refused);
        assert!(matches!(error, Error::StorageFailed(StorageFailure::Passing)), "{error:?}");
    }

    #[test]
    fn broken_connection_to_the_database_may_be_retried() {
        let broken = || Arc::new(sqlx::Error::Io(std::io::ErrorKind::UnexpectedEof.into()));

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

    #[test]
    fn panic_of_blocking_work_is_an_internal_error() {
        let error = Error::from(WorkError::Panicked("blocking work"));

        assert!(matches!(error, Error::Internal(_)));
        assert_eq!(error.chain(), "something went wrong inside: blocking work panicked");
    }
}
