//! The row logic of a library.

pub mod bookmarks;
pub mod clock;
pub mod context;
pub mod documents;
pub mod exports;
pub mod feeds;
pub mod highlights;
pub mod idempotency_claim;
pub mod imports;
pub mod library_quota;
pub mod notes;
pub mod owned_transaction;
pub mod projects;
pub mod stored_files;
pub mod transfer_quota;
pub mod uploads;

/// Maximum number of ids in one statement. Longer lists are worked on in batches of this size.
pub const BATCH_ROWS: usize = 500;
