//! The ledger of calls: what is to be recorded about each one. The thread of a request adds an entry to a shard and does not wait; the
//! actor of the activity empties the shards and writes the entries together ([`crate::activity`]).
//!
//! An entry is lost if its shard is full, and in a crash before it is written. Both are counted or logged, and no limit depends on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;
use values::id::{GrantId, KeyId, UserId};
use values::kind::MeteredSurface;
use values::time::Timestamp;

use crate::user_shards::UserShards;

/// Entries of a user are in one shard, in the order of their calls.
const LEDGER_SHARDS: usize = 16;
/// Maximum number of entries in a shard: those of some seconds in which the database takes no writes.
const MAX_SHARD_ENTRIES: usize = 8_192;
/// A shard with this many entries is emptied before the interval of the actor.
const FLUSH_ENTRIES: usize = 1_024;

/// The endpoint that was called, as the activity view names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Method and pattern of a route, without the version.
    Route(&'static str),
    /// The name of an MCP tool.
    Tool(&'static str),
}

/// The status of a call, as the activity view shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStatus {
    /// The HTTP status of a REST call.
    Http(u16),
    /// The outcome of an MCP call: `ok`, or the code of its error.
    Outcome(&'static str),
}

/// The credential that was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsedCredential {
    /// An API key.
    Key(KeyId),
    /// What a user granted an OAuth client.
    Grant(GrantId),
}

/// A use of a credential, and the call that it was used for.
#[derive(Clone, Debug)]
pub struct LedgerEntry {
    /// The owner of the credential.
    pub user: UserId,
    /// The key or grant, which gets the time as that of its last use.
    pub credential: UsedCredential,
    /// Time of the use.
    pub at: Timestamp,
    /// The name by which the client identified itself.
    pub client: Option<Arc<str>>,
    /// The line of the activity view; `None` for a use that has none, such as an MCP handshake.
    pub call: Option<RecordedCall>,
}

/// A call, as the activity view lists it. It has no field for queries or for content that was read.
#[derive(Clone, Debug)]
pub struct RecordedCall {
    /// The API that was called.
    pub surface: MeteredSurface,
    /// The endpoint that was called.
    pub endpoint: Endpoint,
    /// The status of the response.
    pub status: CallStatus,
    /// The name of the key at the time of the call.
    pub key_name: Option<Arc<str>>,
    /// Number of results in the response.
    pub result_count: Option<i32>,
}

/// The entries that are not written yet.
pub struct Ledger {
    shards: UserShards<Vec<LedgerEntry>>,
    lost: AtomicU64,
    flush_due: Notify,
}

impl Default for Ledger {
    fn default() -> Self {
        Self { shards: UserShards::new(LEDGER_SHARDS), lost: AtomicU64::new(0), flush_due: Notify::new() }
    }
}

impl Ledger {
    /// Adds an entry. If its shard is full, it is dropped and counted.
    pub fn push(&self, entry: LedgerEntry) {
        let mut entries = self.shards.lock(entry.user);
        if entries.len() >= MAX_SHARD_ENTRIES {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        entries.push(entry);
        let is_due = entries.len().is_multiple_of(FLUSH_ENTRIES);
        drop(entries);
        // Seldom: it wakes the thread of the actor.
        if is_due {
            self.flush_due.notify_one();
        }
    }

    /// Empties the shards, and returns their entries. Those of a user are in the order of their calls.
    pub(crate) fn drain(&self) -> Vec<LedgerEntry> {
        let mut all = Vec::new();
        for mut entries in self.shards.lock_each() {
            // With the same capacity, so that requests do not pay for its growth again; without entries it takes no memory.
            let empty = Vec::with_capacity(entries.len().min(FLUSH_ENTRIES));
            let mut drained = std::mem::replace(&mut *entries, empty);
            drop(entries);
            all.append(&mut drained);
        }
        all
    }

    /// Waits until a shard should be emptied.
    pub(crate) async fn flush_due(&self) {
        self.flush_due.notified().await;
    }

    /// Returns the number of entries that were dropped because their shard was full.
    pub fn dropped_entries(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    fn entry(user: UserId, millis: i64) -> LedgerEntry {
        let credential = UsedCredential::Key(KeyId::new(NOON));
        LedgerEntry { user, credential, at: Timestamp::from_millis(millis), client: None, call: None }
    }

    #[test]
    fn entries_of_threads_are_all_drained_in_their_order() {
        let ledger = Ledger::default();
        let users: Vec<UserId> = (0..8).map(|_| UserId::new(NOON)).collect();

        std::thread::scope(|scope| {
            for user in &users {
                scope.spawn(|| (0..100).for_each(|number| ledger.push(entry(*user, number))));
            }
        });
        let drained = ledger.drain();

        for user in users {
            let own = drained.iter().filter(|entry| entry.user == user).map(|entry| entry.at.millis());
            assert!(own.eq(0..100));
        }
        assert_eq!((drained.len(), ledger.dropped_entries()), (800, 0));
        assert!(ledger.drain().is_empty());
    }

    #[test]
    fn entry_for_a_full_shard_is_counted_and_others_are_kept() {
        let (ledger, user) = (Ledger::default(), UserId::new(NOON));

        for _ in 0..MAX_SHARD_ENTRIES + 3 {
            ledger.push(entry(user, 0));
        }

        assert_eq!((ledger.drain().len(), ledger.dropped_entries()), (MAX_SHARD_ENTRIES, 3));
        ledger.push(entry(user, 0));
        assert_eq!((ledger.drain().len(), ledger.dropped_entries()), (1, 3));
    }

    #[test]
    fn shard_with_many_entries_is_due_to_be_emptied() {
        let (ledger, user) = (Ledger::default(), UserId::new(NOON));

        for _ in 0..FLUSH_ENTRIES - 1 {
            ledger.push(entry(user, 0));
        }
        assert!(ledger.flush_due().now_or_never().is_none());
        ledger.push(entry(user, 0));

        assert!(ledger.flush_due().now_or_never().is_some());
    }
}
