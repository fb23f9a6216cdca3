//! A vocabulary that is kept, and how long it is used.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use values::id::DocumentId;

use super::vocabulary_files::StoredVocabulary;

/// Time after which a vocabulary that is not used leaves the memory, and after which a query has all texts read again: words may have been
/// removed, and another node may have changed the library.
pub const MAX_AGE: Duration = Duration::from_secs(600);
/// Time after which a change has all texts read again, although no query needs them: documents may have lost words.
pub const MAX_UNASKED_AGE: Duration = Duration::from_secs(24 * 3600);

/// A vocabulary of all texts of a user.
pub struct KeptVocabulary {
    /// Its words, as they are in its file.
    pub stored: StoredVocabulary,
    /// The state of the library when its words were read. The number of its changes is not known of a vocabulary that was in a file.
    pub state: LibraryState,
    /// Whether the library is small, so that a query reads it as a whole.
    pub is_small: bool,
}

/// The state of a library.
#[derive(Clone)]
pub struct LibraryState {
    /// The newest document of the user.
    pub newest: Option<DocumentId>,
    /// The number of changes that were noted.
    pub changes: Arc<AtomicU64>,
    /// What it was then; `None` if that is not known.
    pub changes_before: Option<u64>,
}

/// Why a vocabulary is brought up to date.
#[derive(Clone, Copy, PartialEq)]
pub enum UpdateCause {
    /// Documents have changed.
    Changed,
    /// Documents were removed.
    Removed,
    /// A query needs it.
    Asked,
}

impl KeptVocabulary {
    /// Returns whether the library has still the state in which its words were read.
    pub fn is_current(&self, state: &LibraryState) -> bool {
        Arc::ptr_eq(&self.state.changes, &state.changes)
            && self.state.changes_before == state.changes_before
            && self.state.newest == state.newest
    }
}

impl UpdateCause {
    /// Returns the age from which on all texts are read again.
    pub fn max_age(self, stored: &StoredVocabulary) -> Duration {
        let age = match self {
            Self::Changed => MAX_UNASKED_AGE,
            Self::Removed => return Duration::ZERO,
            Self::Asked => MAX_AGE,
        };
        age.max(stored.reread_after)
    }
}
