//! What the searches of one request share: the time by which they end, and the vectors of their queries.

use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use errors::Error;
use search::index::Embedding;
use tokio::time::{Instant, timeout_at};

/// Delay after which a request may be tried again whose time was up.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The searches of one request. If the index is on a server, all of them together end by one time, however many times that server, and
/// a service that embeds, are asked. A service embeds each query once.
pub struct RequestSearches {
    /// `None` if the index is on this machine: its searches do not wait for a server, and each has its own time limit.
    ends_at: Option<Instant>,
    /// The queries that a service was asked for, with their vectors; `None` if it gave none.
    embeddings: Mutex<Vec<(String, Option<Embedding>)>>,
}

impl RequestSearches {
    /// Begins the searches of a request, which take this long at most; `None` does not limit them together.
    pub(super) fn new(max_time: Option<Duration>) -> Self {
        Self { ends_at: max_time.map(|time| Instant::now() + time), embeddings: Mutex::default() }
    }

    /// Runs a part of the request until its time is up, except for the last part of it: `reserve` is left for what follows.
    ///
    /// # Errors
    /// [`Error::IndexUnreachable`] when the time is up; the error of the work otherwise.
    pub(crate) async fn run_within<T>(
        &self,
        reserve: Duration,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let Some(ends_at) = self.ends_at(reserve) else { return work.await };
        timeout_at(ends_at, work).await.unwrap_or(Err(Error::IndexUnreachable(RETRY_AFTER)))
    }

    /// Returns when a part of the request ends that leaves this time for what follows; `None` if the time is not limited.
    pub(super) fn ends_at(&self, reserve: Duration) -> Option<Instant> {
        let ends_at = self.ends_at?;
        Some(ends_at.checked_sub(reserve).unwrap_or(ends_at))
    }

    /// Returns the vector that a service gave a query, or that it gave none; `None` if it was not asked yet.
    pub(super) fn known_embedding(&self, query: &str) -> Option<Option<Embedding>> {
        let embeddings = self.embeddings();
        embeddings.iter().find(|(known, _)| known == query).map(|(_, embedding)| embedding.clone())
    }

    /// Keeps the vector that a service gave a query, or that it gave none.
    pub(super) fn keep_embedding(&self, query: &str, embedding: Option<Embedding>) {
        self.embeddings().push((query.to_owned(), embedding));
    }

    fn embeddings(&self) -> MutexGuard<'_, Vec<(String, Option<Embedding>)>> {
        self.embeddings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn parts_of_a_request_share_its_time() {
        let searches = RequestSearches::new(Some(Duration::from_millis(20)));
        assert_eq!(searches.run_within(Duration::ZERO, ready(Ok(7))).await.unwrap(), 7);

        for reserve in [Duration::from_millis(10), Duration::ZERO] {
            let late = searches.run_within(reserve, pending::<Result<(), Error>>()).await;
            assert!(matches!(late, Err(Error::IndexUnreachable(_))), "{late:?}");
        }
    }

    #[tokio::test]
    async fn work_of_an_index_on_this_machine_has_no_common_limit() {
        let searches = RequestSearches::new(None);

        let work = async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Ok(7)
        };

        assert_eq!(searches.run_within(Duration::from_secs(3600), work).await.unwrap(), 7);
    }

    #[test]
    fn service_is_asked_once_for_each_query() {
        let searches = RequestSearches::new(None);
        let embedding = Embedding { model: "a".to_owned(), vector: vec![1.0] };
        assert_eq!(searches.known_embedding("heron"), None);

        searches.keep_embedding("heron", Some(embedding.clone()));
        searches.keep_embedding("egret", None);

        assert_eq!(searches.known_embedding("heron"), Some(Some(embedding)));
        assert_eq!(searches.known_embedding("egret"), Some(None));
    }
}
