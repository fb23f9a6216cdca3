//! The last use of each key or grant, until it is written.

use std::sync::Arc;

use values::id::UserId;
use values::time::Timestamp;

use super::latest_by_id::LatestById;

/// A use of a key or grant.
#[derive(Clone, Debug, PartialEq)]
pub struct LastUse {
    /// The owner of the key or grant.
    pub user: UserId,
    pub at: Timestamp,
    /// The name by which the client identified itself.
    pub client: Option<Arc<str>>,
}

/// The last use of each id.
pub type LastUses<Id> = LatestById<Id, LastUse>;
