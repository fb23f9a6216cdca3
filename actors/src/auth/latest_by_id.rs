//! The latest value for each key or grant, until it is written.

use std::collections::BTreeMap;

/// The latest value for each id.
// A map in the order of the ids: values are written in this order, so two processes lock rows in the same order and cannot deadlock.
#[derive(Clone, Debug)]
pub struct LatestById<Id, Value>(BTreeMap<Id, Value>);

impl<Id, Value> Default for LatestById<Id, Value> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<Id: Copy + Ord, Value> LatestById<Id, Value> {
    /// Adds a value that is later than all recorded ones.
    pub fn record(&mut self, id: Id, value: Value) {
        self.0.insert(id, value);
    }

    /// Puts back values that could not be written. They are earlier than all that were recorded since.
    pub fn put_back(&mut self, unwritten: Self) {
        for (id, earlier) in unwritten.0 {
            self.0.entry(id).or_insert(earlier);
        }
    }

    /// Returns whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the values in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (Id, &Value)> {
        self.0.iter().map(|(id, value)| (*id, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_that_is_put_back_is_earlier_than_a_later_one() {
        let mut unwritten = LatestById::default();
        unwritten.record(1, "first");
        unwritten.record(1, "second");
        unwritten.record(2, "second");
        let mut latest = LatestById::default();
        latest.record(1, "third");

        latest.put_back(unwritten);

        assert_eq!(latest.iter().collect::<Vec<_>>(), [(1, &"third"), (2, &"second")]);
        assert!(!latest.is_empty() && LatestById::<u8, u8>::default().is_empty());
    }
}
