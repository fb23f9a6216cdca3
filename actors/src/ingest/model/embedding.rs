//! The embedding model arrives: until its files are there search goes by words alone; then it is opened, and what the
//! library holds is embedded behind everything else.

use std::sync::Arc;

use inference::embedder::MiniLm;
use inference::models::{Model, Store};
use runtime::Lane;
use tracing::{info, warn};

use super::found;
use crate::ingest::context::IngestContext;
use errors::Error;
use crate::ingest::again;

/// Waits for the model, opens it, and asks for the vectors that are lacking. Ends when that is done.
pub async fn arrives(ctx: IngestContext, store: Store, model: Model) {
    let meanwhile = "the embedding model is not there yet: search goes by words alone until it is";
    let (model, folder) = found(&store, &[model], meanwhile).await;
    match ctx.core.workers.run(Lane::Long, move || MiniLm::open(&folder)).await {
        Ok(Ok(embedder)) => ctx.retrieval.set_model(Arc::new(embedder)),
        Ok(Err(error)) => {
            return warn!(%error, model.name, "could not open the embedding model; search goes by words alone");
        }
        Err(error) => {
            return warn!(
                cause = Error::from(error).chain(),
                model.name, "could not open the embedding model"
            );
        }
    }
    info!(model.name, "the embedding model is there: search goes by meaning too");
    match again::ask_for_vectors(&ctx.core.db, &model.name, ctx.core.clock.now()).await {
        Ok(0) => {}
        Ok(documents) => {
            info!(documents, "the vectors of what was saved before are being made");
            ctx.job_signal.notify();
        }
        Err(error) => warn!(
            cause = error.chain(),
            "could not ask for the vectors that are lacking; the next start does"
        ),
    }
}
