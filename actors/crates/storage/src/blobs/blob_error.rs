//! Why an operation of a store failed.

use std::error::Error;
use std::io;

use values::cause::causes;

/// Why an operation of a store failed.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// The store has no such file.
    #[error("the file is not in the store")]
    Missing,
    /// The store has no space left.
    #[error("the store is full")]
    Full,
    /// Clients send the bytes of uploads to this store themselves, not to the server.
    #[error("the store receives uploads by presigned URLs only")]
    PresignedOnly,
    /// Any other failure, with the cause that the store reported.
    #[error("the store of files could not be read or written")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
}

impl From<object_store::Error> for BlobError {
    fn from(error: object_store::Error) -> Self {
        if matches!(error, object_store::Error::NotFound { .. }) {
            return BlobError::Missing;
        }
        // The library wraps the error of the operating system, so all causes are searched.
        if causes(&error).any(|cause| cause.downcast_ref::<io::Error>().is_some_and(is_full)) {
            return BlobError::Full;
        }
        BlobError::Failed(Box::new(error))
    }
}

impl From<io::Error> for BlobError {
    fn from(error: io::Error) -> Self {
        if is_full(&error) { BlobError::Full } else { BlobError::Failed(Box::new(error)) }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
