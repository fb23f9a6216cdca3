//! The requests that failed in a way that only damage of the index explains.
//!
//! The cause may also be the request, if the engine fails it whatever the index holds. So a request that failed on an index that was
//! replaced, and fails on the next one too, does not count as damage of the next one.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use uuid::Uuid;
use values::id::{DocumentId, UserId};

/// Failures that are remembered: more than the number after which an index counts as damaged.
const MAX_FAILURES: usize = 16;
/// Requests that are remembered of the open index, and of those before it.
const MAX_REMEMBERED_REQUESTS: usize = 1024;

/// Identifies a request that may be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKey {
    /// Passages of a version of a document, beginning with this one: a long document is upserted in turns, and one of them may fail.
    UpsertPassages(DocumentId, i64, Option<Uuid>),
    /// The vectors of a model for passages of a document, beginning with this one.
    SetVectors(DocumentId, Option<Uuid>),
    /// The removal of a document.
    DeleteDocument(DocumentId),
    /// The change of the labels of a document.
    UpdateLabels(DocumentId),
    /// The removal of all documents of a user.
    DeleteUser(UserId),
    /// A search: the hash of its user and its words.
    Search(u64),
}

impl RequestKey {
    /// Returns the key of a search for these words.
    pub fn of_search(user: UserId, words: &str) -> Self {
        // Only a hash is remembered: a query is private, and need not outlive its search.
        let mut hasher = DefaultHasher::new();
        (user, words).hash(&mut hasher);
        Self::Search(hasher.finish())
    }
}

/// The last failures of the open index, and the requests that failed.
#[derive(Debug, Default)]
pub struct FailureLog(Mutex<Failures>);

#[derive(Debug, Default)]
struct Failures {
    /// The times of the failures, as [`Clock::elapsed`](library::clock::Clock::elapsed) returned them.
    times: VecDeque<Duration>,
    /// Requests that failed since an index was last replaced because of damage, oldest first.
    recent: VecDeque<RequestKey>,
    /// Requests that failed on an index that was replaced because of damage, oldest first.
    earlier: VecDeque<RequestKey>,
}

impl FailureLog {
    /// Adds a failure, unless the request failed on a replaced index too. Without a key every failure counts.
    pub fn record_failure(&self, request: Option<RequestKey>, now: Duration) {
        let mut failures = self.failures();
        if let Some(request) = request {
            // Remembered even if it does not count: it decides whether the request has failed again.
            push_request(&mut failures.recent, request);
            if failures.earlier.contains(&request) {
                return;
            }
        }
        if failures.times.len() == MAX_FAILURES {
            failures.times.pop_front();
        }
        failures.times.push_back(now);
    }

    /// Records that the open index answered a request: if it failed before, the replaced index was the cause.
    pub fn record_success(&self, request: RequestKey) {
        self.failures().earlier.retain(|failed| *failed != request);
    }

    /// Returns whether a request failed on an index that was replaced because of damage, and on one that followed it.
    pub fn has_failed_again(&self, request: RequestKey) -> bool {
        let failures = self.failures();
        failures.earlier.contains(&request) && failures.recent.contains(&request)
    }

    /// Counts the failures within this time before `now`, at most [`MAX_FAILURES`].
    pub fn count_within(&self, window: Duration, now: Duration) -> u32 {
        let recent = self.failures().times.iter().filter(|at| now.saturating_sub(**at) < window).count();
        u32::try_from(recent).unwrap_or(u32::MAX)
    }

    /// Returns whether no failure was counted since the index was opened.
    pub fn is_empty(&self) -> bool {
        self.failures().times.is_empty()
    }

    /// Counts from 0 again: another index is open.
    pub fn reset_count(&self) {
        self.failures().times.clear();
    }

    /// Counts from 0 again: a new index replaced one that counted as damaged.
    pub fn begin_generation(&self) {
        let mut failures = self.failures();
        let Failures { times, recent, earlier } = &mut *failures;
        times.clear();
        // Requests that failed on the old index, and fail on the new one too, are themselves the cause.
        recent.drain(..).for_each(|request| push_request(earlier, request));
    }

    fn failures(&self) -> MutexGuard<'_, Failures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds a request as the newest. The oldest is removed if there are too many.
fn push_request(requests: &mut VecDeque<RequestKey>, request: RequestKey) {
    requests.retain(|known| *known != request);
    if requests.len() == MAX_REMEMBERED_REQUESTS {
        requests.pop_front();
    }
    requests.push_back(request);
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(60);

    fn search(words: &str) -> RequestKey {
        RequestKey::of_search(UserId(Uuid::nil()), words)
    }

    fn count(log: &FailureLog) -> u32 {
        log.count_within(WINDOW, Duration::ZERO)
    }

    #[test]
    fn failures_are_counted_within_the_window() {
        let log = FailureLog::default();
        for second in [0, 30, 59] {
            log.record_failure(None, Duration::from_secs(second));
        }

        let counts = [59, 60, 90, 119].map(|now| log.count_within(WINDOW, Duration::from_secs(now)));

        assert_eq!(counts, [3, 2, 1, 0]);
        assert!(!log.is_empty(), "an old failure is one still");
        log.reset_count();
        assert!(log.is_empty());
    }

    #[test]
    fn failures_before_the_last_ones_are_forgotten() {
        let log = FailureLog::default();

        (0..100).for_each(|_| log.record_failure(None, Duration::ZERO));

        assert_eq!(count(&log), 16);
    }

    #[test]
    fn request_that_failed_on_a_replaced_index_does_not_count() {
        let log = FailureLog::default();
        (0..3).for_each(|_| log.record_failure(Some(search("heron")), Duration::ZERO));
        assert_eq!(count(&log), 3);
        log.begin_generation();
        assert!(!log.has_failed_again(search("heron")));

        (0..3).for_each(|_| log.record_failure(Some(search("heron")), Duration::ZERO));
        log.record_failure(Some(search("kingfisher")), Duration::ZERO);

        assert_eq!(count(&log), 1);
        assert!(log.has_failed_again(search("heron")));
        assert!(!log.has_failed_again(search("kingfisher")));
    }

    #[test]
    fn request_that_succeeded_on_the_new_index_counts_again() {
        let log = FailureLog::default();
        log.record_failure(Some(search("heron")), Duration::ZERO);
        log.begin_generation();
        log.record_success(search("heron"));

        log.record_failure(Some(search("heron")), Duration::ZERO);

        assert_eq!(count(&log), 1);
        assert!(!log.has_failed_again(search("heron")));
    }

    #[test]
    fn turn_that_succeeds_does_not_clear_another_of_its_document() {
        let turn =
            |first| RequestKey::UpsertPassages(DocumentId(Uuid::nil()), 1, Some(Uuid::from_u128(first)));
        let log = FailureLog::default();
        log.record_failure(Some(turn(33)), Duration::ZERO);
        log.begin_generation();

        log.record_success(turn(1));
        log.record_failure(Some(turn(33)), Duration::ZERO);

        assert!(log.is_empty() && log.has_failed_again(turn(33)));
    }

    #[test]
    fn request_counts_again_after_a_replacement_without_damage() {
        let log = FailureLog::default();
        log.record_failure(Some(search("heron")), Duration::ZERO);
        log.reset_count();

        log.record_failure(Some(search("heron")), Duration::ZERO);

        assert_eq!(count(&log), 1);
        assert!(!log.has_failed_again(search("heron")));
    }

    #[test]
    fn remembered_requests_are_bounded() {
        let mut requests = VecDeque::new();

        (0..2000).for_each(|hash| push_request(&mut requests, RequestKey::Search(hash)));

        assert_eq!(requests.len(), MAX_REMEMBERED_REQUESTS);
        assert_eq!(requests.front(), Some(&RequestKey::Search(2000 - MAX_REMEMBERED_REQUESTS as u64)));
    }
}
