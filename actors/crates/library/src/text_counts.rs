//! The numbers of the texts of an import's bookmarks, and the recent ones of large imports. Clients ask for them again and again while the
//! texts are made, and a count reads a row for each bookmark.

use std::time::{Duration, Instant};

use concurrency::KeyedMutex;
use entity::import;
use errors::Error;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use schemars::JsonSchema;
use serde::Serialize;
use values::id::ImportId;
use values::kind::ImportState;
use values::time::Timestamp;

/// Number of objects of an import from which on its counts are used again. A count of fewer takes a few milliseconds.
const MIN_CREATED_OBJECTS: i32 = 5_000;
/// How long a count is used again, in multiples of the time that counting took; [`MAX_COUNT_AGE`] at most. So counts that take up to
/// 100 ms use a twentieth of a core, and longer ones more.
const COST_MULTIPLE: u32 = 20;
/// A count is used for this long after its end at most.
const MAX_COUNT_AGE: Duration = Duration::from_secs(2);
/// Imports whose last counts are kept.
const MAX_COUNTED_IMPORTS: u64 = 256;

/// The numbers of the texts of an import's bookmarks, by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextCounts {
    /// Texts that wait to be fetched or extracted, or are being processed.
    pub processing: i64,
    /// Texts that can be read and searched.
    pub ready: i64,
    /// Texts whose last attempt failed.
    pub failed: i64,
}

/// The last counts of the texts of large imports. A count is used for 20 times the time that it took, at most 2 seconds after its end, and
/// until the state of the import changes. Clones share them.
#[derive(Clone, Debug)]
pub struct RecentTextCounts {
    recent: Cache<ImportId, RecentTexts>,
    /// Held by the call that counts the texts of an import.
    counting: KeyedMutex<ImportId>,
}

impl Default for RecentTextCounts {
    fn default() -> Self {
        // Not the default policy, which refuses a new import in favour of others that were asked for often.
        let recent =
            Cache::builder().max_capacity(MAX_COUNTED_IMPORTS).eviction_policy(EvictionPolicy::lru()).build();
        Self { recent, counting: KeyedMutex::default() }
    }
}

impl RecentTextCounts {
    /// Returns the last count of an import if it may be used again, and the result of `count` otherwise. Of the calls for a large import
    /// that find none one counts, and the others wait for its result.
    ///
    /// # Errors
    /// The error of `count`. The next call that waits counts then.
    pub async fn find_or_count(
        &self,
        import: &import::Model,
        count: impl Future<Output = Result<TextCounts, Error>>,
    ) -> Result<TextCounts, Error> {
        if import.created < MIN_CREATED_OBJECTS {
            return count.await;
        }
        // Before the wait: a count that ends later is new for this call, however long the call waits for its turn.
        let called_at = Instant::now();
        let _counting = self.counting.lock(import.id).await;
        if let Some(recent) = self.recent.get(&import.id)
            && recent.is_usable(import, called_at)
        {
            return Ok(recent.texts);
        }
        let began = Instant::now();
        let texts = count.await?;
        self.recent.insert(import.id, RecentTexts::new(import, texts, began, Instant::now()));
        Ok(texts)
    }
}

#[derive(Clone, Copy, Debug)]
struct RecentTexts {
    texts: TextCounts,
    /// The state of the import when it was counted, and the time at which it ended.
    state: (ImportState, Option<Timestamp>),
    counted_at: Instant,
    max_age: Duration,
}

impl RecentTexts {
    /// Returns the result of a count that began and ended at these times.
    fn new(import: &import::Model, texts: TextCounts, began: Instant, ended: Instant) -> Self {
        let cost = ended.saturating_duration_since(began);
        let max_age = cost.saturating_mul(COST_MULTIPLE).min(MAX_COUNT_AGE);
        Self { texts, state: state_of(import), counted_at: ended, max_age }
    }

    /// Returns whether a call at this time may use the count. A count that ended after the call has no age.
    fn is_usable(&self, import: &import::Model, called_at: Instant) -> bool {
        called_at.saturating_duration_since(self.counted_at) <= self.max_age && self.state == state_of(import)
    }
}

fn state_of(import: &import::Model) -> (ImportState, Option<Timestamp>) {
    (import.state, import.finished_at)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use values::id::UserId;

    use super::*;
    use crate::imports::NewImport;

    const TEXTS: TextCounts = TextCounts { processing: 3, ready: 2, failed: 1 };

    fn an_import(created: i32) -> import::Model {
        let now = Timestamp::from_millis(0);
        let new = NewImport { user: UserId::new(now), file_name: None, format: None, dry_run: false };
        import::Model { created, ..new.row(now) }
    }

    #[test]
    fn count_is_used_for_20_times_its_cost_from_its_end() {
        let (import, began) = (an_import(MIN_CREATED_OBJECTS), Instant::now());
        let millis = Duration::from_millis;
        for (cost, max_age) in [(10, 200), (100, 2_000), (1_000, 2_000)] {
            let ended = began + millis(cost);

            let count = RecentTexts::new(&import, TEXTS, began, ended);

            assert!(count.is_usable(&import, began), "a call that waited for a count of {cost} ms");
            assert!(count.is_usable(&import, ended + millis(max_age)), "{cost} ms");
            assert!(!count.is_usable(&import, ended + millis(max_age + 1)), "{cost} ms");
        }
    }

    #[test]
    fn count_is_used_in_the_same_state_of_the_import_alone() {
        let (import, now) = (an_import(MIN_CREATED_OBJECTS), Instant::now());

        let count = RecentTexts::new(&import, TEXTS, now, now);

        assert!(count.is_usable(&import::Model { done: 9, ..import.clone() }, now));
        assert!(!count.is_usable(&import::Model { state: ImportState::Done, ..import.clone() }, now));
        let finished = Some(Timestamp::from_millis(7));
        assert!(!count.is_usable(&import::Model { finished_at: finished, ..import }, now));
    }

    /// Asks twice at the same time for the counts of an import. Returns how often they were counted.
    async fn count_of_two_calls(import: &import::Model) -> u32 {
        let (counts, counted) = (RecentTextCounts::default(), AtomicU32::new(0));
        let count = || async {
            counted.fetch_add(1, Ordering::Relaxed);
            // The other call begins before this count ends.
            tokio::task::yield_now().await;
            Ok::<_, Error>(TEXTS)
        };
        let shared = counts.clone();

        let (first, second) =
            tokio::join!(counts.find_or_count(import, count()), shared.find_or_count(import, count()));

        assert_eq!((first.unwrap(), second.unwrap()), (TEXTS, TEXTS));
        counted.load(Ordering::Relaxed)
    }

    #[tokio::test]
    async fn calls_at_the_same_time_share_one_count() {
        assert_eq!(count_of_two_calls(&an_import(MIN_CREATED_OBJECTS)).await, 1);
    }

    #[tokio::test]
    async fn texts_of_a_small_import_are_counted_by_each_call() {
        assert_eq!(count_of_two_calls(&an_import(MIN_CREATED_OBJECTS - 1)).await, 2);
    }

    #[tokio::test]
    async fn failed_count_is_not_kept() {
        let (counts, import) = (RecentTextCounts::default(), an_import(MIN_CREATED_OBJECTS));

        let failed = counts.find_or_count(&import, async { Err(Error::internal("no database")) }).await;

        assert!(failed.is_err());
        assert_eq!(counts.find_or_count(&import, async { Ok(TEXTS) }).await.unwrap(), TEXTS);
    }
}
