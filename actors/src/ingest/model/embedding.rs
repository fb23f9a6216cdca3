//! Loads the embedding model. Until then search works by words alone; afterwards the documents that have no vectors of the
//! model are embedded with the priority of a backlog.

use std::sync::Arc;

use concurrency::Lane;
use errors::Error;
use inference::embedder::MiniLm;
use inference::models::{Model, Store};
use tracing::{info, warn};

use super::await_model;
use crate::ingest::indexing_context::IndexingContext;
use crate::ingest::reindex;

/// Waits for the files of the model, loads it, and enqueues the documents that lack its vectors. Returns when that is done,
/// or when the model could not be loaded.
pub async fn load_embedding_model(ctx: IndexingContext, store: Store, model: Model) {
    let (model, folder) = await_model(&store, &[model], "search is lexical").await;
    match ctx.core.workers.run(Lane::Long, move || MiniLm::open(&folder)).await {
        Ok(Ok(embedder)) => ctx.retrieval.engine().set_model(Arc::new(embedder)),
        Ok(Err(error)) => {
            return warn!(%error, model.name, "could not open the embedding model; search is lexical");
        }
        Err(error) => {
            return warn!(
                cause = Error::from(error).chain(),
                model.name, "could not open the embedding model"
            );
        }
    }
    info!(model.name, "embedding model loaded; semantic search enabled");
    match reindex::enqueue_missing_vectors(&ctx.core.db, &model.name, ctx.core.clock.now()).await {
        Ok(0) => {}
        Ok(documents) => {
            info!(documents, "queued documents for embedding");
            ctx.job_signal.notify();
        }
        Err(error) => {
            warn!(cause = error.chain(), "could not queue missing embeddings; retried at the next start")
        }
    }
}
