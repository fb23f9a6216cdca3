//! The search engine: the index, the embedding model, and the worker threads for both.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use entity::id::{ChunkId, DocumentId, UserId};
use errors::{Error, StorageFailure};
use inference::embedder::{Embedder, PASSAGE_TOKENS, WordPieceCounts};
use library::clock::Clock;
use runtime::{Lane, Workers};
use search::fusion::{self, DenseWeight};
use search::index::{EngineFault, IndexError, IndexQuery, PassageIndex, PassagePage, Tenant};
use search::lexical;
use tracing::{error, warn};
use uuid::Uuid;

use super::{Completeness, RankedHits, SearchHit, SearchQuery};
use crate::ai::Pause;

/// Maximum duration of a search.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(10);
/// An index that does not answer a probe within this time is unhealthy.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// Time within which an index that was removed or replaced is reopened.
const REOPEN_RETRY_AFTER: Duration = Duration::from_secs(2);
/// Delay after which a read that met a reloading index may be retried.
const RELOAD_RETRY_AFTER: Duration = Duration::from_secs(2);
/// Passages that the lexical and the semantic search each return.
const SEARCH_DEPTH: usize = 100;
/// Maximum depth, for results in which a few long documents take all ranks.
const MAX_SEARCH_DEPTH: usize = 1600;

/// Embeddings, and the model that computed them.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    /// The model.
    pub model: String,
    /// One vector for each text, in order.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens that the model read.
    pub tokens: usize,
}

/// The index, the embedding model, and the worker threads for both.
pub struct Engine {
    index: RwLock<Arc<dyn PassageIndex>>,
    completeness: RwLock<Completeness>,
    /// Successive reads that the index failed to answer.
    failures: AtomicU32,
    /// Changes of the index since the start.
    changes: AtomicU64,
    embedder: RwLock<Option<Arc<dyn Embedder>>>,
    clock: Arc<dyn Clock>,
    pub(super) pause: Pause,
    workers: Workers,
}

impl Engine {
    /// Creates an engine without an embedding model.
    pub fn new(index: Arc<dyn PassageIndex>, clock: Arc<dyn Clock>, pause: Pause, workers: Workers) -> Self {
        Self {
            index: RwLock::new(index),
            completeness: RwLock::default(),
            failures: AtomicU32::new(0),
            changes: AtomicU64::new(0),
            embedder: RwLock::new(None),
            clock,
            pause,
            workers,
        }
    }

    fn index(&self) -> Arc<dyn PassageIndex> {
        self.index.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the index. Operations in progress end with the old one.
    pub fn replace_index(&self, index: Arc<dyn PassageIndex>) {
        *self.index.write().unwrap_or_else(PoisonError::into_inner) = index;
        self.failures.store(0, Ordering::Relaxed);
    }

    /// Whether the index contains everything that it should.
    pub fn completeness(&self) -> Completeness {
        *self.completeness.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets whether the index contains everything that it should.
    pub fn set_completeness(&self, completeness: Completeness) {
        *self.completeness.write().unwrap_or_else(PoisonError::into_inner) = completeness;
    }

    /// Number of successive reads that the index failed to answer.
    pub fn failures(&self) -> u32 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Number of changes of the index since the start.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Whether the files of the index are still at their paths.
    pub fn is_in_place(&self) -> bool {
        self.index().is_in_place()
    }

    /// Abandons the index: nothing is written to its folder any more.
    pub async fn abandon(&self) -> Result<Arc<dyn PassageIndex>, Error> {
        let index = self.index();
        let abandoned = index.clone();
        tokio::task::spawn_blocking(move || abandoned.abandon()).await.map_err(Error::internal)?;
        Ok(index)
    }

    /// Counts the passages of all users one by one. This is background work.
    pub async fn count_exactly(&self) -> Result<usize, Error> {
        self.read(Lane::Long, |index| index.count()).await
    }

    /// Returns those of these passages that the index does not contain. This is background work.
    pub async fn missing(&self, passages: Vec<Uuid>) -> Result<Vec<Uuid>, Error> {
        // Not in the lane of embeddings, which take seconds each: until a comparison ends, every search is lexical.
        self.read(Lane::Background, move |index| index.find_missing(&passages)).await
    }

    /// Lists passages of all users, starting with `from`. This is background work, and short as [`Self::missing`].
    pub async fn passages(&self, from: Option<Uuid>, limit: usize) -> Result<PassagePage, Error> {
        self.read(Lane::Background, move |index| index.list_passages(from, limit)).await
    }

    async fn read<T: Send + 'static>(
        &self,
        lane: Lane,
        read: impl FnOnce(&dyn PassageIndex) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, Error> {
        let index = self.index();
        let read = self.workers.run(lane, move || guarded(|| read(&*index))).await?;
        self.note_failure(&read);
        read.map_err(read_error)
    }

    /// The embedding model, if it is available.
    pub fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        self.embedder.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the embedding model.
    pub fn set_embedder(&self, embedder: Arc<dyn Embedder>) {
        *self.embedder.write().unwrap_or_else(PoisonError::into_inner) = Some(embedder);
    }

    /// Computes the embeddings of passages, or returns `None` if no model is available.
    pub async fn embed(&self, texts: Vec<String>) -> Result<Option<Vectors>, Error> {
        let Some(embedder) = self.embedder() else { return Ok(None) };
        let made = self.workers.run(Lane::Long, move || {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let vectors = embedder.embed(&texts)?;
            let tokens = texts.iter().map(|text| embedder.count_tokens(text).min(PASSAGE_TOKENS)).sum();
            Ok(Vectors { model: embedder.model().to_owned(), vectors, tokens })
        });
        let made: Result<Vectors, inference::embedder::EmbedError> = made.await?;
        made.map(Some).map_err(Error::internal)
    }

    /// Returns the best passages: the results of the lexical and the semantic search, fused. The search is only lexical while
    /// the AI is paused, the model fails, or the index is incomplete.
    pub async fn search(
        &self,
        user: UserId,
        query: SearchQuery,
        is_incomplete: bool,
    ) -> Result<RankedHits, Error> {
        let is_semantic = !is_incomplete && !self.pause.is_active(self.clock.now());
        let embedder = self.embedder().filter(|_| is_semantic);
        let index = self.index();
        let search =
            self.workers.run(Lane::Foreground, move || search(&*index, embedder.as_deref(), user, &query));
        let ranked = tokio::time::timeout(SEARCH_TIMEOUT, search).await;
        let ranked = ranked.map_err(|_| Error::Busy(Duration::from_secs(1)))??;
        self.note_failure(&ranked);
        ranked.map_err(read_error)
    }

    /// Changes the index. This is background work.
    pub async fn change(
        &self,
        change: impl FnOnce(&dyn PassageIndex) -> Result<(), IndexError> + Send + 'static,
    ) -> Result<(), Error> {
        let index = self.index();
        let changed = index.clone();
        let done = self.workers.run(Lane::Background, move || {
            change(&*changed)?;
            changed.commit()
        });
        let done = done.await.map_err(Error::from).and_then(|done| done.map_err(write_error));
        if done.is_err() && !index.is_in_place() {
            // Not the fault of the job: it is retried once there is an index to write to.
            return Err(Error::Busy(REOPEN_RETRY_AFTER));
        }
        self.changes.fetch_add(1, Ordering::Relaxed);
        done
    }

    /// Makes all changes durable.
    pub async fn commit(&self) -> Result<(), Error> {
        let index = self.index();
        self.workers.run(Lane::Background, move || index.commit()).await?.map_err(write_error)
    }

    /// Packs the index.
    pub async fn maintain(&self) -> Result<bool, Error> {
        let index = self.index();
        self.workers.run(Lane::Long, move || index.maintain()).await?.map_err(write_error)
    }

    /// Estimates the number of passages of all users.
    pub async fn count(&self) -> Result<usize, Error> {
        self.probe().await?.ok_or(Error::Busy(RELOAD_RETRY_AFTER))
    }

    /// Estimates the number of passages of all users; `None` while the index is reloaded. It uses no lane, so that a busy
    /// service still answers.
    pub async fn probe(&self) -> Result<Option<usize>, Error> {
        let index = self.index();
        let count = tokio::task::spawn_blocking(move || guarded(|| index.estimate_count()));
        let count = tokio::time::timeout(PROBE_TIMEOUT, count).await;
        let count = count.map_err(|_| Error::Busy(Duration::from_secs(1)))?.map_err(Error::internal)?;
        self.note_failure(&count);
        match count {
            Ok(count) => Ok(Some(count)),
            Err(IndexError::Blocked) => Ok(None),
            Err(error) => Err(Error::internal(error)),
        }
    }

    /// Counts a read that the engine did not answer, as only damage causes it.
    fn note_failure<T>(&self, read: &Result<T, IndexError>) {
        match read {
            // A read that succeeds shows that the index is not damaged as a whole.
            Ok(_) => self.failures.store(0, Ordering::Relaxed),
            Err(error) if error.is_damage() => {
                self.failures.fetch_add(1, Ordering::Relaxed);
            }
            Err(_) => {}
        }
    }
}

fn read_error(error: IndexError) -> Error {
    let is_environmental =
        matches!(error, IndexError::Engine { fault: EngineFault::Environment, .. } | IndexError::Unloaded(_));
    if matches!(error, IndexError::Blocked) {
        Error::Busy(RELOAD_RETRY_AFTER)
    } else if error.is_damage() || is_environmental {
        error!(cause = Error::internal(error).chain(), "the passage index could not be read");
        StorageFailure::Transient.into()
    } else {
        Error::internal(error)
    }
}

fn write_error(error: IndexError) -> Error {
    if matches!(error, IndexError::Full) {
        Error::StorageFull
    } else if matches!(error, IndexError::Abandoned | IndexError::Blocked | IndexError::Unloaded(_)) {
        Error::Busy(REOPEN_RETRY_AFTER)
    } else {
        Error::internal(error)
    }
}

fn search(
    index: &dyn PassageIndex,
    embedder: Option<&dyn Embedder>,
    user: UserId,
    query: &SearchQuery,
) -> Result<RankedHits, IndexError> {
    let tenant = Tenant::of(user.0);
    let (dense, weight) = embed_query(embedder, &query.query);
    // A query whose words the model does not know is not degraded by leaving the model out.
    let lexical_only = dense.is_none() && (embedder.is_none() || weight.is_positive());
    let sparse = lexical::analyze_query(&query.query, &guarded(|| index.languages(&tenant))?);
    let mut index_query = IndexQuery { sparse, dense, filter: query.within.clone(), depth: SEARCH_DEPTH };
    loop {
        let hits = guarded(|| index.search(&tenant, &index_query))?;
        let found = fusion::fuse(&hits, weight, query.limit);
        if index_query.depth < MAX_SEARCH_DEPTH
            && fusion::needs_deeper_search(&hits, index_query.depth, found.len(), query.limit)
        {
            index_query.depth = (index_query.depth * 4).min(MAX_SEARCH_DEPTH);
            continue;
        }
        let found = found.into_iter().map(|hit| SearchHit {
            chunk: ChunkId(hit.id),
            document: DocumentId(hit.document),
            score: hit.score,
            cosine: hits.dense.iter().find(|dense| dense.id == hit.id).map(|dense| dense.score),
        });
        return Ok(RankedHits { found: found.collect(), lexical_only });
    }
}

/// Turns a panic of the engine, which some damage causes, into an error.
fn guarded<T>(read: impl FnOnce() -> Result<T, IndexError>) -> Result<T, IndexError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or(Err(IndexError::Panicked))
}

/// Computes the embedding of the query and the weight of the semantic search. If the model fails, there is no embedding.
fn embed_query(embedder: Option<&dyn Embedder>, query: &str) -> (Option<Vec<f32>>, DenseWeight) {
    let Some(embedder) = embedder else {
        return (None, DenseWeight::for_query(query, WordPieceCounts::default()));
    };
    let weight = DenseWeight::for_query(query, embedder.count_word_pieces(query));
    if !weight.is_positive() {
        return (None, weight);
    }
    match embedder.embed_query(query) {
        Ok(vector) => (Some(vector), weight),
        Err(error) => {
            warn!(%error, "could not compute the embedding of a query; the search is lexical");
            (None, weight)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use entity::time::Timestamp;
    use futures_util::poll;
    use search::index::EdgeIndex;

    use library::clock::TestClock;

    use super::*;

    #[tokio::test]
    async fn comparison_does_not_wait_behind_the_long_lane() {
        let folder = tempfile::tempdir().unwrap();
        let index = Arc::new(EdgeIndex::open(folder.path(), None).unwrap());
        let clock = Arc::new(TestClock::at(Timestamp::from_millis(0)));
        let workers = Workers::new(1);
        let engine = Engine::new(index, clock, Pause::default(), workers.clone());
        let (release, held) = mpsc::channel::<()>();
        let mut embedding = Box::pin(workers.run(Lane::Long, move || held.recv().is_ok()));
        assert!(poll!(&mut embedding).is_pending());

        let passage = Uuid::from_u128(1);
        let missing = tokio::time::timeout(SEARCH_TIMEOUT, engine.missing(vec![passage])).await;
        let page = tokio::time::timeout(SEARCH_TIMEOUT, engine.passages(None, 1)).await;

        assert_eq!(missing.unwrap().unwrap(), [passage]);
        assert_eq!(page.unwrap().unwrap(), PassagePage::default());
        release.send(()).unwrap();
        assert!(embedding.await.unwrap());
    }
}
