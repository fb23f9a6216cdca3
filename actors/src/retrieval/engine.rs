//! What the actor works with: the index, the model, and the places where blocking work runs.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use entity::id::{ChunkId, DocumentId, UserId};
use tracing::warn;

use super::fuse::{self, Trust};
use super::{Found, Ranked, Wanted, lexical};
use crate::adapters::embedder::{Embedder, PASSAGE_TOKENS, Pieces};
use crate::adapters::index::{IndexError, PassageIndex, Plan, Tenant};
use crate::ai::Pause;
use crate::clock::Clock;
use crate::error::Error;
use crate::kit::{Lane, Workers};

/// How long somebody waits for passages.
const PATIENCE: Duration = Duration::from_secs(10);
/// An index that does not answer a probe within it is not well.
const PROBE: Duration = Duration::from_secs(2);
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
    index: Arc<dyn PassageIndex>,
    embedder: RwLock<Option<Arc<dyn Embedder>>>,
    clock: Arc<dyn Clock>,
    pub(super) pause: Pause,
    workers: Workers,
}

impl Engine {
    /// Without a model as yet.
    pub fn new(index: Arc<dyn PassageIndex>, clock: Arc<dyn Clock>, pause: Pause, workers: Workers) -> Self {
        Self { index, embedder: RwLock::new(None), clock, pause, workers }
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
        let made: Result<Vectors, crate::adapters::embedder::EmbedError> = made.await?;
        made.map(Some).map_err(Error::internal)
    }

    /// The best passages: both legs, fused; one leg where the AI pauses or the model fails.
    pub async fn search(&self, user: UserId, wanted: Wanted) -> Result<Ranked, Error> {
        let embedder = self.embedder().filter(|_| !self.pause.holds(self.clock.now()));
        let index = self.index.clone();
        let search =
            self.workers.run(Lane::Foreground, move || search(&*index, embedder.as_deref(), user, &wanted));
        let ranked = tokio::time::timeout(PATIENCE, search).await;
        ranked.map_err(|_| Error::Busy(Duration::from_secs(1)))??.map_err(Error::internal)
    }

    /// Changes the index: background work.
    pub async fn change(
        &self,
        change: impl FnOnce(&dyn PassageIndex) -> Result<(), IndexError> + Send + 'static,
    ) -> Result<(), Error> {
        let index = self.index.clone();
        let done = self.workers.run(Lane::Background, move || {
            change(&*index)?;
            index.commit()
        });
        done.await?.map_err(not_written)
    }

    /// Packs the index.
    pub async fn maintain(&self) -> Result<bool, Error> {
        let index = self.index.clone();
        self.workers.run(Lane::Long, move || index.maintain()).await?.map_err(not_written)
    }

    /// Passages of everybody; beside the lanes, so that a busy service says so and still is there.
    pub async fn count(&self) -> Result<usize, Error> {
        let index = self.index.clone();
        let count = tokio::time::timeout(PROBE, tokio::task::spawn_blocking(move || index.count())).await;
        count
            .map_err(|_| Error::Busy(Duration::from_secs(1)))?
            .map_err(Error::internal)?
            .map_err(Error::internal)
    }
}

fn not_written(error: IndexError) -> Error {
    match error {
        IndexError::Full => Error::StorageFull,
        IndexError::Open(_) | IndexError::Engine { .. } | IndexError::Dimension { .. } => {
            Error::internal(error)
        }
    }
}

fn search(
    index: &dyn PassageIndex,
    embedder: Option<&dyn Embedder>,
    user: UserId,
    wanted: &Wanted,
) -> Result<Ranked, IndexError> {
    let tenant = Tenant::of(user.0);
    let (dense, trust) = meaning(embedder, &wanted.query);
    // A query whose words mean nothing to the model is not degraded by leaving the model out.
    let lexical_only = dense.is_none() && (embedder.is_none() || trust.any());
    let sparse = lexical::query(&wanted.query, &index.languages(&tenant)?);
    let mut plan = Plan { sparse, dense, filter: wanted.within.clone(), depth: DEPTH };
    loop {
        let legs = index.search(&tenant, &plan)?;
        let found = fuse::fuse(&legs, trust, wanted.limit);
        if plan.depth < DEEPEST && fuse::starved(&legs, plan.depth, found.len(), wanted.limit) {
            plan.depth = (plan.depth * 4).min(DEEPEST);
            continue;
        }
        let found = found.into_iter().map(|hit| Found {
            chunk: ChunkId(hit.id),
            document: DocumentId(hit.document),
            score: hit.score,
            cosine: legs.dense.iter().find(|dense| dense.id == hit.id).map(|dense| dense.score),
        });
        return Ok(Ranked { found: found.collect(), lexical_only });
    }
}

/// The query's vector, and how far it can be relied on; a model that fails is answered without.
fn meaning(embedder: Option<&dyn Embedder>, query: &str) -> (Option<Vec<f32>>, Trust) {
    let Some(embedder) = embedder else { return (None, Trust::of(query, Pieces::default())) };
    let trust = Trust::of(query, embedder.pieces(query));
    if !trust.any() {
        return (None, trust);
    }
    match embedder.embed_query(query) {
        Ok(vector) => (Some(vector), trust),
        Err(error) => {
            warn!(%error, "could not make the vector of a query; searching by words alone");
            (None, trust)
        }
    }
}
