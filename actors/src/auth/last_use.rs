//! The last use of each key or grant, buffered until it is written.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::num::NonZeroU32;

use governor::Quota;
use values::time::Timestamp;

use crate::throttle::KeyedThrottle;

/// Returns a limit of how often the name of a client is written without delay, for each key or grant: each such write makes every
/// cached row be read again. Beyond the limit, the name is written with the next batch.
pub fn client_info_throttle<Id: Clone + Hash + Eq>() -> KeyedThrottle<Id> {
    KeyedThrottle::new(Quota::per_second(NonZeroU32::MIN), 10)
}

/// A use of a key or grant.
#[derive(Clone, Debug, PartialEq)]
pub struct LastUse {
    pub at: Timestamp,
    /// The name by which the client identified itself in the request.
    pub client: Option<String>,
    /// Name and version that the client stated in an MCP `initialize`.
    pub mcp_client: Option<String>,
}

impl LastUse {
    /// Returns this use with the name of an earlier one, unless this one has its own.
    fn after(self, earlier: Self) -> Self {
        Self { mcp_client: self.mcp_client.or(earlier.mcp_client), ..self }
    }
}

/// The last use of each id.
// A map in the order of the ids: uses are written in this order, so two processes lock rows in the same order and cannot deadlock.
#[derive(Clone, Debug)]
pub struct LastUseBuffer<Id>(BTreeMap<Id, LastUse>);

impl<Id> Default for LastUseBuffer<Id> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<Id: Copy + Ord> LastUseBuffer<Id> {
    /// Adds a use that is later than all recorded ones.
    pub fn record(&mut self, id: Id, last_use: LastUse) {
        let last_use = match self.0.remove(&id) {
            Some(earlier) => last_use.after(earlier),
            None => last_use,
        };
        self.0.insert(id, last_use);
    }

    /// Puts back uses that could not be written. They are earlier than all that were recorded since.
    pub fn put_back(&mut self, unwritten: Self) {
        for (id, earlier) in unwritten.0 {
            let last_use = match self.0.remove(&id) {
                Some(later) => later.after(earlier),
                None => earlier,
            };
            self.0.insert(id, last_use);
        }
    }

    /// Returns whether a client stated its name in one of the uses.
    pub fn has_client_info(&self) -> bool {
        self.0.values().any(|last_use| last_use.mcp_client.is_some())
    }

    /// Returns whether there is no use.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the uses in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (Id, &LastUse)> {
        self.0.iter().map(|(id, last_use)| (*id, last_use))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(moment: i64, mcp_client: Option<&str>) -> LastUse {
        let (at, mcp_client) = (Timestamp::from_millis(moment), mcp_client.map(str::to_owned));
        LastUse { at, client: None, mcp_client }
    }

    #[test]
    fn last_use_counts_and_a_stated_name_stays() {
        let mut uses = LastUseBuffer::default();
        uses.record(1, at(1, Some("core 1.0")));
        uses.record(1, at(2, None));
        uses.record(2, at(3, Some("core 1.0")));
        uses.record(2, at(4, Some("core 2.0")));

        let all: Vec<_> = uses.iter().map(|(id, last_use)| (id, last_use.clone())).collect();
        assert_eq!(all, [(1, at(2, Some("core 1.0"))), (2, at(4, Some("core 2.0")))]);
        assert!(uses.has_client_info());
    }

    #[test]
    fn uses_that_are_put_back_are_earlier_than_later_ones() {
        let mut unwritten = LastUseBuffer::default();
        unwritten.record(1, at(1, Some("core 1.0")));
        unwritten.record(2, at(1, None));
        let mut uses = LastUseBuffer::default();
        uses.record(1, at(5, None));

        uses.put_back(unwritten);

        let all: Vec<_> = uses.iter().map(|(id, last_use)| (id, last_use.clone())).collect();
        assert_eq!(all, [(1, at(5, Some("core 1.0"))), (2, at(1, None))]);
    }
}
