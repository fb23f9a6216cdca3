//! Models come later than the service that uses them: it waits for their files, and then does what waited for them.

pub mod embedding;
pub mod speech;

use std::path::PathBuf;
use std::time::Duration;

use inference::models::{Model, Store};
use tracing::warn;

const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Waits until one of these is there, the first of them for preference; says once that it waits, and what for.
async fn found(store: &Store, models: &[Model], meanwhile: &'static str) -> (Model, PathBuf) {
    let mut told = false;
    loop {
        if let Some(found) = models.iter().find_map(|model| Some((model.clone(), store.find(model)?))) {
            return found;
        }
        if !told {
            told = true;
            warn!("{meanwhile}");
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
