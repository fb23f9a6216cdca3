//! The numbers of the texts of an import's bookmarks, and the recent ones of large imports. Clients ask for them again and again while the
//! texts are made, and a count reads a row for each bookmark.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use entity::import;
use schemars::JsonSchema;
use serde::Serialize;
use values::id::ImportId;
use values::kind::ImportState;
use values::time::Timestamp;

/// Number of objects of an import from which on its counts are used again. A count of fewer takes a few milliseconds.
const MIN_CREATED_OBJECTS: i32 = 5_000;
/// A count is used for so many times the time that it took: the counts of an import take a twentieth of one core at most, however many
/// clients ask for them.
const COST_MULTIPLE: u32 = 20;
/// A count is never used for longer.
const MAX_COUNT_AGE: Duration = Duration::from_secs(2);
/// Number of imports from which on counts that are too old are removed.
const MAX_COUNTED_IMPORTS: usize = 256;

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

/// The last counts of the texts of large imports. They lag behind what happens to the texts by 2 seconds at most; a change of the
/// import's state ends them at once. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct RecentTextCounts(Arc<Mutex<HashMap<ImportId, RecentTexts>>>);

#[derive(Debug)]
struct RecentTexts {
    texts: TextCounts,
    /// The state of the import when it was counted, and the time at which it ended.
    state: (ImportState, Option<Timestamp>),
    counted_at: Instant,
    max_age: Duration,
}

impl RecentTexts {
    fn is_recent(&self) -> bool {
        self.counted_at.elapsed() < self.max_age
    }
}

impl RecentTextCounts {
    /// Returns the last count of an import if it may be used again.
    pub fn find(&self, import: &import::Model) -> Option<TextCounts> {
        let counts = self.lock();
        let recent =
            counts.get(&import.id).filter(|count| count.is_recent() && count.state == state_of(import));
        recent.map(|count| count.texts)
    }

    /// Notes a count that began at this time, if the import is large.
    pub fn note(&self, import: &import::Model, texts: TextCounts, began: Instant) {
        if import.created < MIN_CREATED_OBJECTS {
            return;
        }
        let mut counts = self.lock();
        if counts.len() >= MAX_COUNTED_IMPORTS {
            counts.retain(|_, count| count.is_recent());
        }
        let max_age = began.elapsed().saturating_mul(COST_MULTIPLE).min(MAX_COUNT_AGE);
        // As old as its beginning: what happened to the texts since may be missing from it.
        counts.insert(import.id, RecentTexts { texts, state: state_of(import), counted_at: began, max_age });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ImportId, RecentTexts>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn state_of(import: &import::Model) -> (ImportState, Option<Timestamp>) {
    (import.state, import.finished_at)
}

#[cfg(test)]
mod tests {
    use values::id::UserId;

    use super::*;

    const TEXTS: TextCounts = TextCounts { processing: 3, ready: 2, failed: 1 };

    fn an_import(created: i32) -> import::Model {
        let now = Timestamp::from_millis(0);
        import::Model {
            id: ImportId::new(now),
            user_id: UserId::new(now),
            file_name: None,
            state: ImportState::Running,
            is_dry_run: false,
            format: None,
            unread_columns: None,
            done: 0,
            created,
            updated: 0,
            skipped: 0,
            unlisted_faults: None,
            faults_in_a_row: 0,
            error: None,
            created_at: now,
            finished_at: None,
        }
    }

    /// The beginning of a count that took so long that its result is used for the longest time.
    fn long_count_began() -> Instant {
        Instant::now() - MAX_COUNT_AGE / 2
    }

    #[test]
    fn count_of_a_large_import_is_used_in_the_same_state() {
        let (counts, import) = (RecentTextCounts::default(), an_import(MIN_CREATED_OBJECTS));
        assert_eq!(counts.find(&import), None);

        counts.note(&import, TEXTS, long_count_began());

        assert_eq!(counts.clone().find(&import::Model { done: 9, ..import.clone() }), Some(TEXTS));
        assert_eq!(counts.find(&import::Model { state: ImportState::Done, ..import.clone() }), None);
        assert_eq!(counts.find(&an_import(MIN_CREATED_OBJECTS)), None);
    }

    #[test]
    fn count_of_a_small_import_is_not_kept() {
        let (counts, import) = (RecentTextCounts::default(), an_import(MIN_CREATED_OBJECTS - 1));

        counts.note(&import, TEXTS, long_count_began());

        assert_eq!(counts.find(&import), None);
    }

    #[test]
    fn old_counts_are_neither_used_nor_kept() {
        let (counts, import) = (RecentTextCounts::default(), an_import(MIN_CREATED_OBJECTS));
        counts.note(&import, TEXTS, Instant::now() - MAX_COUNT_AGE);
        assert_eq!(counts.find(&import), None);
        for _ in 1..MAX_COUNTED_IMPORTS {
            counts.note(&an_import(MIN_CREATED_OBJECTS), TEXTS, Instant::now() - MAX_COUNT_AGE);
        }

        counts.note(&import, TEXTS, long_count_began());

        assert_eq!(counts.lock().len(), 1);
    }
}
