//! Blocking work, off the actors' and the server's threads: what somebody waits for never stands behind the background.

use std::net::IpAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};

use super::fair_semaphore::FairSemaphore;
use super::priority::{HEAVY_REQUEST_NICE, lower_thread_priority};
use crate::error::Error;

/// Most password hashes at the same time; on a machine with one core it is one. Each takes 19 MiB and a core for tens of
/// milliseconds, so strangers can take 38 MiB and two cores at most, however many sign-ins they send.
const MAX_PASSWORD_HASHES: usize = 2;
/// Longest wait for a password hash. On an idle machine 40 sign-ins at once are served in 4 seconds where a hash takes 200 ms; beside
/// requests that use every core a hash gets a quarter of one, and callers past this get 503.
const MAX_PASSWORD_WAIT: Duration = Duration::from_secs(10);

/// Who waits for the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Somebody waits: a query's vector, a search.
    Foreground,
    /// Nobody waits, and it takes milliseconds: a text cleaned, or split into passages.
    Background,
    /// Nobody waits, and it takes seconds: passages' vectors, the index packed. What is short does not stand behind it.
    Long,
}

/// Permits for blocking work, a number for each lane.
#[derive(Clone, Debug)]
pub struct Workers {
    foreground: Arc<Semaphore>,
    background: Arc<Semaphore>,
    long: Arc<Semaphore>,
    /// By the network address that a password comes from.
    passwords: FairSemaphore<Option<IpAddr>>,
}

impl Workers {
    /// For a machine with this many cores.
    pub fn new(cores: usize) -> Self {
        let cores = cores.max(1);
        Self {
            foreground: Arc::new(Semaphore::new(cores * 2)),
            background: Arc::new(Semaphore::new(cores)),
            long: Arc::new(Semaphore::new(cores)),
            passwords: FairSemaphore::new(cores.min(MAX_PASSWORD_HASHES), MAX_PASSWORD_WAIT),
        }
    }

    /// Runs the work once its lane has a permit. A panic in it is an internal error of this caller only.
    pub async fn run<T: Send + 'static>(
        &self,
        lane: Lane,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let permits = match lane {
            Lane::Foreground => &self.foreground,
            Lane::Background => &self.background,
            Lane::Long => &self.long,
        };
        let permit = permits.clone().acquire_owned().await.map_err(Error::internal)?;
        run_blocking(permit, work).await
    }

    /// Hashes a password, or compares one with a hash, for a caller at this network address ([`crate::limits::network`]). Addresses
    /// take turns, so one that sends many passwords delays itself and not the others. Other requests go first: a hash takes a whole
    /// core.
    ///
    /// # Errors
    /// [`Error::Busy`] when the caller has waited for 10 seconds, or when too many wait already.
    pub async fn run_password_hash<T: Send + 'static>(
        &self,
        address: Option<IpAddr>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let permit = self.passwords.acquire(address).await?;
        let (done, outcome) = oneshot::channel();
        // A thread of its own: one of the runtime would keep the lower priority, and starting one costs little beside a hash.
        let thread = thread::Builder::new().name("password".to_owned()).spawn(move || {
            let _permit = permit;
            lower_thread_priority(HEAVY_REQUEST_NICE);
            let _ = done.send(work());
        });
        thread.map_err(Error::internal)?;
        outcome.await.map_err(|_| Error::internal("a password hash panicked"))
    }
}

/// Runs the work on a thread that may block, and holds the permit until it ends, even if the caller goes away.
async fn run_blocking<T: Send + 'static>(
    permit: impl Send + 'static,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    done.await.map_err(|_| Error::internal("blocking work panicked"))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::join_all;

    use super::*;

    /// Of the fault table (row 31).
    #[tokio::test]
    async fn burst_of_password_hashes_is_served_two_at_a_time() {
        let workers = Workers::new(8);
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));

        let hashes = (0..40).map(|_| {
            let (running, most) = (running.clone(), most.clone());
            workers.run_password_hash(None, move || {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                thread::yield_now();
                running.fetch_sub(1, Ordering::SeqCst);
            })
        });
        let done = join_all(hashes).await;

        assert!(done.iter().all(Result::is_ok));
        assert!((1..=MAX_PASSWORD_HASHES).contains(&most.load(Ordering::SeqCst)));
    }

    /// Of the fault table (row 31).
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn password_hash_alone_runs_at_a_lower_priority() {
        let workers = Workers::new(1);
        let nice = || rustix::process::getpriority_process(None).unwrap();
        let normal = nice();

        let of_hash = workers.run_password_hash(None, nice).await.unwrap();
        let of_search = workers.run(Lane::Foreground, nice).await.unwrap();

        assert_eq!((of_hash, of_search), (normal + HEAVY_REQUEST_NICE, normal));
    }

    #[tokio::test]
    async fn panic_in_a_password_hash_frees_its_permit() {
        let workers = Workers::new(1);

        let failed = workers.run_password_hash::<()>(None, || panic!("a bug")).await;
        let next = workers.run_password_hash(None, || 7).await;

        assert!(matches!(failed, Err(Error::Internal(_))));
        assert_eq!(next.unwrap(), 7);
    }
}
