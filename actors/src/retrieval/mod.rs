//! Retrieval: lexical and semantic search for passages, and all changes of the passage index.
//!
//! Search is lexical, and says so, when no embedding model is available, the AI is paused, or the index has lost passages of
//! the user.

mod actor;
mod completeness;
mod engine;
mod failure_log;
pub mod passage;

use std::sync::Arc;
use std::time::Duration;

use actix::ArbiterHandle;
use concurrency::{FairSemaphore, Workers};
use database::Db;
use entity::document;
use entity::id::{ChunkId, DocumentId, UserId};
use errors::Error;
use inference::embedder::Embedder;
use library::clock::Clock;
use runtime::{Port, SupervisorConfig, supervise};
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect};
use search::index::{Filter, Labels, PassageIndex, PassagePage};
use uuid::Uuid;

use crate::ai::Pause;
use actor::{Change, Maintain, RetrievalActor};
use engine::Engine;

pub use actor::Put;
pub use completeness::Completeness;
pub use engine::{IndexProbe, Vectors};

/// Changes of the index in progress at the same time.
const MAX_CHANGES: u32 = 32;
/// Searches in progress at the same time.
const MAX_SEARCHES: usize = 16;
/// Maximum time that a search waits for a permit.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// A search for passages in the library of one user.
#[derive(Clone, Debug)]
pub struct SearchQuery {
    /// The query in the words of the user, in any language.
    pub query: String,
    /// The part of the library to search: a source, a feed, a collection or some documents; the default is all of it.
    pub within: Filter,
    /// Maximum number of passages to return.
    pub limit: usize,
}

/// A passage that matches a query, by its ids.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchHit {
    /// The id of the passage, which may have been removed from the database meanwhile.
    pub chunk: ChunkId,
    /// The document of the passage.
    pub document: DocumentId,
    /// Relevance, from 0 to 1.
    pub score: f32,
    /// Cosine similarity of the embeddings of passage and query, if it was computed.
    pub cosine: Option<f32>,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankedHits {
    /// The hits, best first, at most [`SearchQuery::limit`].
    pub hits: Vec<SearchHit>,
    /// Whether the search was only lexical: the AI is paused, no model is available, or the index has lost passages of the user.
    pub lexical_only: bool,
}

/// The handle of the passage index. Clones are cheap.
#[derive(Clone)]
pub struct Retrieval {
    db: Db,
    port: Port<RetrievalActor>,
    searches: FairSemaphore<UserId>,
    engine: Arc<Engine>,
}

impl Retrieval {
    /// Starts the actor over an open index, or without one if its disk has no space for it.
    pub fn start(
        on: &ArbiterHandle,
        db: Db,
        clock: Arc<dyn Clock>,
        workers: Workers,
        index: Option<Arc<dyn PassageIndex>>,
        pause: Pause,
    ) -> Self {
        let engine = Arc::new(Engine::new(index, clock, pause, workers));
        let config =
            SupervisorConfig { name: "retrieval", permits: MAX_CHANGES, timeout: Duration::from_secs(120) };
        let (actor_db, shared) = (db.clone(), engine.clone());
        let port = supervise(on, config, move || RetrievalActor::new(actor_db.clone(), shared.clone()));
        Self { db, port, searches: FairSemaphore::new(MAX_SEARCHES, MAX_WAIT), engine }
    }

    /// Returns the best passages of the library of a user.
    ///
    /// # Errors
    /// [`Error::Busy`] when the search has waited for five seconds, when too many wait already, or while the index is reloaded
    /// after a failed write; [`Error::StorageFailed`] when the index cannot be read, or there
    /// is none; [`Error::Internal`] when it fails otherwise.
    pub async fn search(&self, user: UserId, search: SearchQuery) -> Result<RankedHits, Error> {
        // A permit before anything else, in turns between users: searches of one account do not delay those of others.
        let _permit = self.searches.acquire(user).await?;
        let is_incomplete = match self.engine.completeness() {
            Completeness::Complete => false,
            // Without an index the search is refused.
            Completeness::Checking | Completeness::MaintainedElsewhere | Completeness::Unavailable => true,
            Completeness::Rebuilding { .. } => self.has_lost_passages(user).await?,
        };
        self.engine.search(user, search, is_incomplete).await
    }

    /// Returns whether the index has lost documents of this user that are not restored yet.
    async fn has_lost_passages(&self, user: UserId) -> Result<bool, Error> {
        // One row is enough, and an index serves it: counting would read all lost documents at each search of a rebuild.
        let lost = document::Entity::lost_by_index().filter(document::Column::UserId.eq(user));
        let first = lost.select_only().column(document::Column::Id).into_tuple::<DocumentId>();
        Ok(first.one(self.db.read()).await?.is_some())
    }

    /// Adds the passages of a version of a document and, with the last ones, removes those of its other versions. The change
    /// is durable when it returns.
    ///
    /// # Errors
    /// The same errors as [`Self::remove`].
    pub async fn put(&self, put: Put) -> Result<(), Error> {
        self.port.ask(Change::Put(put)).await?
    }

    /// Removes all passages of a document. Without any nothing happens.
    ///
    /// # Errors
    /// The same errors as [`Self::remove`].
    pub async fn forget(&self, user: UserId, document: DocumentId) -> Result<(), Error> {
        self.port.ask(Change::Forget(user, document)).await?
    }

    /// Changes the labels of the passages of a document.
    ///
    /// # Errors
    /// The same errors as [`Self::remove`].
    pub async fn update_labels(
        &self,
        user: UserId,
        document: DocumentId,
        labels: Labels,
    ) -> Result<(), Error> {
        self.port.ask(Change::UpdateLabels(user, document, labels)).await?
    }

    /// Removes all passages of a user. Without any nothing happens.
    ///
    /// # Errors
    /// The same errors as [`Self::remove`].
    pub async fn forget_user(&self, user: UserId) -> Result<(), Error> {
        self.port.ask(Change::ForgetUser(user)).await?
    }

    /// Packs the index if there is something to pack. Returns whether there was.
    ///
    /// # Errors
    /// The same errors as [`Self::remove`].
    pub async fn maintain(&self) -> Result<bool, Error> {
        self.port.ask(Maintain).await?
    }

    /// Computes the embeddings of passages, or returns `None` if no model is available. This is background work.
    ///
    /// # Errors
    /// [`Error::Busy`] when too much work waits; [`Error::Internal`] when the model fails.
    pub async fn embed(&self, texts: Vec<String>) -> Result<Option<Vectors>, Error> {
        self.engine.embed(texts).await
    }

    /// Returns the embedding model, or `None` until it is loaded.
    pub fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        self.engine.embedder()
    }

    /// Reads whether the AI is paused, for all following searches.
    ///
    /// # Errors
    /// What [`DbErr`](sea_orm::DbErr) converts to when the database fails.
    pub async fn refresh_pause(&self, db: &Db) -> Result<(), Error> {
        self.engine.pause.refresh(db).await
    }

    /// Returns the name of the embedding model, or `None` until it is loaded.
    pub fn model(&self) -> Option<String> {
        self.engine.embedder().map(|embedder| embedder.model().to_owned())
    }

    /// Sets the embedding model: from then on searches are semantic too.
    pub fn set_model(&self, embedder: Arc<dyn Embedder>) {
        self.engine.set_embedder(embedder);
    }

    /// Estimates the number of passages of all users in the index. It may be too high ([`PassageIndex::estimate_count`]).
    ///
    /// # Errors
    /// [`Error::Busy`] when the index does not answer within two seconds, or is reloaded after
    /// a failed write; [`Error::Internal`] when it fails.
    pub async fn count(&self) -> Result<usize, Error> {
        self.engine.count().await
    }

    /// Determines for health whether the index answers, by the estimate of [`Self::count`].
    ///
    /// # Errors
    /// [`Error::Busy`] when the index does not answer within two seconds; [`Error::Internal`] when it is loaded and fails.
    pub async fn probe(&self) -> Result<IndexProbe, Error> {
        self.engine.probe().await
    }

    /// Counts the passages of all users in the index one by one.
    ///
    /// # Errors
    /// [`Error::Busy`] while the index is reloaded after a failed write; [`Error::Internal`] when it fails.
    pub async fn count_exactly(&self) -> Result<usize, Error> {
        self.engine.count_exactly().await
    }

    /// Returns whether the index contains everything that it should.
    pub fn completeness(&self) -> Completeness {
        self.engine.completeness()
    }

    /// Sets whether the index contains everything that it should. Search and health use it.
    pub fn set_completeness(&self, completeness: Completeness) {
        self.engine.set_completeness(completeness);
    }

    /// Returns those of these passages that the index does not contain.
    ///
    /// # Errors
    /// The same errors as [`Self::count_exactly`].
    pub async fn missing(&self, passages: Vec<Uuid>) -> Result<Vec<Uuid>, Error> {
        self.engine.missing(passages).await
    }

    /// Lists at most `limit` passages of all users, starting with `from`.
    ///
    /// # Errors
    /// The same errors as [`Self::count_exactly`].
    pub async fn passages(&self, from: Option<Uuid>, limit: usize) -> Result<PassagePage, Error> {
        self.engine.passages(from, limit).await
    }

    /// Removes passages that are in no row of the database.
    ///
    /// # Errors
    /// [`Error::StorageFull`] when the disk of the index is full; [`Error::StorageFailed`] when the index cannot be written, or there
    /// is none; [`Error::Busy`] when the actor has no free permit, or while the index is about to be reloaded or replaced;
    /// [`Error::Internal`] when it refuses the change, or when the change met damage on a replaced index and meets it again.
    pub async fn remove(&self, passages: Vec<Uuid>) -> Result<(), Error> {
        self.port.ask(Change::Remove(passages)).await?
    }

    /// Returns whether the files of the index are still at their paths: an operator may remove or replace the folder.
    pub fn is_in_place(&self) -> bool {
        self.engine.is_in_place()
    }

    /// Returns the number of requests of the last day, at most 16, that failed in a way that only damage of the index explains. A
    /// request that failed on an index that was replaced because of damage does not count again. [`Self::replace_index`] and
    /// [`Self::replace_damaged_index`] reset the number to 0.
    pub fn damage_failures(&self) -> u32 {
        self.engine.damage_failures()
    }

    /// Returns whether a request that counts in [`Self::damage_failures`] failed since the index was opened.
    pub fn has_damage_failures(&self) -> bool {
        self.engine.has_damage_failures()
    }

    /// Returns whether there is an index. Without one, because its disk has no space for it, every request of it is refused.
    pub fn has_index(&self) -> bool {
        self.engine.has_index()
    }

    /// Returns the number of changes of the index since the start.
    pub fn changes(&self) -> u64 {
        self.engine.changes()
    }

    /// Makes all changes of the index durable.
    ///
    /// # Errors
    /// [`Error::StorageFull`] when the disk of the index is full; [`Error::Busy`] while the index cannot be written, as in
    /// [`Self::remove`]; [`Error::Internal`] when it fails.
    pub async fn commit(&self) -> Result<(), Error> {
        self.engine.commit().await
    }

    /// Stops all writes to the folder of the index, and returns the index. It still answers searches.
    ///
    /// # Errors
    /// [`Error::StorageFailed`] when there is none; [`Error::Internal`] when the service stops first.
    pub async fn abandon(&self) -> Result<Arc<dyn PassageIndex>, Error> {
        self.engine.abandon().await
    }

    /// Replaces the index. Following searches and changes use the new one.
    pub fn replace_index(&self, index: Arc<dyn PassageIndex>) {
        self.engine.replace_index(index);
    }

    /// Replaces an index that counted as damaged by a new one. Requests that failed on the old one and fail again do not count as
    /// damage of the new one.
    pub fn replace_damaged_index(&self, index: Arc<dyn PassageIndex>) {
        self.engine.replace_damaged_index(index);
    }

    /// Returns the port of the actor, for health and for draining.
    pub fn port(&self) -> &Port<RetrievalActor> {
        &self.port
    }
}
