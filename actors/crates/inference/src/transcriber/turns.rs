//! Whose recording is heard: one at a time, what is wanted sooner before the rest, and nobody twice in a row while others wait.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Whose recording it is, and how soon it is wanted: lower is sooner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiter<K> {
    /// The account of its owner.
    pub user: K,
    /// As in the row of its job.
    pub priority: i16,
}

/// See the file's head. Clones share the line.
#[derive(Clone)]
pub struct Turns<K> {
    line: Arc<Mutex<Line<K>>>,
    moved: Arc<Notify>,
}

impl<K> Default for Turns<K> {
    fn default() -> Self {
        Self { line: Arc::default(), moved: Arc::default() }
    }
}

struct Line<K> {
    taken: bool,
    last: Option<K>,
    waiting: Vec<(u64, Waiter<K>)>,
    came: u64,
}

impl<K> Default for Line<K> {
    fn default() -> Self {
        Self { taken: false, last: None, waiting: Vec::new(), came: 0 }
    }
}

impl<K: Copy + Eq> Line<K> {
    fn head(&self) -> Option<u64> {
        let rank =
            |(place, waiter): &&(u64, Waiter<K>)| (waiter.priority, self.last == Some(waiter.user), *place);
        self.waiting.iter().min_by_key(rank).map(|(place, _)| *place)
    }
}

/// The one turn; over when it is dropped.
pub struct Taken<K>(Turns<K>);

/// A place in the line; given back when it is dropped.
struct Place<'a, K> {
    turns: &'a Turns<K>,
    number: u64,
}

impl<K: Copy + Eq> Turns<K> {
    /// Waits until it is this one's turn.
    pub async fn take(&self, waiter: Waiter<K>) -> Taken<K> {
        let place = self.place(waiter);
        loop {
            // Before the look: what moves in between is not missed.
            let mut moved = std::pin::pin!(self.moved.notified());
            moved.as_mut().enable();
            if let Some(taken) = place.try_take(waiter) {
                return taken;
            }
            moved.await;
        }
    }

    /// Whether nobody has the turn.
    pub fn is_free(&self) -> bool {
        !self.line().taken
    }

    /// Whether somebody else waits, or something that is wanted sooner.
    pub fn others_wait(&self, heard: Waiter<K>) -> bool {
        self.line().waiting.iter().any(|(_, other)| {
            other.priority < heard.priority || (other.priority == heard.priority && other.user != heard.user)
        })
    }

    fn place(&self, waiter: Waiter<K>) -> Place<'_, K> {
        let mut line = self.line();
        line.came += 1;
        let number = line.came;
        line.waiting.push((number, waiter));
        Place { turns: self, number }
    }
}

impl<K> Turns<K> {
    fn line(&self) -> MutexGuard<'_, Line<K>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Copy + Eq> Place<'_, K> {
    fn try_take(&self, waiter: Waiter<K>) -> Option<Taken<K>> {
        let mut line = self.turns.line();
        if line.taken || line.head() != Some(self.number) {
            return None;
        }
        (line.taken, line.last) = (true, Some(waiter.user));
        Some(Taken(self.turns.clone()))
    }
}

impl<K> Drop for Place<'_, K> {
    fn drop(&mut self) {
        self.turns.line().waiting.retain(|(number, _)| *number != self.number);
        self.turns.moved.notify_waiters();
    }
}

impl<K> Drop for Taken<K> {
    fn drop(&mut self) {
        self.0.line().taken = false;
        self.0.moved.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn of(user: u8, priority: i16) -> Waiter<u8> {
        Waiter { user, priority }
    }

    #[tokio::test]
    async fn one_has_the_turn_until_it_is_over() {
        let turns = Turns::default();
        let first = turns.take(of(1, 0)).await;
        assert!(!turns.is_free() && !turns.others_wait(of(1, 0)));

        let mut next = Box::pin(turns.take(of(2, 0)));
        assert!((&mut next).now_or_never().is_none(), "two at once");
        assert!(turns.others_wait(of(1, 0)) && !turns.others_wait(of(2, 0)));
        assert!(turns.others_wait(of(2, 10)), "it is wanted sooner");

        drop(first);
        let next = next.await;
        assert!(!turns.others_wait(of(1, 0)));
        drop(next);
        assert!(turns.is_free());
    }

    #[tokio::test]
    async fn others_come_before_who_was_heard_last_and_a_person_before_a_backlog() {
        let turns = Turns::default();
        let first = turns.take(of(1, 0)).await;
        let mut waiting: Vec<_> = [of(2, 10), of(1, 0), of(1, 0), of(3, 0)]
            .into_iter()
            .map(|waiter| Some(Box::pin(turns.take(waiter))))
            .collect();
        for one in waiting.iter_mut().flatten() {
            assert!(one.now_or_never().is_none());
        }

        drop(first);
        let mut order = Vec::new();
        for _ in 0..waiting.len() {
            let taken = waiting.iter_mut().enumerate().find_map(|(place, one)| {
                let taken = one.as_mut()?.now_or_never()?;
                Some((place, taken))
            });
            let (place, taken) = taken.unwrap();
            waiting[place] = None;
            order.push(place);
            drop(taken);
        }
        assert_eq!(order, [3, 1, 2, 0]);
    }

    #[tokio::test]
    async fn who_goes_away_leaves_the_place_to_the_next() {
        let turns = Turns::default();
        let first = turns.take(of(1, 0)).await;
        let mut leaves = Box::pin(turns.take(of(2, 0)));
        let mut stays = Box::pin(turns.take(of(3, 0)));
        assert!((&mut leaves).now_or_never().is_none() && (&mut stays).now_or_never().is_none());

        drop((first, leaves));
        assert!(stays.now_or_never().is_some());
    }
}
