//! The last use of each key or connection, gathered until it is written down.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::num::NonZeroU32;

use entity::time::Timestamp;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

/// So many are remembered before those that did nothing for long are forgotten.
const REMEMBERED: usize = 10_000;

/// How often what a client calls itself is written at once, for each key or connection: written, it makes every cached row
/// be read anew. Beyond it the name comes with the next write.
pub struct Introductions<Id: Clone + Hash + Eq>(DefaultKeyedRateLimiter<Id>);

impl<Id: Clone + Hash + Eq> Default for Introductions<Id> {
    fn default() -> Self {
        let number = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        Self(RateLimiter::keyed(Quota::per_second(number(1)).allow_burst(number(10))))
    }
}

impl<Id: Clone + Hash + Eq> Introductions<Id> {
    /// Whether this one is written at once.
    pub fn take(&self, of: &Id) -> bool {
        if self.0.len() > REMEMBERED {
            self.0.retain_recent();
        }
        self.0.check_key(of).is_ok()
    }
}

/// A use.
#[derive(Clone, Debug, PartialEq)]
pub struct Use {
    /// When.
    pub at: Timestamp,
    /// Who it was, as the request names itself.
    pub client: Option<String>,
    /// Name and version of an MCP `initialize`.
    pub mcp_client: Option<String>,
}

impl Use {
    /// This use, with the name that an earlier one introduced and this one does not.
    fn after(self, earlier: Self) -> Self {
        Self { mcp_client: self.mcp_client.or(earlier.mcp_client), ..self }
    }
}

/// The last use of each. In the order of their ids they are written, or two nodes could wait for each other's rows.
#[derive(Clone, Debug)]
pub struct Uses<Id>(BTreeMap<Id, Use>);

impl<Id> Default for Uses<Id> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<Id: Copy + Ord> Uses<Id> {
    /// A use, after all that were noted.
    pub fn note(&mut self, of: Id, this: Use) {
        let this = match self.0.remove(&of) {
            Some(earlier) => this.after(earlier),
            None => this,
        };
        self.0.insert(of, this);
    }

    /// What could not be written, before all that was noted since.
    pub fn put_back(&mut self, unwritten: Self) {
        for (of, earlier) in unwritten.0 {
            let this = match self.0.remove(&of) {
                Some(since) => since.after(earlier),
                None => earlier,
            };
            self.0.insert(of, this);
        }
    }

    /// Whether a client introduced itself in one of them.
    pub fn introduce(&self) -> bool {
        self.0.values().any(|one| one.mcp_client.is_some())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = (Id, &Use)> {
        self.0.iter().map(|(of, one)| (*of, one))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(moment: i64, mcp_client: Option<&str>) -> Use {
        let (at, mcp_client) = (Timestamp::from_millis(moment), mcp_client.map(str::to_owned));
        Use { at, client: None, mcp_client }
    }

    #[test]
    fn the_last_use_counts_and_a_name_that_was_introduced_stays() {
        let mut uses = Uses::default();
        uses.note(1, at(1, Some("core 1.0")));
        uses.note(1, at(2, None));
        uses.note(2, at(3, Some("core 1.0")));
        uses.note(2, at(4, Some("core 2.0")));

        let all: Vec<_> = uses.iter().map(|(of, one)| (of, one.clone())).collect();
        assert_eq!(all, [(1, at(2, Some("core 1.0"))), (2, at(4, Some("core 2.0")))]);
        assert!(uses.introduce());
    }

    #[test]
    fn what_comes_back_unwritten_is_earlier_than_what_was_noted_since() {
        let mut unwritten = Uses::default();
        unwritten.note(1, at(1, Some("core 1.0")));
        unwritten.note(2, at(1, None));
        let mut uses = Uses::default();
        uses.note(1, at(5, None));

        uses.put_back(unwritten);

        let all: Vec<_> = uses.iter().map(|(of, one)| (of, one.clone())).collect();
        assert_eq!(all, [(1, at(5, Some("core 1.0"))), (2, at(1, None))]);
    }
}
