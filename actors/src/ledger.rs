//! The ledger of calls: what is to be recorded about each one. The thread of a request adds an entry to a shard and does not wait; the
//! actor of the activity empties the shards and writes the entries together ([`crate::activity`]).
//!
//! Entries wait while the database takes no writes. Their bytes are bounded: each shard has room for some, and what it needs beyond that is
//! taken from room that all shards share. So one user with many calls has most of the memory, about 100,000 entries, which are those of some
//! ten seconds if the server does nothing else, and the entries of the others still have room.
//!
//! An entry is lost if there is no room for it, and in a crash before it is written. Both are counted or logged, and no limit depends on
//! it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::Notify;
use values::id::{GrantId, KeyId, UserId};
use values::kind::MeteredSurface;
use values::time::Timestamp;

use crate::user_shards::UserShards;

/// Entries of a user are in one shard, in the order of their calls.
const LEDGER_SHARDS: usize = 16;
/// Bytes of entries for which each shard has room, whatever the others have.
const SHARD_BYTES: usize = 512 << 10;
/// Bytes of entries that the shards may have together beyond those.
const SHARED_BYTES: usize = 16 << 20;
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

impl LedgerEntry {
    /// Returns the bytes that it takes up. Texts count for each entry, although entries of a client share them.
    fn size_bytes(&self) -> usize {
        let key_name = self.call.as_ref().and_then(|call| call.key_name.as_ref());
        let texts = [self.client.as_ref(), key_name];
        size_of::<Self>() + texts.into_iter().flatten().map(|text| text.len()).sum::<usize>()
    }
}

/// The entries of some users, the oldest first.
#[derive(Default)]
struct LedgerShard {
    entries: VecDeque<LedgerEntry>,
    bytes: usize,
}

impl LedgerShard {
    /// Returns the bytes that a shard with this many has of those that all share.
    fn shared(bytes: usize) -> usize {
        bytes.saturating_sub(SHARD_BYTES)
    }

    /// Removes the oldest entries, at most this many. Returns also how many bytes of those that all share are free again.
    fn take(&mut self, max_entries: usize) -> (VecDeque<LedgerEntry>, usize) {
        let bytes = self.bytes;
        let taken: VecDeque<LedgerEntry> = if max_entries >= self.entries.len() {
            // With room for some, so that requests do not pay for its growth again; without entries it takes no memory.
            let empty = VecDeque::with_capacity(self.entries.len().min(FLUSH_ENTRIES));
            self.bytes = 0;
            std::mem::replace(&mut self.entries, empty)
        } else {
            let taken: VecDeque<LedgerEntry> = self.entries.drain(..max_entries).collect();
            let freed: usize = taken.iter().map(LedgerEntry::size_bytes).sum();
            self.bytes = self.bytes.saturating_sub(freed);
            taken
        };
        (taken, Self::shared(bytes).saturating_sub(Self::shared(self.bytes)))
    }
}

/// The entries that are not written yet.
pub struct Ledger {
    shards: UserShards<LedgerShard>,
    /// The bytes of all shards beyond their own.
    shared_bytes: AtomicUsize,
    lost: AtomicU64,
    flush_due: Notify,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            shards: UserShards::new(LEDGER_SHARDS),
            shared_bytes: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            flush_due: Notify::new(),
        }
    }
}

impl Ledger {
    /// Adds an entry. If there is no room for it, it is dropped and counted.
    pub fn push(&self, entry: LedgerEntry) {
        let mut shard = self.shards.lock(entry.user);
        let bytes = shard.bytes.saturating_add(entry.size_bytes());
        let further = LedgerShard::shared(bytes).saturating_sub(LedgerShard::shared(shard.bytes));
        if further > 0 && !self.try_acquire_shared(further) {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        shard.bytes = bytes;
        shard.entries.push_back(entry);
        let is_due = shard.entries.len().is_multiple_of(FLUSH_ENTRIES);
        drop(shard);
        // Seldom: it wakes the thread of the actor.
        if is_due {
            self.flush_due.notify_one();
        }
    }

    /// Takes some of the bytes that all shards share. Returns `false` if there are not as many.
    fn try_acquire_shared(&self, bytes: usize) -> bool {
        let add = |shared: usize| shared.checked_add(bytes).filter(|shared| *shared <= SHARED_BYTES);
        self.shared_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    /// Removes the oldest entries of the shards and returns them, at most this many. Those of a user are in the order of their calls. If
    /// there are more, each shard has its share of those that are returned.
    pub(crate) fn drain(&self, max_entries: usize) -> Vec<LedgerEntry> {
        let mut all = Vec::new();
        self.drain_each(max_entries.div_ceil(LEDGER_SHARDS), max_entries, &mut all);
        self.drain_each(max_entries, max_entries, &mut all);
        all
    }

    /// Moves the oldest entries of each shard, at most `max_of_shard`, until there are `max_entries`.
    fn drain_each(&self, max_of_shard: usize, max_entries: usize, all: &mut Vec<LedgerEntry>) {
        for mut shard in self.shards.lock_each() {
            let (taken, freed) = shard.take(max_of_shard.min(max_entries.saturating_sub(all.len())));
            drop(shard);
            self.shared_bytes.fetch_sub(freed, Ordering::Relaxed);
            all.extend(taken);
        }
    }

    /// Returns the number of entries that wait.
    pub(crate) fn waiting_entries(&self) -> usize {
        self.shards.lock_each().map(|shard| shard.entries.len()).sum()
    }

    /// Waits until a shard should be emptied.
    pub(crate) async fn flush_due(&self) {
        self.flush_due.notified().await;
    }

    /// Returns the number of entries that were dropped because there was no room for them.
    pub fn dropped_entries(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::user_shards::shard_index;

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
        let mut drained = ledger.drain(100);
        assert_eq!((drained.len(), ledger.waiting_entries()), (100, 700));
        drained.extend(ledger.drain(10_000));

        for user in users {
            let own = drained.iter().filter(|entry| entry.user == user).map(|entry| entry.at.millis());
            assert!(own.eq(0..100));
        }
        assert_eq!((drained.len(), ledger.dropped_entries()), (800, 0));
        assert!(ledger.drain(10_000).is_empty());
        assert_eq!(ledger.shared_bytes.into_inner(), 0);
    }

    #[test]
    fn busy_user_fills_the_shared_room_and_leaves_that_of_others() {
        let ledger = Ledger::default();
        let (busy, other) = two_users_of_different_shards();
        let capacity = (SHARD_BYTES + SHARED_BYTES) / entry(busy, 0).size_bytes();
        assert!(capacity > 100_000, "{capacity}");

        for number in 0..capacity + 3 {
            ledger.push(entry(busy, i64::try_from(number).unwrap()));
        }
        for _ in 0..1_000 {
            ledger.push(entry(other, 0));
        }

        assert_eq!((ledger.waiting_entries(), ledger.dropped_entries()), (capacity + 1_000, 3));
        let first = ledger.drain(1_600);
        let (of_busy, of_other): (Vec<_>, Vec<_>) = first.into_iter().partition(|entry| entry.user == busy);
        assert!(of_busy.len() >= 100 && of_other.len() >= 100, "each shard has its share");
        assert!(
            of_busy.iter().zip(0..).all(|(entry, number)| entry.at.millis() == number),
            "the oldest first"
        );
        assert_eq!(of_busy.len() + of_other.len(), 1_600);
        ledger.drain(usize::MAX);
        for _ in 0..capacity {
            ledger.push(entry(busy, 0));
        }
        assert_eq!((ledger.waiting_entries(), ledger.dropped_entries()), (capacity, 3), "all room is free");
    }

    fn two_users_of_different_shards() -> (UserId, UserId) {
        let busy = UserId::new(NOON);
        let shard = |user: UserId| shard_index(user, LEDGER_SHARDS);
        let other = std::iter::repeat_with(|| UserId::new(NOON)).find(|user| shard(*user) != shard(busy));
        (busy, other.unwrap())
    }

    #[test]
    fn texts_of_an_entry_count() {
        let small = entry(UserId::new(NOON), 0);
        let named = LedgerEntry { client: Some("heron/1.0".into()), ..small.clone() };

        assert_eq!(named.size_bytes(), small.size_bytes() + 9);
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
