//! The search engine: the index, the embedding model, and the worker threads for both.

mod completeness;
mod failure_log;
mod index_failure;
mod index_probe;
mod library_index;
mod model_set;
mod passage_search;
mod vectors;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use concurrency::{Lane, Workers};
use database::Db;
use entity::document;
use errors::{Error, StorageFailure};
use inference::embedder::{EmbedError, Embedder};
use library::clock::Clock;
use search::index::{Embedding, IndexError, PassageIndex, PassagePage, Tenant};
use tracing::error;
use uuid::Uuid;
use values::id::UserId;

use super::ranked_hits::RankedHits;
use super::search_query::SearchQuery;
use super::unindexed::UnindexedDocuments;
use crate::ai::Pause;
use failure_log::FailureLog;
use index_failure::{RELOAD_RETRY_AFTER, REOPEN_RETRY_AFTER, read_error, write_error};
use model_set::ModelSet;

pub use completeness::Completeness;
pub use failure_log::RequestKey;
pub(super) use index_failure::catch_engine_panic;
pub use index_probe::IndexProbe;
pub use library_index::LibraryIndex;
pub use model_set::ModelNames;
pub(super) use passage_search::{is_number, longest_first};
pub use vectors::{EmbedOutcome, Vectors};

/// Maximum duration of a search, the wait for a worker thread included.
pub(super) const SEARCH_TIMEOUT: Duration = Duration::from_secs(10);
/// Time that a search of an index on a server may take beyond its wait for that server: for a thread, and to fuse what was found.
const REMOTE_SEARCH_MARGIN: Duration = Duration::from_millis(200);
/// Time that the vector of a query may take beyond the deadline of the service: for a thread.
const SERVICE_MARGIN: Duration = Duration::from_millis(100);
/// Delay after which a search may be tried again that waited too long for the server of the index.
const REMOTE_RETRY_AFTER: Duration = Duration::from_secs(1);
/// An index that does not answer a probe within this time is unhealthy.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// Time without a request after which the index is unloaded. Sessions of an assistant send requests every few seconds to minutes, so only
/// the first search after a longer pause waits until the index is loaded. The script `tests/bench/memory.py` prints what that search takes
/// (`first_search_ms`).
const UNUSED_AFTER: Duration = Duration::from_secs(5 * 60);
/// Delay of work that waits for the end of the pause of the AI, which an operator may end sooner.
const PAUSE_RETRY_AFTER: Duration = Duration::from_secs(60);
/// Time for which a request counts that failed in a way that only damage of the index explains. Damage does not heal, and the user
/// whose passages it is in may search a few times a day. So requests that succeed in between do not reset the count.
const FAILURE_WINDOW: Duration = Duration::from_secs(24 * 3600);

/// The search engine. It is shared by all clones of a [`Retrieval`](super::Retrieval) and by its actor.
pub struct Engine {
    /// The index; `None` while its disk has no space for one.
    index: RwLock<Option<Arc<dyn PassageIndex>>>,
    completeness: RwLock<Completeness>,
    /// Requests that failed in a way that only damage of the open index explains.
    failures: FailureLog,
    /// Changes of the index since the start.
    changes: AtomicU64,
    /// Whether the last read found the index unloaded and its disk without space to load it.
    lacks_space_to_load: AtomicBool,
    models: RwLock<ModelSet>,
    /// Documents that the next model has not embedded yet, as of the last count.
    outdated_documents: AtomicU64,
    clock: Arc<dyn Clock>,
    pause: Pause,
    workers: Workers,
}

impl Engine {
    /// Creates an engine without an embedding model; without an index if its disk has no space for one.
    pub(super) fn new(
        index: Option<Arc<dyn PassageIndex>>,
        clock: Arc<dyn Clock>,
        pause: Pause,
        workers: Workers,
    ) -> Self {
        Self {
            index: RwLock::new(index),
            completeness: RwLock::default(),
            failures: FailureLog::default(),
            changes: AtomicU64::new(0),
            lacks_space_to_load: AtomicBool::new(false),
            models: RwLock::default(),
            outdated_documents: AtomicU64::new(0),
            clock,
            pause,
            workers,
        }
    }

    fn current_index(&self) -> Option<Arc<dyn PassageIndex>> {
        self.index.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn index(&self) -> Result<Arc<dyn PassageIndex>, Error> {
        self.current_index().ok_or_else(|| StorageFailure::NoIndex.into())
    }

    /// Returns whether the index is on a server, so that a search waits for that instead of computing.
    pub(super) fn is_remote(&self) -> bool {
        self.remote_deadline().is_some()
    }

    /// Returns the longest time that a search waits for the server of the index; `None` for an index on this machine.
    pub(super) fn remote_deadline(&self) -> Option<Duration> {
        self.current_index()?.remote_deadline()
    }

    /// Makes the next search of a user count the languages of the passages again ([`PassageIndex::forget_languages`]).
    pub(super) fn forget_languages(&self, user: UserId) {
        if let Some(index) = self.current_index() {
            index.forget_languages(&Tenant::of(user.0));
        }
    }

    /// Returns whether there is an index. Without one, because its disk has no space for it, every request of it is refused.
    pub fn has_index(&self) -> bool {
        self.current_index().is_some()
    }

    /// Replaces the index. Following searches and changes use the new one; those in progress end with the old one.
    pub fn replace_index(&self, index: Arc<dyn PassageIndex>) {
        *self.index.write().unwrap_or_else(PoisonError::into_inner) = Some(index);
        self.failures.reset_count();
    }

    /// Replaces an index that counted as damaged by a new one. Requests that failed on the old one and fail again do not count as
    /// damage of the new one.
    pub fn replace_damaged_index(&self, index: Arc<dyn PassageIndex>) {
        *self.index.write().unwrap_or_else(PoisonError::into_inner) = Some(index);
        self.failures.begin_generation();
    }

    /// Returns whether the index contains everything that it should.
    pub fn completeness(&self) -> Completeness {
        *self.completeness.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets whether the index contains everything that it should. Search and health use it.
    pub fn set_completeness(&self, completeness: Completeness) {
        *self.completeness.write().unwrap_or_else(PoisonError::into_inner) = completeness;
    }

    /// Returns the number of requests of the last day, at most 16, that failed in a way that only damage of the index explains. A
    /// request that failed on an index that was replaced because of damage does not count again. [`Self::replace_index`] and
    /// [`Self::replace_damaged_index`] reset the number to 0.
    pub fn damage_failures(&self) -> u32 {
        self.failures.count_within(FAILURE_WINDOW, self.clock.elapsed())
    }

    /// Returns whether a request that counts in [`Self::damage_failures`] failed since the index was opened.
    pub fn has_damage_failures(&self) -> bool {
        !self.failures.is_empty()
    }

    /// Returns the number of changes of the index since the start.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Returns whether the files of the index are still at their paths: an operator may remove or replace the folder.
    pub fn is_in_place(&self) -> bool {
        self.current_index().is_some_and(|index| index.is_in_place())
    }

    /// Stops all writes to the folder of the index, and returns the index. It still answers searches.
    ///
    /// # Errors
    /// [`Error::StorageFailed`] when there is none; [`Error::Internal`] when the server stops first.
    pub async fn abandon(&self) -> Result<Arc<dyn PassageIndex>, Error> {
        let index = self.index()?;
        let abandoned = index.clone();
        tokio::task::spawn_blocking(move || abandoned.abandon()).await.map_err(Error::internal)?;
        Ok(index)
    }

    /// Counts the passages of all users in the index one by one. This is background work.
    ///
    /// # Errors
    /// [`Error::Busy`] while the index is reloaded after a failed write; [`Error::StorageFailed`] when it cannot be read, or there is none;
    /// [`Error::Internal`] when it fails otherwise.
    pub async fn count_exactly(&self) -> Result<usize, Error> {
        self.read(Lane::Long, |index| index.count()).await
    }

    /// Returns those of these passages that the index does not contain. This is background work.
    ///
    /// # Errors
    /// The same errors as [`Self::count_exactly`].
    pub async fn missing(&self, passages: Vec<Uuid>) -> Result<Vec<Uuid>, Error> {
        // Not in the lane of embeddings, which take seconds each: every search is lexical until a comparison ends.
        self.read(Lane::Background, move |index| index.find_missing(&passages)).await
    }

    /// Lists at most `limit` passages of all users, starting with `from`. This is background work, and short as [`Self::missing`].
    ///
    /// # Errors
    /// The same errors as [`Self::count_exactly`].
    pub async fn passages(&self, from: Option<Uuid>, limit: usize) -> Result<PassagePage, Error> {
        self.read(Lane::Background, move |index| index.list_passages(from, limit)).await
    }

    async fn read<T: Send + 'static>(
        &self,
        lane: Lane,
        read: impl FnOnce(&dyn PassageIndex) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, Error> {
        let index = self.index()?;
        let shared = index.clone();
        let lane = lane_of(&*index, lane);
        let done = self.workers.run(lane, move || catch_engine_panic(|| read(&*shared))).await?;
        self.note_outcome(&index, None, &done);
        self.read_result(done)
    }

    /// Converts the result of a read. If the disk has no space to load the index, that is logged once until a read finds another state:
    /// every search fails meanwhile.
    fn read_result<T>(&self, done: Result<T, IndexError>) -> Result<T, Error> {
        let lacks_space = matches!(done, Err(IndexError::Full));
        let lacked_space = self.lacks_space_to_load.swap(lacks_space, Ordering::Relaxed);
        if lacks_space && !lacked_space {
            error!("the passage index cannot be loaded: free at least 16 MiB on its disk");
        }
        done.map_err(read_error)
    }

    fn models(&self) -> RwLockReadGuard<'_, ModelSet> {
        self.models.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the embedding model by whose vectors passages are searched, or `None` until it is loaded.
    pub fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        self.models().searched()
    }

    /// Returns the model that passages without the latest vectors are embedded with, or `None` until it is loaded: during a change of models
    /// the next one, otherwise the one that is searched.
    pub fn latest_embedder(&self) -> Option<Arc<dyn Embedder>> {
        let models = self.models();
        if models.names().next.is_some() { models.next() } else { models.searched() }
    }

    /// Returns the latest model that is loaded: the next one, otherwise the one that is searched.
    pub fn latest_loaded(&self) -> Option<Arc<dyn Embedder>> {
        let models = self.models();
        models.next().or_else(|| models.searched())
    }

    /// Returns the names of the models whose vectors the index has.
    pub fn model_names(&self) -> ModelNames {
        self.models().names().clone()
    }

    /// Sets which models are searched and embedded with. A loaded model that is neither is dropped. Searches in progress end with the former
    /// model.
    pub fn use_models(&self, names: ModelNames) {
        self.models.write().unwrap_or_else(PoisonError::into_inner).set_names(names);
    }

    /// Adds a loaded model, in the role that its name has. From then on searches by its vectors are semantic too, or passages get them.
    pub fn set_model(&self, embedder: Arc<dyn Embedder>) {
        self.models.write().unwrap_or_else(PoisonError::into_inner).add(embedder);
    }

    /// Returns whether a model is loaded, so that passages get vectors.
    pub fn has_model(&self) -> bool {
        let models = self.models();
        models.searched().is_some() || models.next().is_some()
    }

    /// Returns the number of documents that the next model has not embedded yet, as of the last count; 0 without a next model.
    pub fn outdated_documents(&self) -> u64 {
        self.outdated_documents.load(Ordering::Relaxed)
    }

    /// Sets the number of documents that the next model has not embedded yet.
    pub fn set_outdated_documents(&self, documents: u64) {
        self.outdated_documents.store(documents, Ordering::Relaxed);
    }

    /// Returns whether the index has everything of a document but its vectors of the next model, which is loaded. Only these are added then.
    pub fn lacks_next_vectors_only(&self, document: &document::Model) -> bool {
        let models = self.models();
        let has_former =
            document.embedding_model.is_some() && document.embedding_model == models.names().searched;
        has_former
            && document.indexed_version == document.version
            && document.unindexed_since.is_none()
            && document.index_lost_at.is_none()
            && models.next().is_some()
    }

    /// Returns whether passages with vectors of this model lack those of the next one, which is loaded. `None` if they have no vectors: these
    /// are not added alone.
    pub fn lacks_next_vectors(&self, model: Option<&str>) -> bool {
        let next = self.models().next();
        next.is_some_and(|next| model.is_some_and(|model| model != next.model()))
    }

    /// Reads whether the AI is paused, for all following searches.
    pub async fn refresh_pause(&self, db: &Db) -> Result<(), Error> {
        self.pause.refresh(db).await
    }

    /// Computes the embeddings of passages, during a change of models those of both. If the next model cannot be used, passages get its
    /// vectors later; if the one that is searched cannot be used, only those of the next one, which is searched after the change. This is
    /// background work.
    ///
    /// # Errors
    /// [`Error::Busy`] when too much work waits; [`Error::Internal`] when a local model fails.
    pub async fn embed(&self, texts: Vec<String>) -> Result<EmbedOutcome, Error> {
        let (searched, next) = {
            let models = self.models();
            (models.searched(), models.next())
        };
        let (Some(searched), Some(next)) = (searched.clone(), next.clone()) else {
            let Some(embedder) = searched.or(next) else { return Ok(EmbedOutcome::WithoutModel) };
            return self.embed_with(embedder, texts).await;
        };
        let EmbedOutcome::Embedded(former) = self.embed_with(searched, texts.clone()).await? else {
            // It may be gone for good, which is a reason to change it: the change must not wait for it.
            return self.embed_with(next, texts).await;
        };
        Ok(EmbedOutcome::Embedded(match self.embed_with(next, texts).await? {
            EmbedOutcome::Embedded(latest) => former.with(latest),
            EmbedOutcome::WithoutModel | EmbedOutcome::Unavailable { .. } => former,
        }))
    }

    /// Computes the embeddings of passages with one model: the one that is searched or, if that is not loaded or cannot be used, the next one.
    /// This is background work.
    ///
    /// # Errors
    /// The same as [`Self::embed`].
    pub async fn embed_with_one(&self, texts: Vec<String>) -> Result<EmbedOutcome, Error> {
        let models = {
            let models = self.models();
            [models.searched(), models.next()]
        };
        let mut outcome = EmbedOutcome::WithoutModel;
        for embedder in models.into_iter().flatten() {
            outcome = self.embed_with(embedder, texts.clone()).await?;
            if matches!(outcome, EmbedOutcome::Embedded(_)) {
                break;
            }
        }
        Ok(outcome)
    }

    /// Computes the embeddings of passages with the next model alone. This is background work.
    ///
    /// # Errors
    /// The same as [`Self::embed`].
    pub async fn embed_with_next(&self, texts: Vec<String>) -> Result<EmbedOutcome, Error> {
        let next = self.models().next();
        match next {
            Some(next) => self.embed_with(next, texts).await,
            None => Ok(EmbedOutcome::WithoutModel),
        }
    }

    async fn embed_with(
        &self,
        embedder: Arc<dyn Embedder>,
        texts: Vec<String>,
    ) -> Result<EmbedOutcome, Error> {
        if embedder.is_budgeted() && self.pause.is_active(self.clock.now()) {
            return Ok(EmbedOutcome::Unavailable { retry_after: PAUSE_RETRY_AFTER });
        }
        match self.workers.run(Lane::Long, move || Vectors::compute(&*embedder, &texts)).await? {
            Ok(vectors) => Ok(EmbedOutcome::Embedded(vectors)),
            Err(EmbedError::Unavailable { retry_after, .. }) => Ok(EmbedOutcome::Unavailable { retry_after }),
            Err(error) => Err(Error::internal(error)),
        }
    }

    /// Returns the best passages: the results of the lexical and the semantic search, fused. The search is only lexical while
    /// the AI is paused, the model fails, or the index is incomplete. `vector` is that of the query if a service embeds
    /// ([`Self::embed_by_service`]).
    pub(super) async fn search(
        &self,
        user: UserId,
        query: SearchQuery,
        unindexed: &UnindexedDocuments,
        is_incomplete: bool,
        vector: Option<Embedding>,
    ) -> Result<RankedHits, Error> {
        let embedder = self.embedder_of_search(is_incomplete);
        let request = RequestKey::of_search(user, &query.query.plain);
        let search = move |index: &LibraryIndex<'_>| {
            passage_search::search(index, embedder.as_deref(), vector, user, &query)
        };
        self.run_search(request, unindexed, search).await
    }

    /// Returns whether the model that is searched is a service, which computes the vectors of queries before the search.
    pub(super) fn has_service(&self) -> bool {
        self.embedder().is_some_and(|embedder| embedder.query_deadline().is_some())
    }

    /// Returns the vector of a query, which a service computes within its deadline; `None` if it does not.
    pub(super) async fn embed_by_service(
        &self,
        service: Arc<dyn Embedder>,
        query: String,
    ) -> Option<Embedding> {
        let max_time = service.query_deadline().unwrap_or_default() + SERVICE_MARGIN;
        let embed = move || passage_search::embed_query(Some(&*service), &query).0;
        let embedded = tokio::time::timeout(max_time, self.workers.run(Lane::Remote, embed)).await;
        // A panic is logged where it happens.
        embedded.ok()?.ok()?
    }

    /// Returns whether a search is only lexical, because the AI is paused, no model is available, or the index is incomplete.
    pub(super) fn is_lexical_only(&self, is_incomplete: bool) -> bool {
        self.embedder_of_search(is_incomplete).is_none()
    }

    /// Returns the model by whose vectors a search is semantic; `None` if it is only lexical.
    pub(super) fn embedder_of_search(&self, is_incomplete: bool) -> Option<Arc<dyn Embedder>> {
        let is_semantic = !is_incomplete && !self.pause.is_active(self.clock.now());
        self.embedder().filter(|_| is_semantic)
    }

    /// Searches the index, with the documents that it lacks a change of, on a worker thread; `request` identifies the search if it may be
    /// requested again.
    ///
    /// # Errors
    /// [`Error::Busy`] when the search takes longer than ten seconds; [`Error::IndexUnreachable`] when the server of the index does not
    /// answer in time; otherwise the same errors as [`Self::count_exactly`].
    pub(super) async fn run_search<T: Send + 'static>(
        &self,
        request: RequestKey,
        unindexed: &UnindexedDocuments,
        search: impl FnOnce(&LibraryIndex<'_>) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, Error> {
        let index = self.index()?;
        let (shared, unindexed) = (index.clone(), unindexed.clone());
        let search = move || search(&LibraryIndex::new(&*shared, &unindexed));
        let search = self.workers.run(lane_of(&*index, Lane::Foreground), search);
        let (timeout, too_late) = match index.remote_deadline() {
            Some(deadline) => (deadline + REMOTE_SEARCH_MARGIN, Error::IndexUnreachable(REMOTE_RETRY_AFTER)),
            None => (SEARCH_TIMEOUT, Error::Busy(Duration::from_secs(1))),
        };
        let found = tokio::time::timeout(timeout, search).await.map_err(|_| too_late)??;
        self.note_outcome(&index, Some(request), &found);
        self.read_result(found)
    }

    /// Returns the worker threads.
    pub(super) fn workers(&self) -> &Workers {
        &self.workers
    }

    /// Changes the index; `request` identifies the change if it may be requested again. This is background work.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        request: Option<RequestKey>,
        change: impl FnOnce(&dyn PassageIndex) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, Error> {
        let index = self.index()?;
        let done = self.apply(&index, change).await?;
        self.note_outcome(&index, request, &done);
        done.map_err(|error| self.change_error(request, error))
    }

    /// Makes several changes of the index together, which are made one by one if they fail: only then a failure counts as damage. This is
    /// background work.
    pub(super) async fn change_together<T: Send + 'static>(
        &self,
        requests: Vec<RequestKey>,
        change: impl FnOnce(&dyn PassageIndex) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, Error> {
        let index = self.index()?;
        let done = self.apply(&index, change).await?;
        if done.is_ok() {
            for request in requests {
                self.note_outcome(&index, Some(request), &done);
            }
        }
        done.map_err(write_error)
    }

    /// Changes the index and makes the change durable. The inner error is that of the index.
    async fn apply<T: Send + 'static>(
        &self,
        index: &Arc<dyn PassageIndex>,
        change: impl FnOnce(&dyn PassageIndex) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<Result<T, IndexError>, Error> {
        let shared = index.clone();
        let done = self.workers.run(lane_of(&**index, Lane::Background), move || {
            catch_engine_panic(|| {
                let changed = change(&*shared)?;
                shared.commit()?;
                Ok(changed)
            })
        });
        let done = done.await.map_err(Error::from);
        if !matches!(done, Ok(Ok(_))) && !index.is_in_place() {
            // The folder was removed or replaced under the open index. That is not the fault of the job, which is retried once
            // there is an index to write to.
            return Err(Error::Busy(REOPEN_RETRY_AFTER));
        }
        // Also for a change that failed: it may have taken effect in part.
        self.changes.fetch_add(1, Ordering::Relaxed);
        done
    }

    /// Makes all changes of the index durable, also those that other requests have made.
    ///
    /// # Errors
    /// [`Error::StorageFull`] when the disk of the index is full; [`Error::Busy`] while the index cannot be written, as in
    /// [`Retrieval::delete_passages`](super::Retrieval::delete_passages); [`Error::Internal`] when it fails.
    pub async fn commit(&self) -> Result<(), Error> {
        let index = self.index()?;
        self.workers.run(Lane::Background, move || index.commit()).await?.map_err(write_error)
    }

    /// Packs the index. Returns whether there was something to pack.
    pub(super) async fn maintain(&self) -> Result<bool, Error> {
        // A failure does not count as damage. The engine also gives packing up for other reasons, without an error code of the
        // system, and this runs twice a minute. Damage shows in searches and changes too.
        let index = self.index()?;
        self.workers.run(Lane::Long, move || index.maintain()).await?.map_err(write_error)
    }

    /// Unloads the index if no request used it for five minutes. Returns whether it did.
    pub(super) async fn unload_unused(&self) -> Result<bool, Error> {
        // As for packing, a failure does not count as damage.
        let index = self.index()?;
        let unloaded = self.workers.run(Lane::Background, move || index.unload_unused(UNUSED_AFTER)).await?;
        self.read_result(unloaded)
    }

    /// Estimates the number of passages of all users in the index. It may be too high ([`PassageIndex::estimate_count`]).
    ///
    /// # Errors
    /// [`Error::Busy`] when the index does not answer within two seconds, or is reloaded after a failed write;
    /// [`Error::IndexUnreachable`] when its server does not answer; [`Error::StorageFailed`] when it is unloaded and its disk has no space
    /// to load it; [`Error::Internal`] when it fails.
    pub async fn count(&self) -> Result<usize, Error> {
        match self.probe().await? {
            IndexProbe::Available { passages } => Ok(passages),
            IndexProbe::Reloading | IndexProbe::Missing => Err(Error::Busy(RELOAD_RETRY_AFTER)),
            IndexProbe::NoSpace => Err(StorageFailure::NoIndex.into()),
            IndexProbe::Unreachable => Err(Error::IndexUnreachable(REMOTE_RETRY_AFTER)),
            IndexProbe::LoadFailed(fault) => Err(Error::internal(IndexError::LoadFailed(fault))),
        }
    }

    /// Determines for health whether the index answers, by the estimate of [`Self::count`]. It uses no lane, so that a busy
    /// server still answers.
    ///
    /// # Errors
    /// [`Error::Busy`] when the index does not answer within two seconds; [`Error::Internal`] when it is loaded and fails.
    pub async fn probe(&self) -> Result<IndexProbe, Error> {
        let Some(index) = self.current_index() else { return Ok(IndexProbe::Missing) };
        let shared = index.clone();
        let count = tokio::task::spawn_blocking(move || catch_engine_panic(|| shared.estimate_count()));
        let count = match tokio::time::timeout(PROBE_TIMEOUT, count).await {
            Ok(count) => count.map_err(Error::internal)?,
            Err(_) if index.remote_deadline().is_some() => return Ok(IndexProbe::Unreachable),
            Err(_) => return Err(Error::Busy(Duration::from_secs(1))),
        };
        self.note_outcome(&index, None, &count);
        match count {
            Ok(passages) => Ok(IndexProbe::Available { passages }),
            Err(IndexError::Blocked) => Ok(IndexProbe::Reloading),
            Err(IndexError::Full) => Ok(IndexProbe::NoSpace),
            Err(IndexError::Unreachable { .. }) => Ok(IndexProbe::Unreachable),
            Err(IndexError::LoadFailed(fault)) => Ok(IndexProbe::LoadFailed(fault)),
            Err(error) => Err(Error::internal(error)),
        }
    }

    /// Counts a request that failed in a way that only damage of the index explains.
    fn note_outcome<T>(
        &self,
        index: &Arc<dyn PassageIndex>,
        request: Option<RequestKey>,
        done: &Result<T, IndexError>,
    ) {
        // A request that ends after its index was replaced says nothing of the new one.
        if !self.current_index().is_some_and(|current| Arc::ptr_eq(&current, index)) {
            return;
        }
        match done {
            // A success does not reset the count: one damaged segment fails the searches of some users permanently, and answers all
            // others.
            Ok(_) => {
                if let Some(request) = request {
                    self.failures.record_success(request);
                }
            }
            Err(error) if error.is_damage() => {
                // An index that is not loaded fails every request, so this one is not the cause.
                let request = request.filter(|_| !matches!(error, IndexError::LoadFailed(_)));
                self.failures.record_failure(request, self.clock.elapsed());
            }
            Err(_) => {}
        }
    }

    /// Returns the error of a change. A change that meets damage waits until the index is replaced. If it meets damage again then, its
    /// error is internal, and its job uses up its attempts.
    fn change_error(&self, request: Option<RequestKey>, error: IndexError) -> Error {
        // An index that is not loaded counts as damage here: the engine repeats the change from its log when it loads the index.
        let is_cause = |request| self.failures.has_failed_again(request);
        if error.is_damage() && request.is_some_and(is_cause) {
            Error::internal(error)
        } else {
            write_error(error)
        }
    }
}

/// Returns the lane for a request of an index that takes this lane if it computes.
fn lane_of(index: &dyn PassageIndex, lane: Lane) -> Lane {
    if index.remote_deadline().is_some() { Lane::Remote } else { lane }
}

#[cfg(test)]
mod tests;
