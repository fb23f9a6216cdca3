//! Blocking work, off the actors' and the server's threads: what somebody waits for never stands behind the background.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::error::Error;

/// Who waits for the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Somebody waits: a query's vector, a password's hash, a search.
    Foreground,
    /// Nobody waits: passages' vectors, extraction.
    Background,
}

/// Places for blocking work, so many a lane.
#[derive(Clone, Debug)]
pub struct Workers {
    foreground: Arc<Semaphore>,
    background: Arc<Semaphore>,
}

impl Workers {
    /// With this many places in each lane.
    pub fn new(foreground: usize, background: usize) -> Self {
        Self {
            foreground: Arc::new(Semaphore::new(foreground.max(1))),
            background: Arc::new(Semaphore::new(background.max(1))),
        }
    }

    /// Runs the work once there is a place. A panic in it is an internal error of this caller only.
    pub async fn run<T: Send + 'static>(
        &self,
        lane: Lane,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let places = match lane {
            Lane::Foreground => &self.foreground,
            Lane::Background => &self.background,
        };
        let place = places.clone().acquire_owned().await.map_err(Error::internal)?;
        tokio::task::spawn_blocking(move || {
            let _place = place;
            work()
        })
        .await
        .map_err(|_| Error::internal("blocking work panicked"))
    }
}
