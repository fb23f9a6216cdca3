//! A queue that takes its callers from waiting accounts in turn: an account with 500 simultaneous requests delays itself, not the
//! others.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::time::Duration;

use tokio::sync::oneshot;

/// Maximum number of callers that wait in one queue.
const MAX_WAITING: usize = 4096;
/// Maximum number of waiting callers of one account, so that others can wait too.
const MAX_WAITING_PER_ACCOUNT: usize = 1024;
/// Time after which a caller that found a full queue, or got no permit in time, may retry.
pub const QUEUE_RETRY_AFTER: Duration = Duration::from_secs(1);

/// There is no room in a queue for another caller of the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many callers are waiting")]
pub struct QueueFull;

/// The queue. Each caller waits for a `P`, its permit.
#[derive(Debug)]
pub struct FairQueue<K, P> {
    /// Callers in all queues of `waiting`.
    length: usize,
    /// Waiting callers by account, in the order of their arrival. No queue is empty.
    waiting: HashMap<K, VecDeque<oneshot::Sender<P>>>,
    /// Accounts in the order of their turns, each once.
    turns: VecDeque<K>,
}

impl<K, P> Default for FairQueue<K, P> {
    fn default() -> Self {
        Self { length: 0, waiting: HashMap::new(), turns: VecDeque::new() }
    }
}

impl<K: Copy + Eq + Hash, P> FairQueue<K, P> {
    /// Adds a caller. The receiver fails if the caller is removed without a permit.
    ///
    /// If the queue is full, the newest caller of the account that has most of them is removed for one of an account that has fewer.
    ///
    /// # Errors
    /// [`QueueFull`] when there is no room.
    pub fn push(&mut self, account: K) -> Result<oneshot::Receiver<P>, QueueFull> {
        // Callers that gave up keep their place until it is needed, because finding them takes time proportional to the queue.
        if !self.has_room(account) {
            self.remove_cancelled();
        }
        if !self.has_room(account) && !self.make_room(account) {
            return Err(QueueFull);
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

    /// Removes the caller whose turn it is among those of accounts that are `ready`, and returns it with its account.
    pub fn pop(&mut self, ready: impl Fn(&K) -> bool) -> Option<(K, oneshot::Sender<P>)> {
        // An account that is not ready keeps its place in the order.
        let place = self.turns.iter().position(ready)?;
        let account = self.turns.remove(place)?;
        let own = self.waiting.get_mut(&account)?;
        let next = own.pop_front();
        if own.is_empty() {
            self.waiting.remove(&account);
        } else {
            self.turns.push_back(account);
        }
        self.length = self.length.saturating_sub(1);
        next.map(|next| (account, next))
    }

    fn waiting_of(&self, account: K) -> usize {
        self.waiting.get(&account).map_or(0, VecDeque::len)
    }

    fn has_room(&self, account: K) -> bool {
        self.length < MAX_WAITING && self.waiting_of(account) < MAX_WAITING_PER_ACCOUNT
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

    /// Removes a caller of the account that has most of them. Returns whether that made room for a caller of this account.
    fn make_room(&mut self, account: K) -> bool {
        let own = self.waiting_of(account);
        let Some(most) = self.waiting.values_mut().max_by_key(|waiting| waiting.len()) else { return false };
        // Otherwise two accounts would remove each other's callers without end.
        if most.len() <= own + 1 {
            return false;
        }
        // The newest one has waited least.
        drop(most.pop_back());
        self.length = self.length.saturating_sub(1);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds callers of this account until there is no room.
    fn fill(queue: &mut FairQueue<usize, ()>, account: usize) -> Vec<oneshot::Receiver<()>> {
        std::iter::from_fn(|| queue.push(account).ok()).take(MAX_WAITING_PER_ACCOUNT).collect()
    }

    #[test]
    fn accounts_take_turns_and_those_not_ready_keep_theirs() {
        let mut queue = FairQueue::<char, ()>::default();
        let _waiting: Vec<_> =
            ['a', 'a', 'b', 'b', 'c'].into_iter().map(|account| queue.push(account)).collect();
        let mut next = |ready: fn(&char) -> bool| queue.pop(ready).map(|(account, _)| account);

        assert_eq!(next(|account| *account != 'a'), Some('b'));
        assert_eq!(next(|_| true), Some('a'));
        assert_eq!(next(|account| *account == 'a'), Some('a'));
        assert_eq!(next(|account| *account == 'a'), None);
        assert_eq!([next(|_| true), next(|_| true), next(|_| true)], [Some('c'), Some('b'), None]);
        assert_eq!(queue.length, 0);
    }

    #[test]
    fn account_with_too_many_waiting_callers_is_refused() {
        let mut queue = FairQueue::default();
        let waiting = fill(&mut queue, 0);

        assert_eq!(waiting.len(), MAX_WAITING_PER_ACCOUNT);
        assert!(matches!(queue.push(0), Err(QueueFull)));
        assert!(queue.push(1).is_ok());
        drop(waiting);
        assert!(queue.push(0).is_ok());
    }

    #[test]
    fn full_queue_makes_room_for_an_account_with_fewer_callers() {
        let mut queue = FairQueue::default();
        let mut waiting: Vec<_> = (0..4).map(|account| fill(&mut queue, account)).collect();
        assert_eq!(queue.length, MAX_WAITING);

        let newcomer = queue.push(4);

        assert!(newcomer.is_ok());
        assert_eq!(queue.length, MAX_WAITING);
        let removed = waiting.iter_mut().flatten().filter_map(|turn| turn.try_recv().err());
        let removed = removed.filter(|error| *error == oneshot::error::TryRecvError::Closed);
        assert_eq!(removed.count(), 1);
    }
}
