//! Retrieval: passages by their words and by their meaning, and the one way by which the index changes.
//!
//! Where no model is there, the AI pauses, or the index lost passages of the user, search goes on by words alone and says
//! so.

mod actor;
mod completeness;
mod engine;
pub mod passage;

use std::sync::Arc;
use std::time::Duration;

use actix::ArbiterHandle;
use database::Db;
use entity::id::{ChunkId, DocumentId, UserId};
use inference::embedder::Embedder;
use runtime::{FairSemaphore, Port, SupervisorConfig, Workers, supervise};
use search::index::{Filter, Labels, PassageIndex, PassagePage};
use uuid::Uuid;

use crate::ai::Pause;
use library::clock::Clock;
use errors::Error;
use actor::{Change, Maintain, RetrievalActor, Retrieve};
use engine::Engine;

pub use actor::Put;
pub use completeness::Completeness;
pub use engine::Vectors;

/// Questions that the actor has in progress at once.
const PERMITS: u32 = 32;
/// Searches in progress at once: half of the permits, so that changes of the index always find some.
const SEARCHES: usize = 16;
/// Longest time that a search waits for its turn.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// What is looked for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// In these words.
    pub query: String,
    /// Where.
    pub within: Filter,
    /// How many passages at most.
    pub limit: usize,
}

/// A passage that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The passage.
    pub chunk: ChunkId,
    /// Its document.
    pub document: DocumentId,
    /// From 0 to 1, falling.
    pub score: f32,
    /// How near it is to the query in meaning, where that was looked at.
    pub cosine: Option<f32>,
}

/// What was found, best first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranked {
    /// The passages.
    pub found: Vec<Found>,
    /// By words alone: the AI pauses, no model is there, or the index lost passages of the user.
    pub lexical_only: bool,
}

/// The way to the index.
#[derive(Clone)]
pub struct Retrieval {
    port: Port<RetrievalActor>,
    searches: FairSemaphore<UserId>,
    engine: Arc<Engine>,
}

impl Retrieval {
    /// Starts the actor over an open index.
    pub fn start(
        on: &ArbiterHandle,
        db: Db,
        clock: Arc<dyn Clock>,
        workers: Workers,
        index: Arc<dyn PassageIndex>,
        pause: Pause,
    ) -> Self {
        let engine = Arc::new(Engine::new(index, clock, pause, workers));
        let config =
            SupervisorConfig { name: "retrieval", permits: PERMITS, timeout: Duration::from_secs(120) };
        let kept = engine.clone();
        let port = supervise(on, config, move || RetrievalActor::new(db.clone(), kept.clone()));
        Self { port, searches: FairSemaphore::new(SEARCHES, MAX_WAIT), engine }
    }

    /// The best passages of a user's library.
    ///
    /// # Errors
    /// [`Error::Busy`] when the search has waited for five seconds, when too many wait already, or while the index is loaded
    /// again after a failed write; [`Error::Internal`] when the index fails.
    pub async fn search(&self, user: UserId, wanted: Wanted) -> Result<Ranked, Error> {
        let _permit = self.searches.acquire(user).await?;
        self.port.ask(Retrieve { user, wanted }).await?
    }

    /// Puts the passages of a document's version in, and takes those of its other versions out; durable when it returns.
    ///
    /// # Errors
    /// As [`Self::remove`].
    pub async fn put(&self, put: Put) -> Result<(), Error> {
        self.port.ask(Change::Put(put)).await?
    }

    /// Takes a document out.
    ///
    /// # Errors
    /// As [`Self::remove`].
    pub async fn forget(&self, user: UserId, document: DocumentId) -> Result<(), Error> {
        self.port.ask(Change::Forget(user, document)).await?
    }

    /// Files a document's passages anew.
    ///
    /// # Errors
    /// As [`Self::remove`].
    pub async fn relabel(&self, user: UserId, document: DocumentId, labels: Labels) -> Result<(), Error> {
        self.port.ask(Change::Relabel(user, document, labels)).await?
    }

    /// Takes everything of a user out.
    ///
    /// # Errors
    /// As [`Self::remove`].
    pub async fn forget_user(&self, user: UserId) -> Result<(), Error> {
        self.port.ask(Change::ForgetUser(user)).await?
    }

    /// Packs the index where there is something to pack; whether there was.
    ///
    /// # Errors
    /// As [`Self::remove`].
    pub async fn maintain(&self) -> Result<bool, Error> {
        self.port.ask(Maintain).await?
    }

    /// Vectors of passages, where a model is there: background work.
    pub async fn embed(&self, texts: Vec<String>) -> Result<Option<Vectors>, Error> {
        self.engine.embed(texts).await
    }

    /// What makes vectors, where it is there.
    pub fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        self.engine.embedder()
    }

    /// Whether the AI pauses, for search from now on.
    pub async fn look_at_pause(&self, db: &Db) -> Result<(), Error> {
        self.engine.pause.look(db).await
    }

    /// The model whose vectors are made, where it is there.
    pub fn model(&self) -> Option<String> {
        self.engine.embedder().map(|embedder| embedder.model().to_owned())
    }

    /// From now on vectors are made by this model.
    pub fn set_model(&self, embedder: Arc<dyn Embedder>) {
        self.engine.set_embedder(embedder);
    }

    /// Passages in the index, of all users; may be too high ([`PassageIndex::estimate_count`]).
    ///
    /// # Errors
    /// [`Error::Busy`] when the index does not answer within two seconds, or is loaded again after a failed write;
    /// [`Error::Internal`] when it fails.
    pub async fn count(&self) -> Result<usize, Error> {
        self.engine.count().await
    }

    /// Passages in the index, for health: as [`Self::count`], and none while it is loaded again.
    ///
    /// # Errors
    /// [`Error::Busy`] when the index does not answer within two seconds; [`Error::Internal`] when it fails.
    pub async fn probe(&self) -> Result<Option<usize>, Error> {
        self.engine.probe().await
    }

    /// Passages in the index, of all users, counted one by one.
    ///
    /// # Errors
    /// [`Error::Busy`] while the index is loaded again after a failed write; [`Error::Internal`] when it fails.
    pub async fn count_exactly(&self) -> Result<usize, Error> {
        self.engine.count_exactly().await
    }

    /// Whether the index holds what it should.
    pub fn completeness(&self) -> Completeness {
        self.engine.completeness()
    }

    /// From now on this is told of the index, and search goes by it.
    pub fn set_completeness(&self, completeness: Completeness) {
        self.engine.set_completeness(completeness);
    }

    /// Which of these passages the index does not hold.
    ///
    /// # Errors
    /// As [`Self::count_exactly`].
    pub async fn missing(&self, passages: Vec<Uuid>) -> Result<Vec<Uuid>, Error> {
        self.engine.missing(passages).await
    }

    /// At most `limit` passages of all users, from one on.
    ///
    /// # Errors
    /// As [`Self::count_exactly`].
    pub async fn passages(&self, from: Option<Uuid>, limit: usize) -> Result<PassagePage, Error> {
        self.engine.passages(from, limit).await
    }

    /// Takes passages out that are in no row of the database.
    ///
    /// # Errors
    /// [`Error::StorageFull`] when the disk of the index is full; [`Error::Busy`] when the actor has no room, or while the index
    /// cannot be written: it is to be loaded again after a failed write, or to be replaced; [`Error::Internal`] when it fails.
    pub async fn remove(&self, passages: Vec<Uuid>) -> Result<(), Error> {
        self.port.ask(Change::Remove(passages)).await?
    }

    /// Whether the files of the index are where they were when it was opened.
    pub fn is_in_place(&self) -> bool {
        self.engine.is_in_place()
    }

    /// Reads in a row that the index failed to answer: one that succeeds, or another index, begins at 0 again.
    pub fn failures(&self) -> u32 {
        self.engine.failures()
    }

    /// Changes of the index since the start.
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
    /// [`Error::Internal`] when the service ends before it began.
    pub async fn abandon(&self) -> Result<Arc<dyn PassageIndex>, Error> {
        self.engine.abandon().await
    }

    /// From now on another index is searched and changed.
    pub fn replace_index(&self, index: Arc<dyn PassageIndex>) {
        self.engine.replace_index(index);
    }

    /// The actor's port, for health and for draining.
    pub fn port(&self) -> &Port<RetrievalActor> {
        &self.port
    }
}
