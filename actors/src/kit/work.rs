//! Blocking work, off the actors' and the server's threads: what somebody waits for never stands behind the background.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::error::Error;

/// A place for a password's hash is awaited no longer.
const PATIENCE: Duration = Duration::from_secs(3);

/// Who waits for the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Somebody waits: a query's vector, a search.
    Foreground,
    /// Nobody waits, and it takes milliseconds: a text cleaned, or split into passages.
    Background,
    /// Nobody waits, and it takes seconds: passages' vectors, the index packed. What is short does not stand behind it.
    Long,
    /// A password's hash: strangers may ask for it, so it has few places and whoever finds none is told to come again.
    Password,
}

/// Places for blocking work, so many a lane.
#[derive(Clone, Debug)]
pub struct Workers {
    foreground: Arc<Semaphore>,
    background: Arc<Semaphore>,
    long: Arc<Semaphore>,
    password: Arc<Semaphore>,
}

impl Workers {
    /// With this many places in the lanes of what somebody waits for, and of the rest.
    pub fn new(foreground: usize, background: usize) -> Self {
        Self {
            foreground: Arc::new(Semaphore::new(foreground.max(1))),
            background: Arc::new(Semaphore::new(background.max(1))),
            long: Arc::new(Semaphore::new(background.max(1))),
            password: Arc::new(Semaphore::new(1)),
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
            Lane::Long => &self.long,
            Lane::Password => &self.password,
        };
        let place = places.clone().acquire_owned();
        let place = match lane {
            Lane::Foreground | Lane::Background | Lane::Long => place.await,
            Lane::Password => {
                tokio::time::timeout(PATIENCE, place).await.map_err(|_| Error::Busy(PATIENCE))?
            }
        };
        let place = place.map_err(Error::internal)?;
        tokio::task::spawn_blocking(move || {
            let _place = place;
            work()
        })
        .await
        .map_err(|_| Error::internal("blocking work panicked"))
    }
}
