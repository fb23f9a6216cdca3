//! Whose recording is heard: one at a time, what is wanted sooner before the rest, and nobody twice in a row while others wait.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use entity::id::UserId;
use tokio::sync::Notify;

/// Whose recording it is, and how soon it is wanted: lower is sooner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// Its owner.
    pub user: UserId,
    /// As in the row of its job.
    pub priority: i16,
}

/// See the file's head. Clones share the line.
#[derive(Clone, Default)]
pub struct Turns {
    line: Arc<Mutex<Line>>,
    moved: Arc<Notify>,
}

#[derive(Default)]
struct Line {
    taken: bool,
    last: Option<UserId>,
    waiting: Vec<(u64, Waiter)>,
    came: u64,
}

impl Line {
    fn head(&self) -> Option<u64> {
        let rank =
            |(place, waiter): &&(u64, Waiter)| (waiter.priority, self.last == Some(waiter.user), *place);
        self.waiting.iter().min_by_key(rank).map(|(place, _)| *place)
    }
}

/// The one turn; over when it is dropped.
pub struct Taken(Turns);

/// A place in the line; given back when it is dropped.
struct Place<'a> {
    turns: &'a Turns,
    number: u64,
}

impl Turns {
    /// Waits until it is this one's turn.
    pub async fn take(&self, waiter: Waiter) -> Taken {
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
    pub fn others_wait(&self, heard: Waiter) -> bool {
        self.line().waiting.iter().any(|(_, other)| {
            other.priority < heard.priority || (other.priority == heard.priority && other.user != heard.user)
        })
    }

    fn place(&self, waiter: Waiter) -> Place<'_> {
        let mut line = self.line();
        line.came += 1;
        let number = line.came;
        line.waiting.push((number, waiter));
        Place { turns: self, number }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place<'_> {
    fn try_take(&self, waiter: Waiter) -> Option<Taken> {
        let mut line = self.turns.line();
        if line.taken || line.head() != Some(self.number) {
            return None;
        }
        (line.taken, line.last) = (true, Some(waiter.user));
        Some(Taken(self.turns.clone()))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.turns.line().waiting.retain(|(number, _)| *number != self.number);
        self.turns.moved.notify_waiters();
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.line().taken = false;
        self.0.moved.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn of(user: u128, priority: i16) -> Waiter {
        Waiter { user: UserId(uuid::Uuid::from_u128(user)), priority }
    }

    #[actix::test]
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

    #[actix::test]
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

    #[actix::test]
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
