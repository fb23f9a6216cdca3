//! Turns of accounts to read from their libraries and build answers, so that an account that asks for many large answers at once
//! delays itself and not the others.
//!
//! | What | Bound |
//! |---|---|
//! | answers that are built at the same time | 16, and 4 of one account |
//! | unsent bytes of one account ([`MAX_UNSENT_BYTES`]) | 32 MiB; it has no more turns until some have been sent |
//! | the wait for a turn | 10 seconds, then 503 |
//!
//! A turn ends when the answer has been handed to its connection and its bytes count as unsent. So an account can have 4 more
//! answers in memory than the bound of its unsent bytes allows. A client that does not read its answers loses its connections by
//! the deadlines of writing (`server::wire`), and then their bytes no longer count.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix_web::web::Data;
use actix_web::{HttpMessage, HttpRequest};
use actors::auth::caller::Caller;
use actors::operation::Operation;
use actors::pipeline::TurnWait;
use entity::id::UserId;
use errors::Error;
use runtime::{FairQueue, QUEUE_RETRY_AFTER};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Answers that are built at the same time: twice the connections to the database that read.
const MAX_BUILDING: usize = 16;
/// Those of one account: enough for the requests of a page, and few enough that others find free connections and memory.
const MAX_BUILDING_PER_ACCOUNT: usize = 4;
/// An account with as many unsent bytes has no more turns.
pub const MAX_UNSENT_BYTES: usize = 32 << 20;
/// Longest wait for a turn.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// The turns of all accounts, for all workers together. Clones share them.
#[derive(Clone, Debug)]
pub struct AnswerTurns {
    max_wait: Duration,
    state: Arc<Mutex<TurnState>>,
}

#[derive(Debug, Default)]
struct TurnState {
    building: usize,
    /// Accounts that build answers or have unsent bytes.
    loads: HashMap<UserId, AnswerLoad>,
    /// No caller waits whose account may have a turn.
    queue: FairQueue<UserId, AnswerTurn>,
}

/// What one account has in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct AnswerLoad {
    building: usize,
    unsent_bytes: usize,
}

/// The turn of a caller; the next one has its turn when this is dropped.
#[derive(Debug)]
pub struct AnswerTurn {
    turns: Option<AnswerTurns>,
    user: UserId,
}

/// Unsent bytes of an account, which count until this is dropped.
#[derive(Debug)]
pub struct UnsentBytes {
    turns: AnswerTurns,
    user: UserId,
    bytes: usize,
}

impl Default for AnswerTurns {
    fn default() -> Self {
        Self { max_wait: MAX_WAIT, state: Arc::default() }
    }
}

impl AnswerTurns {
    /// Waits for a turn of this account.
    ///
    /// # Errors
    /// [`Error::Busy`] when it does not come in time, or when too many callers are waiting.
    pub async fn acquire(&self, user: UserId) -> Result<AnswerTurn, Error> {
        let turn = {
            let mut state = self.state();
            if state.may_build(&user) {
                state.begin(user);
                return Ok(AnswerTurn { turns: Some(self.clone()), user });
            }
            state.queue.push(user)?
        };
        match timeout(self.max_wait, turn).await {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) | Err(_) => Err(Error::Busy(QUEUE_RETRY_AFTER)),
        }
    }

    /// Counts unsent bytes of an account.
    pub fn count_unsent(&self, user: UserId, bytes: usize) -> UnsentBytes {
        self.state().loads.entry(user).or_default().unsent_bytes += bytes;
        UnsentBytes { turns: self.clone(), user, bytes }
    }

    fn state(&self) -> MutexGuard<'_, TurnState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lowers the load of an account, and gives turns to callers that may have them now.
    fn release(&self, user: UserId, building: usize, unsent_bytes: usize) {
        let mut state = self.state();
        state.lower(user, building, unsent_bytes);
        while let Some((user, next)) = state.next() {
            match next.send(AnswerTurn { turns: Some(self.clone()), user }) {
                Ok(()) => state.begin(user),
                // That caller no longer waits. The turn must not release itself: the state is locked.
                Err(mut turn) => turn.turns = None,
            }
        }
    }
}

impl TurnState {
    fn may_build(&self, user: &UserId) -> bool {
        self.building < MAX_BUILDING && self.loads.get(user).is_none_or(AnswerLoad::may_build)
    }

    fn begin(&mut self, user: UserId) {
        self.building += 1;
        self.loads.entry(user).or_default().building += 1;
    }

    fn lower(&mut self, user: UserId, building: usize, unsent_bytes: usize) {
        self.building = self.building.saturating_sub(building);
        let Some(load) = self.loads.get_mut(&user) else { return };
        load.building = load.building.saturating_sub(building);
        load.unsent_bytes = load.unsent_bytes.saturating_sub(unsent_bytes);
        if *load == AnswerLoad::default() {
            self.loads.remove(&user);
        }
    }

    /// Removes the caller whose turn it is.
    fn next(&mut self) -> Option<(UserId, oneshot::Sender<AnswerTurn>)> {
        if self.building >= MAX_BUILDING {
            return None;
        }
        let loads = &self.loads;
        self.queue.pop(|user| loads.get(user).is_none_or(AnswerLoad::may_build))
    }
}

impl AnswerLoad {
    fn may_build(&self) -> bool {
        self.building < MAX_BUILDING_PER_ACCOUNT && self.unsent_bytes < MAX_UNSENT_BYTES
    }
}

impl Drop for AnswerTurn {
    fn drop(&mut self) {
        if let Some(turns) = self.turns.take() {
            turns.release(self.user, 1, 0);
        }
    }
}

impl Drop for UnsentBytes {
    fn drop(&mut self) {
        self.turns.release(self.user, 0, self.bytes);
    }
}

/// Returns the wait for the turn that this operation needs, or `None` if it needs none ([`Operation::TAKES_TURN`]). The request
/// holds the turn once it has come. The wait ends with [`Error::Busy`] when it does not come in time.
pub fn turn_wait<O: Operation>(request: &HttpRequest, caller: &Caller) -> Option<TurnWait> {
    O::TAKES_TURN.then(|| -> TurnWait { Box::pin(hold_turn(request.clone(), caller.user)) })
}

async fn hold_turn(request: HttpRequest, user: UserId) -> Result<(), Error> {
    let turns = request.app_data::<Data<AnswerTurns>>();
    let turns = turns.ok_or_else(|| Error::internal("the turns of answers are missing"))?;
    let turn = turns.acquire(user).await?;
    request.extensions_mut().insert(turn);
    Ok(())
}

/// Ends the turn that the request holds, if any.
pub fn end_turn(request: &HttpRequest) {
    drop(request.extensions_mut().remove::<AnswerTurn>());
}

#[cfg(test)]
mod tests {
    use entity::time::Timestamp;
    use futures_util::{FutureExt, poll};

    use super::*;

    fn user() -> UserId {
        UserId::new(Timestamp::from_millis(0))
    }

    /// Turns of this account, as many as there are now.
    fn take(turns: &AnswerTurns, user: UserId) -> Vec<AnswerTurn> {
        std::iter::from_fn(|| turns.acquire(user).now_or_never()).map(Result::unwrap).collect()
    }

    #[actix_web::test]
    async fn account_builds_few_answers_at_once() {
        let (turns, greedy, other) = (AnswerTurns::default(), user(), user());
        let mut held = take(&turns, greedy);
        assert_eq!(held.len(), MAX_BUILDING_PER_ACCOUNT);
        let mut waiting = Box::pin(turns.acquire(greedy));
        assert!(poll!(&mut waiting).is_pending());

        assert!(turns.acquire(other).now_or_never().is_some());
        held.pop();

        assert!(poll!(&mut waiting).is_ready());
    }

    #[actix_web::test]
    async fn account_with_unsent_bytes_waits_until_some_are_sent() {
        let (turns, greedy, other) = (AnswerTurns::default(), user(), user());
        let unsent = turns.count_unsent(greedy, MAX_UNSENT_BYTES);
        let mut waiting = Box::pin(turns.acquire(greedy));
        assert!(poll!(&mut waiting).is_pending());

        assert_eq!(take(&turns, other).len(), MAX_BUILDING_PER_ACCOUNT);
        drop(unsent);

        assert!(poll!(&mut waiting).is_ready());
        drop(waiting);
        assert!(turns.state().loads.is_empty());
        assert_eq!(turns.state().building, 0);
    }

    #[actix_web::test]
    async fn accounts_take_turns_when_all_are_taken() {
        let turns = AnswerTurns::default();
        let (greedy, other) = (user(), user());
        let mut held: Vec<_> = (0..4).flat_map(|_| take(&turns, user())).collect();
        assert_eq!(held.len(), MAX_BUILDING);
        let mut waiting: Vec<_> =
            [greedy, greedy, other].into_iter().map(|user| Box::pin(turns.acquire(user))).collect();
        for turn in &mut waiting {
            assert!(poll!(turn).is_pending());
        }

        held.truncate(MAX_BUILDING - 2);

        // Kept until all were polled: a turn that is dropped goes to the next caller.
        let mut polled = Vec::new();
        for turn in &mut waiting {
            polled.push(poll!(turn));
        }
        let are_ready: Vec<bool> = polled.iter().map(|turn| turn.is_ready()).collect();
        assert_eq!(are_ready, [true, false, true]);
    }

    #[actix_web::test]
    async fn caller_that_waited_too_long_is_refused() {
        let turns = AnswerTurns { max_wait: Duration::from_millis(5), ..AnswerTurns::default() };
        let user = user();
        let held = take(&turns, user);

        assert!(matches!(turns.acquire(user).await, Err(Error::Busy(_))));

        // A turn is not given to a caller that no longer waits.
        drop(held);
        assert_eq!(take(&turns, user).len(), MAX_BUILDING_PER_ACCOUNT);
    }
}
