//! Errors of the crates below as errors of operations.

use std::time::Duration;

use concurrency::{AskError, PermitError, QUEUE_RETRY_AFTER, QueueFull, WorkError};
use database::{DatabaseFault, StorageFault};
use disk::StorageFull;
use sea_orm::DbErr;
use storage::blobs::BlobError;
use tracing::error;
use web::UrlRejection;

use super::error::Error;
use super::storage_failure::StorageFailure;

impl From<UrlRejection> for Error {
    fn from(rejection: UrlRejection) -> Self {
        Error::UrlRejected { item: None, rejection }
    }
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
    use std::fs;
    use std::io;
    use std::path::PathBuf;
    use std::sync::Arc;

    use database::{Db, refusal_with_code};
    use sea_orm::{ConnectionTrait, RuntimeErr};

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

    /// Deadlock, serialization failure, lock not available, read-only server, administrative shutdown.
    #[test]
    fn refusals_of_postgres_are_503_with_a_wait() {
        for code in ["40P01", "40001", "55P03", "25006", "57P01"] {
            let refusals = [DbErr::Exec(refusal_with_code(code)), DbErr::Query(refusal_with_code(code))];
            for error in refusals {
                let error = Error::from(error);

                assert_eq!(error.spec().status, 503, "{code}");
                assert!(error.retry_after().is_some(), "{code}");
            }
        }
    }

    #[test]
    fn write_to_a_read_only_server_is_a_transient_storage_failure() {
        let error = Error::from(DbErr::Exec(refusal_with_code("25006")));

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

    #[test]
    fn panic_of_blocking_work_is_an_internal_error() {
        let error = Error::from(WorkError::Panicked("blocking work"));

        assert!(matches!(error, Error::Internal(_)));
        assert_eq!(error.chain(), "an internal error occurred: blocking work panicked");
    }
}
