//! A mutex whose waiters take turns: the most urgent first, and no account twice in a row while others wait. Unlike
//! `concurrency::FairSemaphore` it knows priorities, and its holder can ask whether it should yield. It does not bound its waiters:
//! they are jobs, whose number is bounded already.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// A recording that waits to be transcribed, or is being transcribed. `K` is the id of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiter<K> {
    /// The account that the recording belongs to.
    pub account: K,
    /// The priority of its job; lower is more urgent.
    pub priority: i16,
}

/// The mutex. Clones share it.
pub(super) struct FairMutex<K> {
    queue: Arc<Mutex<WaitQueue<K>>>,
    changed: Arc<Notify>,
}

impl<K> Clone for FairMutex<K> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone(), changed: self.changed.clone() }
    }
}

impl<K> Default for FairMutex<K> {
    fn default() -> Self {
        Self { queue: Arc::default(), changed: Arc::default() }
    }
}

struct WaitQueue<K> {
    is_locked: bool,
    last_account: Option<K>,
    /// Each waiter with the number of its ticket.
    waiting: Vec<(u64, Waiter<K>)>,
    last_number: u64,
}

impl<K> Default for WaitQueue<K> {
    fn default() -> Self {
        Self { is_locked: false, last_account: None, waiting: Vec::new(), last_number: 0 }
    }
}

impl<K: Copy + Eq> WaitQueue<K> {
    /// Returns the number of the ticket whose turn it is.
    fn next_ticket(&self) -> Option<u64> {
        let rank = |(number, waiter): &&(u64, Waiter<K>)| {
            // `false` sorts before `true`: other accounts go before the one that had the lock last.
            (waiter.priority, self.last_account == Some(waiter.account), *number)
        };
        self.waiting.iter().min_by_key(rank).map(|(number, _)| *number)
    }
}

/// Holds the lock, which is released when this is dropped.
pub(super) struct FairMutexGuard<K>(FairMutex<K>);

/// The place of a waiter in the queue, which it leaves when this is dropped.
struct Ticket<'a, K> {
    mutex: &'a FairMutex<K>,
    number: u64,
}

impl<K: Copy + Eq> FairMutex<K> {
    /// Waits in the queue for the lock. It is released when the guard is dropped.
    pub(super) async fn lock(&self, waiter: Waiter<K>) -> FairMutexGuard<K> {
        let ticket = self.ticket(waiter);
        loop {
            // Enabled before the attempt, so that a change in between is not missed.
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(guard) = ticket.try_lock(waiter) {
                return guard;
            }
            changed.await;
        }
    }

    /// Returns whether the lock is free.
    pub(super) fn is_free(&self) -> bool {
        !self.queue().is_locked
    }

    /// Returns whether a waiter is more urgent than the holder of the lock, or as urgent and of another account.
    pub(super) fn should_yield(&self, holder: Waiter<K>) -> bool {
        self.queue().waiting.iter().any(|(_, other)| {
            other.priority < holder.priority
                || (other.priority == holder.priority && other.account != holder.account)
        })
    }

    fn ticket(&self, waiter: Waiter<K>) -> Ticket<'_, K> {
        let mut queue = self.queue();
        queue.last_number += 1;
        let number = queue.last_number;
        queue.waiting.push((number, waiter));
        Ticket { mutex: self, number }
    }
}

impl<K> FairMutex<K> {
    fn queue(&self) -> MutexGuard<'_, WaitQueue<K>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Copy + Eq> Ticket<'_, K> {
    fn try_lock(&self, waiter: Waiter<K>) -> Option<FairMutexGuard<K>> {
        let mut queue = self.mutex.queue();
        if queue.is_locked || queue.next_ticket() != Some(self.number) {
            return None;
        }
        (queue.is_locked, queue.last_account) = (true, Some(waiter.account));
        Some(FairMutexGuard(self.mutex.clone()))
    }
}

impl<K> Drop for Ticket<'_, K> {
    fn drop(&mut self) {
        self.mutex.queue().waiting.retain(|(number, _)| *number != self.number);
        // All are woken, because each decides by itself whether it is next, and the one that left may have been.
        self.mutex.changed.notify_waiters();
    }
}

impl<K> Drop for FairMutexGuard<K> {
    fn drop(&mut self) {
        self.0.queue().is_locked = false;
        self.0.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn waiter(account: u8, priority: i16) -> Waiter<u8> {
        Waiter { account, priority }
    }

    #[tokio::test]
    async fn one_holder_has_the_lock_until_it_is_dropped() {
        let mutex = FairMutex::default();
        let first = mutex.lock(waiter(1, 0)).await;
        assert!(!mutex.is_free() && !mutex.should_yield(waiter(1, 0)));

        let mut next = Box::pin(mutex.lock(waiter(2, 0)));
        assert!((&mut next).now_or_never().is_none(), "two holders");
        assert!(mutex.should_yield(waiter(1, 0)) && !mutex.should_yield(waiter(2, 0)));
        assert!(mutex.should_yield(waiter(2, 10)), "the waiter is more urgent");

        drop(first);
        let next = next.await;
        assert!(!mutex.should_yield(waiter(1, 0)));
        drop(next);
        assert!(mutex.is_free());
    }

    #[tokio::test]
    async fn urgent_waiters_and_other_accounts_go_first() {
        let mutex = FairMutex::default();
        let first = mutex.lock(waiter(1, 0)).await;
        let mut waiting: Vec<_> = [waiter(2, 10), waiter(1, 0), waiter(1, 0), waiter(3, 0)]
            .into_iter()
            .map(|waiter| Some(Box::pin(mutex.lock(waiter))))
            .collect();
        for one in waiting.iter_mut().flatten() {
            assert!(one.now_or_never().is_none());
        }

        drop(first);
        let mut order = Vec::new();
        for _ in 0..waiting.len() {
            let locked = waiting.iter_mut().enumerate().find_map(|(index, one)| {
                let guard = one.as_mut()?.now_or_never()?;
                Some((index, guard))
            });
            let (index, guard) = locked.unwrap();
            waiting[index] = None;
            order.push(index);
            drop(guard);
        }
        assert_eq!(order, [3, 1, 2, 0]);
    }

    #[tokio::test]
    async fn cancelled_waiter_gives_up_its_place() {
        let mutex = FairMutex::default();
        let first = mutex.lock(waiter(1, 0)).await;
        let mut cancelled = Box::pin(mutex.lock(waiter(2, 0)));
        let mut next = Box::pin(mutex.lock(waiter(3, 0)));
        assert!((&mut cancelled).now_or_never().is_none() && (&mut next).now_or_never().is_none());

        drop((first, cancelled));
        assert!(next.now_or_never().is_some());
    }
}
