//! The last use of each key or grant, until it is written.

use std::collections::BTreeMap;
use std::sync::Arc;

use values::id::UserId;
use values::time::Timestamp;

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
// A map in the order of the ids: uses are written in this order, so two processes lock rows in the same order and cannot deadlock.
#[derive(Clone, Debug)]
pub struct LastUses<Id>(BTreeMap<Id, LastUse>);

impl<Id> Default for LastUses<Id> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<Id: Copy + Ord> LastUses<Id> {
    /// Adds a use that is later than all recorded ones.
    pub fn record(&mut self, id: Id, last_use: LastUse) {
        self.0.insert(id, last_use);
    }

    /// Puts back uses that could not be written. They are earlier than all that were recorded since.
    pub fn put_back(&mut self, unwritten: Self) {
        for (id, earlier) in unwritten.0 {
            self.0.entry(id).or_insert(earlier);
        }
    }

    /// Returns whether there is no use.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the uses in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (Id, &LastUse)> {
        self.0.iter().map(|(id, last_use)| (*id, last_use))
    }

    /// Iterates over the owners; one of several keys or grants comes several times.
    pub fn users(&self) -> impl Iterator<Item = UserId> {
        self.0.values().map(|last_use| last_use.user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(moment: i64) -> LastUse {
        let (at, user) = (Timestamp::from_millis(moment), UserId::new(Timestamp::from_millis(0)));
        LastUse { user, at, client: None }
    }

    #[test]
    fn uses_that_are_put_back_are_earlier_than_later_ones() {
        let mut unwritten = LastUses::default();
        let (first, second) = (at(1), at(1));
        unwritten.record(1, at(0));
        unwritten.record(1, first);
        unwritten.record(2, second.clone());
        let mut uses = LastUses::default();
        let later = at(5);
        uses.record(1, later.clone());

        uses.put_back(unwritten);

        let all: Vec<_> = uses.iter().map(|(id, last_use)| (id, last_use.clone())).collect();
        assert_eq!(all, [(1, later), (2, second)]);
    }
}
