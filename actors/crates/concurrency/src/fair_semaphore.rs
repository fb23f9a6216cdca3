//! A semaphore that gives its permits to waiting accounts in turn.

use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::fair_queue::{FairQueue, QueueFull};

/// Why a caller got no permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PermitError {
    /// Too many callers are waiting, or the caller lost its place to one of an account with fewer callers.
    #[error(transparent)]
    QueueFull(#[from] QueueFull),
    /// None became available in time.
    #[error("no permit became available in time")]
    Timeout,
}

/// The semaphore. Clones share it.
#[derive(Debug)]
pub struct FairSemaphore<K: Copy + Eq + Hash> {
    inner: Arc<Inner<K>>,
}

impl<K: Copy + Eq + Hash> Clone for FairSemaphore<K> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

#[derive(Debug)]
struct Inner<K: Copy + Eq + Hash> {
    max_wait: Duration,
    state: Mutex<State<K>>,
}

/// A permit is available only while no caller waits.
#[derive(Debug)]
struct State<K: Copy + Eq + Hash> {
    available: usize,
    queue: FairQueue<K, FairPermit<K>>,
}

/// A permit. It is released when it is dropped, and the next caller gets it.
#[derive(Debug)]
pub struct FairPermit<K: Copy + Eq + Hash> {
    semaphore: Option<Arc<Inner<K>>>,
}

impl<K: Copy + Eq + Hash> FairSemaphore<K> {
    /// Creates a semaphore with this many permits. A caller waits at most `max_wait` for one.
    pub fn new(permits: usize, max_wait: Duration) -> Self {
        let state = State { available: permits, queue: FairQueue::default() };
        Self { inner: Arc::new(Inner { max_wait, state: Mutex::new(state) }) }
    }

    /// Waits for a permit for at most the time that the semaphore allows. Callers of one account wait in the order of their arrival.
    ///
    /// # Errors
    /// [`PermitError`] when none became available in time, or when too many callers are waiting.
    pub async fn acquire(&self, account: K) -> Result<FairPermit<K>, PermitError> {
        let turn = {
            let mut state = self.inner.state();
            if state.available > 0 {
                state.available -= 1;
                return Ok(FairPermit { semaphore: Some(self.inner.clone()) });
            }
            state.queue.push(account)?
        };
        // A permit that is sent just when the time is up is dropped with the receiver, and so passed on.
        match tokio::time::timeout(self.inner.max_wait, turn).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) => Err(QueueFull.into()),
            Err(_) => Err(PermitError::Timeout),
        }
    }
}

impl<K: Copy + Eq + Hash> Inner<K> {
    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Copy + Eq + Hash> Drop for FairPermit<K> {
    fn drop(&mut self) {
        let Some(semaphore) = self.semaphore.take() else { return };
        let mut state = semaphore.state();
        // The permit goes to the next caller directly: if it became available first, a caller that arrives now could take it.
        while let Some((_, next)) = state.queue.pop(|_| true) {
            match next.send(FairPermit { semaphore: Some(semaphore.clone()) }) {
                Ok(()) => return,
                // That caller no longer waits. The permit must not release itself: the state is locked.
                Err(mut permit) => permit.semaphore = None,
            }
        }
        state.available += 1;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, poll};

    use super::*;

    const NO_TIMEOUT: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn accounts_take_turns() {
        let semaphore = FairSemaphore::new(1, NO_TIMEOUT);
        let permit = semaphore.acquire('a').await.unwrap();
        let mut waiting: Vec<_> = ['a', 'a', 'a', 'b', 'c']
            .into_iter()
            .map(|account| Box::pin(semaphore.acquire(account)))
            .collect();
        for turn in &mut waiting {
            assert!(poll!(turn).is_pending());
        }

        let mut order = Vec::new();
        drop(permit);
        while let Some((place, permit)) = (0..waiting.len())
            .find_map(|place| waiting[place].as_mut().now_or_never().map(|permit| (place, permit.unwrap())))
        {
            order.push(place);
            drop(waiting.remove(place));
            drop(permit);
        }

        // a, b, c, a, a: indices shift as earlier callers leave.
        assert_eq!(order, [0, 2, 2, 0, 0]);
        assert_eq!(semaphore.inner.state().available, 1);
    }

    #[tokio::test]
    async fn caller_that_waited_too_long_is_refused() {
        let semaphore = FairSemaphore::new(1, Duration::from_millis(5));
        let permit = semaphore.acquire(0).await.unwrap();

        assert!(matches!(semaphore.acquire(0).await, Err(PermitError::Timeout)));

        // A permit is not given to a caller that no longer waits.
        drop(permit);
        assert!(semaphore.acquire(0).now_or_never().is_some());
    }
}
