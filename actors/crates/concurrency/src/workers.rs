//! Blocking work off the threads of the actors and the server. Work that a caller waits for is never queued behind background work.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::{AcquireError, Semaphore, oneshot};

use super::fair_semaphore::{FairSemaphore, PermitError};
use super::priority::lower_thread_priority;

/// Maximum number of simultaneous password hashes; on a machine with one core it is one. Each takes 19 MiB and a core for tens of
/// milliseconds, so callers without an account take 38 MiB and two cores at most, however many sign-ins they send.
const MAX_PASSWORD_HASHES: usize = 2;
/// Added to the nice value of the thread of a password hash. Next to a busy thread of normal priority a hash gets a quarter of the
/// core.
const PASSWORD_NICE: i32 = 5;
/// Maximum wait for a password hash. On an idle machine 40 simultaneous sign-ins take 4 seconds if a hash takes 200 ms. Next to
/// requests that use every core a hash gets a quarter of one, and callers that wait longer than this get 503.
const MAX_PASSWORD_WAIT: Duration = Duration::from_secs(10);

/// Requests to other servers that wait at the same time, each on a thread.
const REMOTE_PERMITS: usize = 32;

/// Why work has no result.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// No permit became available in time, or too many callers are waiting: the work was not begun.
    #[error(transparent)]
    NoPermit(#[from] PermitError),
    /// The lane is closed, which does not happen.
    #[error(transparent)]
    LaneClosed(#[from] AcquireError),
    /// The thread of a password hash could not be started.
    #[error(transparent)]
    NoThread(io::Error),
    /// The work panicked. The panic hook has logged where.
    #[error("{0} panicked")]
    Panicked(&'static str),
}

/// A lane of work, by who waits for the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// A caller waits: the vector of a query, a search.
    Foreground,
    /// No caller waits, and it takes milliseconds: to clean a text, to split it into passages.
    Background,
    /// No caller waits, and it takes seconds: the vectors of passages, the maintenance of the index. Its permits are separate, so
    /// short work is not queued behind it.
    Long,
    /// Work that waits for a response of another server and computes little. Its permits do not depend on the number of cores: otherwise a
    /// server that does not respond would stop all work of a machine with few cores.
    Remote,
}

/// Permits for blocking work, with a separate number for each lane. Clones share them.
#[derive(Clone, Debug)]
pub struct Workers {
    foreground: Arc<Semaphore>,
    background: Arc<Semaphore>,
    long: Arc<Semaphore>,
    remote: Arc<Semaphore>,
    /// By the network address that sent the password.
    passwords: FairSemaphore<Option<IpAddr>>,
}

impl Workers {
    /// Permits for a machine with this many cores: twice as many in the foreground, as many in the background and for long work, and 32
    /// for requests to other servers.
    pub fn new(cores: usize) -> Self {
        let cores = cores.max(1);
        Self {
            foreground: Arc::new(Semaphore::new(cores * 2)),
            background: Arc::new(Semaphore::new(cores)),
            long: Arc::new(Semaphore::new(cores)),
            remote: Arc::new(Semaphore::new(REMOTE_PERMITS)),
            passwords: FairSemaphore::new(cores.min(MAX_PASSWORD_HASHES), MAX_PASSWORD_WAIT),
        }
    }

    /// Runs the work once its lane has a permit. A panic in it is an error of this caller only.
    ///
    /// # Errors
    /// [`WorkError::Panicked`] when the work panicked. There is no timeout: the caller waits until its lane has a permit.
    pub async fn run<T: Send + 'static>(
        &self,
        lane: Lane,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WorkError> {
        let permits = match lane {
            Lane::Foreground => &self.foreground,
            Lane::Background => &self.background,
            Lane::Long => &self.long,
            Lane::Remote => &self.remote,
        };
        let permit = permits.clone().acquire_owned().await?;
        let done = tokio::task::spawn_blocking(move || {
            // Held until the work ends, even if the caller goes away.
            let _permit = permit;
            work()
        });
        done.await.map_err(|_| WorkError::Panicked("blocking work"))
    }

    /// Hashes a password, or compares one with a hash, for a caller at this network address; `None` is one more address.
    /// Addresses take turns, so one that sends many passwords delays itself and not the others. A hash takes a whole core, so it runs
    /// at a lower priority than other requests.
    ///
    /// # Errors
    /// [`WorkError::NoPermit`] when the caller has waited for 10 seconds, or when too many wait already; [`WorkError::NoThread`] when
    /// the thread cannot be started; [`WorkError::Panicked`] when the work panicked.
    pub async fn run_password_hash<T: Send + 'static>(
        &self,
        address: Option<IpAddr>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WorkError> {
        // Before the thread is started, so that waiting callers cost no threads.
        let permit = self.passwords.acquire(address).await?;
        let (done, outcome) = oneshot::channel();
        // A separate thread: a thread of the runtime would keep the lower priority, and starting one costs little compared to a hash.
        let thread = thread::Builder::new().name("password".to_owned()).spawn(move || {
            let _permit = permit;
            lower_thread_priority(PASSWORD_NICE);
            // The caller may have gone away.
            let _ = done.send(work());
        });
        thread.map_err(WorkError::NoThread)?;
        outcome.await.map_err(|_| WorkError::Panicked("a password hash"))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::join_all;

    use super::*;

    /// Covers the fault table (row 31).
    #[tokio::test]
    async fn password_hashes_run_two_at_a_time() {
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

    /// Covers the fault table (row 31).
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn password_hash_alone_runs_at_a_lower_priority() {
        let workers = Workers::new(1);
        let nice = || rustix::process::getpriority_process(None).unwrap();
        let normal = nice();

        let of_hash = workers.run_password_hash(None, nice).await.unwrap();
        let of_search = workers.run(Lane::Foreground, nice).await.unwrap();

        assert_eq!((of_hash, of_search), (normal + PASSWORD_NICE, normal));
    }

    #[tokio::test]
    async fn panic_in_a_password_hash_frees_its_permit() {
        let workers = Workers::new(1);

        let failed = workers.run_password_hash::<()>(None, || panic!("a bug")).await;
        let next = workers.run_password_hash(None, || 7).await;

        assert!(matches!(failed, Err(WorkError::Panicked(_))));
        assert_eq!(next.unwrap(), 7);
    }
}
