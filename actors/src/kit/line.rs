//! A bounded line in which callers wait for a seat, each account in its turn: one that asks 500 times at once delays
//! itself, not the others.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::error::Error;

/// Callers that wait in one line at most.
const MAX_WAITING: usize = 4096;
/// Callers of one account that wait at most, so that the line has room for others.
const MAX_WAITING_OF_ONE: usize = 1024;
/// When a caller that found no seat may come again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The line. Clones share it.
#[derive(Debug)]
pub struct FairLine<K: Copy + Eq + Hash> {
    inner: Arc<Inner<K>>,
}

impl<K: Copy + Eq + Hash> Clone for FairLine<K> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

#[derive(Debug)]
struct Inner<K: Copy + Eq + Hash> {
    max_wait: Duration,
    state: Mutex<State<K>>,
}

/// A seat is free only while nobody waits.
#[derive(Debug)]
struct State<K: Copy + Eq + Hash> {
    free: usize,
    length: usize,
    /// Those who wait, by account; first come first.
    waiting: HashMap<K, VecDeque<oneshot::Sender<Seat<K>>>>,
    /// Accounts in the order of their turns, each once.
    turns: VecDeque<K>,
}

/// A seat; the next caller has it when this is dropped.
#[derive(Debug)]
pub struct Seat<K: Copy + Eq + Hash> {
    line: Option<Arc<Inner<K>>>,
}

impl<K: Copy + Eq + Hash> FairLine<K> {
    /// With so many seats, for one of which a caller waits for `max_wait` at most.
    pub fn new(seats: usize, max_wait: Duration) -> Self {
        let state = State { free: seats, length: 0, waiting: HashMap::new(), turns: VecDeque::new() };
        Self { inner: Arc::new(Inner { max_wait, state: Mutex::new(state) }) }
    }

    /// Waits for a seat.
    ///
    /// # Errors
    /// [`Error::Busy`] when none became free in time, or when too many wait already.
    pub async fn enter(&self, account: K) -> Result<Seat<K>, Error> {
        let turn = {
            let mut state = self.inner.state();
            if state.free > 0 {
                state.free -= 1;
                return Ok(Seat { line: Some(self.inner.clone()) });
            }
            state.queue(account)?
        };
        match tokio::time::timeout(self.inner.max_wait, turn).await {
            Ok(Ok(seat)) => Ok(seat),
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
    fn queue(&mut self, account: K) -> Result<oneshot::Receiver<Seat<K>>, Error> {
        if self.is_full(account) {
            self.forget_gone();
        }
        if self.is_full(account) {
            return Err(Error::Busy(RETRY_AFTER));
        }
        let (seat, turn) = oneshot::channel();
        let own = self.waiting.entry(account).or_default();
        if own.is_empty() {
            self.turns.push_back(account);
        }
        own.push_back(seat);
        self.length += 1;
        Ok(turn)
    }

    fn is_full(&self, account: K) -> bool {
        let own = self.waiting.get(&account).map_or(0, VecDeque::len);
        self.length >= MAX_WAITING || own >= MAX_WAITING_OF_ONE
    }

    /// Takes those out who wait no longer.
    fn forget_gone(&mut self) {
        self.waiting.retain(|_, own| {
            own.retain(|seat| !seat.is_closed());
            !own.is_empty()
        });
        self.turns.retain(|account| self.waiting.contains_key(account));
        self.length = self.waiting.values().map(VecDeque::len).sum();
    }

    /// Whose turn it is.
    fn next(&mut self) -> Option<oneshot::Sender<Seat<K>>> {
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

impl<K: Copy + Eq + Hash> Drop for Seat<K> {
    fn drop(&mut self) {
        let Some(line) = self.line.take() else { return };
        let mut state = line.state();
        while let Some(next) = state.next() {
            match next.send(Seat { line: Some(line.clone()) }) {
                Ok(()) => return,
                // Nobody waits there any more. The seat must not be dropped as one: the line is locked.
                Err(mut seat) => seat.line = None,
            }
        }
        state.free += 1;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, poll};

    use super::*;

    const NEVER: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn accounts_take_turns() {
        let line = FairLine::new(1, NEVER);
        let seat = line.enter('a').await.unwrap();
        let mut waiting: Vec<_> =
            ['a', 'a', 'a', 'b', 'c'].into_iter().map(|account| Box::pin(line.enter(account))).collect();
        for turn in &mut waiting {
            assert!(poll!(turn).is_pending());
        }

        let mut order = Vec::new();
        drop(seat);
        while let Some((place, seat)) = (0..waiting.len())
            .find_map(|place| waiting[place].as_mut().now_or_never().map(|seat| (place, seat.unwrap())))
        {
            order.push(place);
            drop(waiting.remove(place));
            drop(seat);
        }

        // a, b, c, a, a: places shift as those before them leave.
        assert_eq!(order, [0, 2, 2, 0, 0]);
        assert_eq!(line.inner.state().free, 1);
    }

    #[tokio::test]
    async fn account_with_too_many_waiting_is_refused_and_others_are_not() {
        let line = FairLine::new(1, NEVER);
        let _seat = line.enter(0).await.unwrap();
        let mut waiting: Vec<_> = (0..MAX_WAITING_OF_ONE).map(|_| Box::pin(line.enter(0))).collect();
        for turn in &mut waiting {
            assert!(poll!(turn).is_pending());
        }

        assert!(matches!(line.enter(0).now_or_never(), Some(Err(Error::Busy(_)))));
        assert!(line.enter(1).now_or_never().is_none());
        waiting.clear();
        assert!(line.enter(0).now_or_never().is_none());
    }

    #[tokio::test]
    async fn caller_is_told_to_come_again_after_its_time() {
        let line = FairLine::new(1, Duration::from_millis(5));
        let seat = line.enter(0).await.unwrap();

        assert!(matches!(line.enter(0).await, Err(Error::Busy(_))));

        // The seat of one who has gone goes to nobody.
        drop(seat);
        assert!(line.enter(0).now_or_never().is_some());
    }
}
