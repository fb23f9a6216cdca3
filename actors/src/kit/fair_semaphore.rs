//! A semaphore that gives its permits to waiting accounts in turn: an account with 500 simultaneous requests delays itself, not
//! the others.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::error::Error;

/// Maximum number of callers that wait for one semaphore.
const MAX_WAITING: usize = 4096;
/// Maximum number of waiting callers of one account, so that others can wait too.
const MAX_WAITING_PER_ACCOUNT: usize = 1024;
/// When a caller that got no permit may retry.
const RETRY_AFTER: Duration = Duration::from_secs(1);

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
    /// Callers in all queues of `waiting`.
    length: usize,
    /// Waiting callers by account, in the order of their arrival.
    waiting: HashMap<K, VecDeque<oneshot::Sender<FairPermit<K>>>>,
    /// Accounts in the order of their turns, each once.
    turns: VecDeque<K>,
}

/// A permit; the next caller gets it when this is dropped.
#[derive(Debug)]
pub struct FairPermit<K: Copy + Eq + Hash> {
    semaphore: Option<Arc<Inner<K>>>,
}

impl<K: Copy + Eq + Hash> FairSemaphore<K> {
    /// Creates a semaphore with this many permits. A caller waits at most `max_wait` for one.
    pub fn new(permits: usize, max_wait: Duration) -> Self {
        let state = State { available: permits, length: 0, waiting: HashMap::new(), turns: VecDeque::new() };
        Self { inner: Arc::new(Inner { max_wait, state: Mutex::new(state) }) }
    }

    /// Waits for a permit.
    ///
    /// # Errors
    /// [`Error::Busy`] when none became available in time, or when too many callers are waiting.
    pub async fn acquire(&self, account: K) -> Result<FairPermit<K>, Error> {
        let turn = {
            let mut state = self.inner.state();
            if state.available > 0 {
                state.available -= 1;
                return Ok(FairPermit { semaphore: Some(self.inner.clone()) });
            }
            state.queue(account)?
        };
        match tokio::time::timeout(self.inner.max_wait, turn).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(Error::Busy(RETRY_AFTER)),
        }
    }
}

impl<K: Copy + Eq + Hash> Inner<K> {
    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Copy + Eq + Hash> State<K> {
    fn queue(&mut self, account: K) -> Result<oneshot::Receiver<FairPermit<K>>, Error> {
        if self.is_full(account) {
            self.remove_cancelled();
        }
        if self.is_full(account) {
            return Err(Error::Busy(RETRY_AFTER));
        }
        let (sender, turn) = oneshot::channel();
        let own = self.waiting.entry(account).or_default();
        if own.is_empty() {
            self.turns.push_back(account);
        }
        own.push_back(sender);
        self.length += 1;
        Ok(turn)
    }

    fn is_full(&self, account: K) -> bool {
        let own = self.waiting.get(&account).map_or(0, VecDeque::len);
        self.length >= MAX_WAITING || own >= MAX_WAITING_PER_ACCOUNT
    }

    /// Removes callers that no longer wait.
    fn remove_cancelled(&mut self) {
        self.waiting.retain(|_, own| {
            own.retain(|sender| !sender.is_closed());
            !own.is_empty()
        });
        self.turns.retain(|account| self.waiting.contains_key(account));
        self.length = self.waiting.values().map(VecDeque::len).sum();
    }

    /// Removes the caller whose turn it is.
    fn next(&mut self) -> Option<oneshot::Sender<FairPermit<K>>> {
        while let Some(account) = self.turns.pop_front() {
            let Some(own) = self.waiting.get_mut(&account) else { continue };
            let next = own.pop_front();
            if own.is_empty() {
                self.waiting.remove(&account);
            } else {
                self.turns.push_back(account);
            }
            if next.is_some() {
                self.length = self.length.saturating_sub(1);
                return next;
            }
        }
        None
    }
}

impl<K: Copy + Eq + Hash> Drop for FairPermit<K> {
    fn drop(&mut self) {
        let Some(semaphore) = self.semaphore.take() else { return };
        let mut state = semaphore.state();
        while let Some(next) = state.next() {
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

    const NEVER: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn accounts_take_turns() {
        let semaphore = FairSemaphore::new(1, NEVER);
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
    async fn account_with_too_many_waiting_callers_is_refused() {
        let semaphore = FairSemaphore::new(1, NEVER);
        let _permit = semaphore.acquire(0).await.unwrap();
        let mut waiting: Vec<_> =
            (0..MAX_WAITING_PER_ACCOUNT).map(|_| Box::pin(semaphore.acquire(0))).collect();
        for turn in &mut waiting {
            assert!(poll!(turn).is_pending());
        }

        assert!(matches!(semaphore.acquire(0).now_or_never(), Some(Err(Error::Busy(_)))));
        assert!(semaphore.acquire(1).now_or_never().is_none());
        waiting.clear();
        assert!(semaphore.acquire(0).now_or_never().is_none());
    }

    #[tokio::test]
    async fn caller_that_waited_too_long_is_refused() {
        let semaphore = FairSemaphore::new(1, Duration::from_millis(5));
        let permit = semaphore.acquire(0).await.unwrap();

        assert!(matches!(semaphore.acquire(0).await, Err(Error::Busy(_))));

        // A permit is not given to a caller that no longer waits.
        drop(permit);
        assert!(semaphore.acquire(0).now_or_never().is_some());
    }
}
