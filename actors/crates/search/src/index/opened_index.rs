//! What the opening of an index returns.

use std::sync::Arc;

use super::audit_reason::AuditReason;
use super::marker::Marker;
use super::passage_index::PassageIndex;

/// An index that was opened, with what its markers tell.
pub struct OpenedIndex {
    /// The index, which may be a new and empty one.
    pub index: Arc<dyn PassageIndex>,
    /// Why it must be compared with the database; `None` if it is the one that the server left.
    pub audit_reason: Option<AuditReason>,
    /// The marker that was found in it.
    pub found: Option<Marker>,
    /// Whether it was looked at. `false` if its server does not answer: then nothing is known of it, and its first request opens it.
    pub is_reached: bool,
}
