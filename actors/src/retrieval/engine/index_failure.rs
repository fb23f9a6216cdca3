//! Failures of the index, converted to the errors of its callers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use errors::{Error, StorageFailure};
use search::index::{EngineFault, IndexError};
use tracing::error;

/// Time within which an index that was removed or replaced is reopened.
pub const REOPEN_RETRY_AFTER: Duration = Duration::from_secs(2);
/// Delay after which a read that met a reloading index may be retried.
pub const RELOAD_RETRY_AFTER: Duration = Duration::from_secs(2);

/// Converts a panic of the engine to an error.
pub fn catch_engine_panic<T>(read: impl FnOnce() -> Result<T, IndexError>) -> Result<T, IndexError> {
    // Some damage of its files makes the engine panic. As an error it counts as damage, and the index is repaired.
    catch_unwind(AssertUnwindSafe(read)).unwrap_or(Err(IndexError::Panicked))
}

/// Converts the error of a read.
pub fn read_error(error: IndexError) -> Error {
    if let IndexError::Unreachable { retry_after, .. } = error {
        // The connection has logged it, once for many requests.
        return Error::IndexUnreachable(retry_after);
    }
    // A request that the engine refuses says nothing about its files.
    let has_failed = matches!(error, IndexError::LoadFailed(_))
        || error.fault().is_some_and(|fault| fault != EngineFault::InvalidRequest);
    if matches!(error, IndexError::Blocked | IndexError::Abandoned) {
        // A loaded index is read also while it is abandoned. An unloaded one is loaded once its files are back, or another is open.
        Error::Busy(RELOAD_RETRY_AFTER)
    } else if matches!(error, IndexError::Full) {
        // The engine has logged it, once for many requests.
        StorageFailure::NoIndex.into()
    } else if has_failed {
        error!(cause = Error::internal(error).chain(), "the passage index could not be read");
        StorageFailure::Transient.into()
    } else {
        Error::internal(error)
    }
}

/// Converts the error of a write. One that is not the fault of the job makes it wait without using up an attempt.
pub fn write_error(error: IndexError) -> Error {
    if matches!(error, IndexError::Full) {
        return Error::StorageFull;
    }
    if let IndexError::Unreachable { retry_after, .. } = error {
        return Error::IndexUnreachable(retry_after);
    }
    if matches!(error, IndexError::Abandoned | IndexError::Blocked | IndexError::LoadFailed(_)) {
        return Error::Busy(REOPEN_RETRY_AFTER);
    }
    match error.fault() {
        Some(EngineFault::NoSpace) => Error::StorageFull,
        Some(EngineFault::Environment | EngineFault::DiskFailure | EngineFault::Damage) => {
            error!(cause = Error::internal(error).chain(), "the passage index could not be written");
            StorageFailure::Transient.into()
        }
        Some(EngineFault::InvalidRequest) | None => Error::internal(error),
    }
}

/// Returns an error of the engine with this fault, for tests.
#[cfg(test)]
pub(super) fn engine_error(fault: EngineFault) -> IndexError {
    IndexError::Engine { action: "add to", fault, source: "a cause".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_of_an_index_that_cannot_be_loaded_is_temporary() {
        for error in [IndexError::Blocked, IndexError::Abandoned] {
            assert!(matches!(read_error(error), Error::Busy(_)));
        }
        assert!(matches!(read_error(IndexError::Full), Error::StorageFailed(StorageFailure::NoIndex)));
        let damaged = read_error(IndexError::LoadFailed(EngineFault::Damage));
        assert!(matches!(damaged, Error::StorageFailed(StorageFailure::Transient)));
    }

    #[test]
    fn index_that_does_not_answer_carries_its_wait() {
        let wait = Duration::from_secs(7);
        let unreachable = || IndexError::Unreachable { retry_after: wait, source: "no answer".into() };

        for error in [read_error(unreachable()), write_error(unreachable())] {
            assert!(matches!(error, Error::IndexUnreachable(carried) if carried == wait));
        }
    }

    #[test]
    fn failed_write_is_a_storage_error_unless_the_request_was_wrong() {
        for fault in [EngineFault::Environment, EngineFault::DiskFailure, EngineFault::Damage] {
            let error = write_error(engine_error(fault));
            assert!(matches!(error, Error::StorageFailed(StorageFailure::Transient)), "{fault:?}");
        }
        assert!(matches!(write_error(engine_error(EngineFault::NoSpace)), Error::StorageFull));
        assert!(matches!(write_error(IndexError::Full), Error::StorageFull));
        assert!(matches!(write_error(engine_error(EngineFault::InvalidRequest)), Error::Internal(_)));
    }
}
