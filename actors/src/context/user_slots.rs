//! Limits of what one user may have in progress at the same time.

use concurrency::KeyedMutex;
use values::id::UserId;

use crate::batch_slots::BatchSlots;

/// The slots of each user for requests that take long or much memory. Clones share them.
#[derive(Clone, Default)]
pub struct UserSlots {
    /// Slots for batches of changes.
    pub batches: BatchSlots,
    /// Serializes the uploads of files to import: the number of a user's imports in progress is checked before a file is received,
    /// and the file counts as one of them only after its last byte.
    pub import_uploads: KeyedMutex<UserId>,
    /// Serializes the forms with uploads, whose files are on this machine until they are stored.
    pub form_uploads: KeyedMutex<UserId>,
}
