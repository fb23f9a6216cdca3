//! What the actor works with: the index, the model, and the places where blocking work runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use entity::id::{ChunkId, DocumentId, UserId};
use inference::embedder::{Embedder, PASSAGE_TOKENS, WordPieceCounts};
use runtime::{Lane, Workers};
use search::fusion::{self, DenseWeight};
use search::index::{EngineFault, IndexError, IndexQuery, PassageIndex, PassagePage, Tenant};
use search::lexical;
use tracing::{error, warn};
use uuid::Uuid;

use super::{Completeness, Found, Ranked, Wanted};
use crate::ai::Pause;
use library::clock::Clock;
use errors::{Error, StorageFailure};

/// How long somebody waits for passages.
const PATIENCE: Duration = Duration::from_secs(10);
/// An index that does not answer a probe within it is not well.
const PROBE: Duration = Duration::from_secs(2);
/// An index that was removed or replaced is opened anew within it.
const REOPENS_WITHIN: Duration = Duration::from_secs(2);
/// A read that meets an index which is loaded again may be tried again after this.
const RELOAD_RETRY_AFTER: Duration = Duration::from_secs(2);
/// Passages that each leg brings.
const DEPTH: usize = 100;
/// And at most, where a few long documents take all places.
const DEEPEST: usize = 1600;

/// Vectors, and the model that made them.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    /// The model.
    pub model: String,
    /// One for each text, in order.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens that the model read.
    pub tokens: usize,
}

/// See the file's head.
pub struct Engine {
    index: RwLock<Arc<dyn PassageIndex>>,
    completeness: RwLock<Completeness>,
    /// Reads in a row that the index failed to answer.
    failures: AtomicU32,
    /// Changes of the index since the start.
    changes: AtomicU64,
    embedder: RwLock<Option<Arc<dyn Embedder>>>,
    clock: Arc<dyn Clock>,
    pub(super) pause: Pause,
    workers: Workers,
}

impl Engine {
    /// Without a model as yet.
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

    /// From now on another index. What is under way ends with the one before.
    pub fn replace_index(&self, index: Arc<dyn PassageIndex>) {
        *self.index.write().unwrap_or_else(PoisonError::into_inner) = index;
        self.failures.store(0, Ordering::Relaxed);
    }

    /// Whether the index holds what it should.
    pub fn completeness(&self) -> Completeness {
        *self.completeness.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on this is told of the index.
    pub fn set_completeness(&self, completeness: Completeness) {
        *self.completeness.write().unwrap_or_else(PoisonError::into_inner) = completeness;
    }

    /// Reads in a row that the index failed to answer.
    pub fn failures(&self) -> u32 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Changes of the index since the start.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Whether the files of the index are where they were.
    pub fn is_in_place(&self) -> bool {
        self.index().is_in_place()
    }

    /// Gives the index up: nothing is written to its folder any more.
    pub async fn abandon(&self) -> Result<Arc<dyn PassageIndex>, Error> {
        let index = self.index();
        let given_up = index.clone();
        tokio::task::spawn_blocking(move || given_up.abandon()).await.map_err(Error::internal)?;
        Ok(index)
    }

    /// Passages of all users, by a pass over all of them: background work.
    pub async fn count_exactly(&self) -> Result<usize, Error> {
        self.read(Lane::Long, |index| index.count()).await
    }

    /// Which of these passages the index does not hold: background work.
    pub async fn missing(&self, passages: Vec<Uuid>) -> Result<Vec<Uuid>, Error> {
        // Not behind vectors, each of which takes seconds: until a comparison ends, every search is lexical.
        self.read(Lane::Background, move |index| index.find_missing(&passages)).await
    }

    /// Passages of all users, from one on: background work, and short as [`Self::missing`].
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
        read.map_err(not_read)
    }

    /// The model, where it is there.
    pub fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        self.embedder.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on this model.
    pub fn set_embedder(&self, embedder: Arc<dyn Embedder>) {
        *self.embedder.write().unwrap_or_else(PoisonError::into_inner) = Some(embedder);
    }

    /// Vectors of passages, where a model is there.
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

    /// The best passages: both legs, fused; one leg where the AI pauses, the model fails, or the index is incomplete.
    pub async fn search(&self, user: UserId, wanted: Wanted, is_incomplete: bool) -> Result<Ranked, Error> {
        let has_both = !is_incomplete && !self.pause.holds(self.clock.now());
        let embedder = self.embedder().filter(|_| has_both);
        let index = self.index();
        let search =
            self.workers.run(Lane::Foreground, move || search(&*index, embedder.as_deref(), user, &wanted));
        let ranked = tokio::time::timeout(PATIENCE, search).await;
        let ranked = ranked.map_err(|_| Error::Busy(Duration::from_secs(1)))??;
        self.note_failure(&ranked);
        ranked.map_err(not_read)
    }

    /// Changes the index: background work.
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
        let done = done.await.map_err(Error::from).and_then(|done| done.map_err(not_written));
        if done.is_err() && !index.is_in_place() {
            // Not the job's fault: it comes again once there is an index to write to.
            return Err(Error::Busy(REOPENS_WITHIN));
        }
        self.changes.fetch_add(1, Ordering::Relaxed);
        done
    }

    /// Makes all changes durable.
    pub async fn commit(&self) -> Result<(), Error> {
        let index = self.index();
        self.workers.run(Lane::Background, move || index.commit()).await?.map_err(not_written)
    }

    /// Packs the index.
    pub async fn maintain(&self) -> Result<bool, Error> {
        let index = self.index();
        self.workers.run(Lane::Long, move || index.maintain()).await?.map_err(not_written)
    }

    /// Passages of everybody.
    pub async fn count(&self) -> Result<usize, Error> {
        self.probe().await?.ok_or(Error::Busy(RELOAD_RETRY_AFTER))
    }

    /// Passages of everybody, none while the index is loaded again; beside the lanes, so that a busy service says so and still
    /// is there.
    pub async fn probe(&self) -> Result<Option<usize>, Error> {
        let index = self.index();
        let count = tokio::task::spawn_blocking(move || guarded(|| index.estimate_count()));
        let count = tokio::time::timeout(PROBE, count).await;
        let count = count.map_err(|_| Error::Busy(Duration::from_secs(1)))?.map_err(Error::internal)?;
        self.note_failure(&count);
        match count {
            Ok(count) => Ok(Some(count)),
            Err(IndexError::Blocked) => Ok(None),
            Err(error) => Err(Error::internal(error)),
        }
    }

    /// Counts what only damage makes fail: a read that the engine did not answer.
    fn note_failure<T>(&self, read: &Result<T, IndexError>) {
        match read {
            // One read that is answered shows that the index is not damaged as a whole.
            Ok(_) => self.failures.store(0, Ordering::Relaxed),
            Err(error) if error.is_damage() => {
                self.failures.fetch_add(1, Ordering::Relaxed);
            }
            Err(_) => {}
        }
    }
}

fn not_read(error: IndexError) -> Error {
    let is_environmental =
        matches!(error, IndexError::Engine { fault: EngineFault::Environment, .. } | IndexError::Unloaded(_));
    if matches!(error, IndexError::Blocked) {
        Error::Busy(RELOAD_RETRY_AFTER)
    } else if error.is_damage() || is_environmental {
        error!(cause = Error::internal(error).chain(), "the passage index could not be read");
        StorageFailure::Passing.into()
    } else {
        Error::internal(error)
    }
}

fn not_written(error: IndexError) -> Error {
    if matches!(error, IndexError::Full) {
        Error::StorageFull
    } else if matches!(error, IndexError::Abandoned | IndexError::Blocked | IndexError::Unloaded(_)) {
        Error::Busy(REOPENS_WITHIN)
    } else {
        Error::internal(error)
    }
}

fn search(
    index: &dyn PassageIndex,
    embedder: Option<&dyn Embedder>,
    user: UserId,
    wanted: &Wanted,
) -> Result<Ranked, IndexError> {
    let tenant = Tenant::of(user.0);
    let (dense, weight) = meaning(embedder, &wanted.query);
    // A query whose words mean nothing to the model is not degraded by leaving the model out.
    let lexical_only = dense.is_none() && (embedder.is_none() || weight.is_positive());
    let sparse = lexical::analyze_query(&wanted.query, &guarded(|| index.languages(&tenant))?);
    let mut index_query = IndexQuery { sparse, dense, filter: wanted.within.clone(), depth: DEPTH };
    loop {
        let hits = guarded(|| index.search(&tenant, &index_query))?;
        let found = fusion::fuse(&hits, weight, wanted.limit);
        if index_query.depth < DEEPEST
            && fusion::needs_deeper_search(&hits, index_query.depth, found.len(), wanted.limit)
        {
            index_query.depth = (index_query.depth * 4).min(DEEPEST);
            continue;
        }
        let found = found.into_iter().map(|hit| Found {
            chunk: ChunkId(hit.id),
            document: DocumentId(hit.document),
            score: hit.score,
            cosine: hits.dense.iter().find(|dense| dense.id == hit.id).map(|dense| dense.score),
        });
        return Ok(Ranked { found: found.collect(), lexical_only });
    }
}

/// A panic of the engine, which some damage makes, as an error.
fn guarded<T>(read: impl FnOnce() -> Result<T, IndexError>) -> Result<T, IndexError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or(Err(IndexError::Panicked))
}

/// The embedding of the query, and the weight of the dense leg. A model that fails is left out.
fn meaning(embedder: Option<&dyn Embedder>, query: &str) -> (Option<Vec<f32>>, DenseWeight) {
    let Some(embedder) = embedder else { return (None, DenseWeight::for_query(query, WordPieceCounts::default())) };
    let weight = DenseWeight::for_query(query, embedder.count_word_pieces(query));
    if !weight.is_positive() {
        return (None, weight);
    }
    match embedder.embed_query(query) {
        Ok(vector) => (Some(vector), weight),
        Err(error) => {
            warn!(%error, "could not make the vector of a query; searching by words alone");
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

    use super::*;
    use library::clock::TestClock;

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
        let missing = tokio::time::timeout(PATIENCE, engine.missing(vec![passage])).await;
        let page = tokio::time::timeout(PATIENCE, engine.passages(None, 1)).await;

        assert_eq!(missing.unwrap().unwrap(), [passage]);
        assert_eq!(page.unwrap().unwrap(), PassagePage::default());
        release.send(()).unwrap();
        assert!(embedding.await.unwrap());
    }
}
