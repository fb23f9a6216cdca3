//! The names that MCP clients stated in their handshake, until they are written in the rows of their keys and grants.

use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::Arc;

use governor::Quota;
use values::id::UserId;

use super::latest_by_id::LatestById;
use crate::throttle::KeyedThrottle;

/// Returns a limit of how often the name of a client is written without delay, for each key or grant: each such write makes the cached
/// rows of the user be read again. Beyond the limit, the name is written with the next batch.
pub fn client_name_throttle<Id: Clone + Hash + Eq>() -> KeyedThrottle<Id> {
    KeyedThrottle::new(Quota::per_second(NonZeroU32::MIN), 10)
}

/// Name and version that a client stated in an MCP `initialize`.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientName {
    /// The owner of the key or grant.
    pub user: UserId,
    pub name: Arc<str>,
}

/// The latest name for each id.
pub type ClientNames<Id> = LatestById<Id, ClientName>;
