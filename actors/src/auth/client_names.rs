//! The names that MCP clients stated in their handshake, until they are written in the rows of their keys and grants.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::Arc;

use governor::Quota;
use values::id::UserId;

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
// A map in the order of the ids, for the order of locks ([`super::last_use`]).
#[derive(Clone, Debug)]
pub struct ClientNames<Id>(BTreeMap<Id, ClientName>);

impl<Id> Default for ClientNames<Id> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<Id: Copy + Ord> ClientNames<Id> {
    /// Adds a name, which replaces an earlier one.
    pub fn record(&mut self, id: Id, name: ClientName) {
        self.0.insert(id, name);
    }

    /// Puts back names that could not be written. They are earlier than all that were recorded since.
    pub fn put_back(&mut self, unwritten: Self) {
        for (id, earlier) in unwritten.0 {
            self.0.entry(id).or_insert(earlier);
        }
    }

    /// Returns whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the names in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (Id, &ClientName)> {
        self.0.iter().map(|(id, name)| (*id, name))
    }
}

#[cfg(test)]
mod tests {
    use values::time::Timestamp;

    use super::*;

    #[test]
    fn latest_name_stays_when_an_unwritten_one_is_put_back() {
        let user = UserId::new(Timestamp::from_millis(0));
        let named = |name: &str| ClientName { user, name: name.into() };
        let mut unwritten = ClientNames::default();
        unwritten.record(1, named("core 1.0"));
        unwritten.record(1, named("core 2.0"));
        unwritten.record(2, named("core 1.0"));
        let mut names = ClientNames::default();
        names.record(1, named("core 3.0"));

        names.put_back(unwritten);

        let all: Vec<_> = names.iter().map(|(id, name)| (id, &*name.name)).collect();
        assert_eq!(all, [(1, "core 3.0"), (2, "core 1.0")]);
    }
}
