//! Why a database is not opened for use.

use sea_orm::DbErr;

use super::fault::StorageFault;

/// The file of an SQLite database is damaged. Contains the message of SQLite about the first fault, or a description.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the database is damaged: {0}")]
pub struct Damage(pub(super) String);

/// Why a database could not be opened for use.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It cannot be reached, read or migrated.
    #[error(transparent)]
    Database(DbErr),
    /// Its disk has no space left, or its file takes no writes.
    #[error("{0}; free some space on its disk, or make its file writable by the user that runs the server")]
    NotWritable(DbErr),
    /// It must not be written.
    #[error(
        "{0}; restore a backup of the database (`carrel doctor` reads all of it); if this database is a restored backup, remove the \
         files `-wal` and `-shm`, which belong to the previous database"
    )]
    Damaged(#[from] Damage),
}

/// An error by which any statement reports damage becomes [`OpenError::Damaged`], because the operator must restore a copy.
impl From<DbErr> for OpenError {
    fn from(error: DbErr) -> Self {
        match StorageFault::of(&error) {
            Some(StorageFault::Corrupt) => Damage(error.to_string()).into(),
            Some(StorageFault::Full) => Self::NotWritable(error),
            Some(
                StorageFault::Io
                | StorageFault::NoHandles
                | StorageFault::Removed
                | StorageFault::OutOfMemory
                | StorageFault::ReadOnly,
            )
            | None => Self::Database(error),
        }
    }
}
