//! Slots for reading from the library of an account and building a response, so that an account that asks for many large responses at
//! once delays itself and not the others.
//!
//! | What | Bound |
//! |---|---|
//! | responses that are built at the same time | 16, and 4 of one account |
//! | unsent bytes of one account ([`MAX_UNSENT_BYTES`]) | 32 MiB; it gets no more slots until some have been sent |
//! | the wait for a slot | 10 seconds, then 503 |
//!
//! A slot is released when the response has been handed to its connection and its bytes count as unsent. So an account can have 4
//! more responses in memory than the bound of its unsent bytes allows. A client that does not read its responses loses its connections
//! by the deadlines of writing (`server::wire`), and then their bytes no longer count.
//!
//! Waiting accounts take turns as in a [`concurrency::FairSemaphore`]. In addition each account has a limit, which its unsent bytes
//! lower to zero.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix_web::web::Data;
use actix_web::{HttpMessage, HttpRequest};
use actors::auth::caller::Caller;
use actors::operation::Operation;
use actors::pipeline::SlotWait;
use concurrency::{FairQueue, QUEUE_RETRY_AFTER};
use errors::Error;
use tokio::sync::oneshot;
use tokio::time::timeout;
use values::id::UserId;

/// Responses that are built at the same time: twice the connections to the database that read.
const MAX_BUILDING: usize = 16;
/// Those of one account: enough for the requests of a page, and few enough that others find free connections and memory.
const MAX_BUILDING_PER_ACCOUNT: usize = 4;
/// An account with as many unsent bytes gets no more slots.
pub const MAX_UNSENT_BYTES: usize = 32 << 20;
/// Longest wait for a slot.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// The slots of all accounts, for all workers together. Clones share them.
#[derive(Clone, Debug)]
pub struct ResponseSlots {
    max_wait: Duration,
    state: Arc<Mutex<SlotState>>,
}

/// The counters and the queue, which change under one lock.
#[derive(Debug, Default)]
struct SlotState {
    building: usize,
    /// Accounts that build responses or have unsent bytes.
    loads: HashMap<UserId, ResponseLoad>,
    /// No caller waits whose account may have a slot.
    queue: FairQueue<UserId, ResponsePermit>,
}

/// The responses that one account has in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ResponseLoad {
    building: usize,
    unsent_bytes: usize,
}

/// The permit of a caller to use a slot. It is released when it is dropped, and the next caller gets the slot.
#[derive(Debug)]
pub struct ResponsePermit {
    slots: Option<ResponseSlots>,
    user: UserId,
}

/// Unsent bytes of an account, which count until this is dropped.
#[derive(Debug)]
pub struct UnsentBytes {
    slots: ResponseSlots,
    user: UserId,
    bytes: usize,
}

impl Default for ResponseSlots {
    fn default() -> Self {
        Self { max_wait: MAX_WAIT, state: Arc::default() }
    }
}

impl ResponseSlots {
    /// Waits for a slot for this account.
    ///
    /// # Errors
    /// [`Error::Busy`] when it does not come in time, or when too many callers are waiting.
    pub async fn acquire(&self, user: UserId) -> Result<ResponsePermit, Error> {
        let permit = {
            let mut state = self.state();
            if state.may_build(&user) {
                state.begin(user);
                return Ok(ResponsePermit { slots: Some(self.clone()), user });
            }
            // Queued under the same lock as the check, so that no slot is released in between and missed. The wait is
            // outside of it.
            state.queue.push(user)?
        };
        match timeout(self.max_wait, permit).await {
            Ok(Ok(permit)) => Ok(permit),
            // A slot that is granted at this very moment is not lost: its permit is dropped with the channel, and
            // releases it.
            Ok(Err(_)) | Err(_) => Err(Error::Busy(QUEUE_RETRY_AFTER)),
        }
    }

    /// Counts unsent bytes of an account.
    pub fn count_unsent(&self, user: UserId, bytes: usize) -> UnsentBytes {
        self.state().loads.entry(user).or_default().unsent_bytes += bytes;
        UnsentBytes { slots: self.clone(), user, bytes }
    }

    fn state(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lowers the load of an account, and gives slots to callers that may have them now.
    fn release(&self, user: UserId, building: usize, unsent_bytes: usize) {
        let mut state = self.state();
        state.lower(user, building, unsent_bytes);
        while let Some((user, next)) = state.next() {
            match next.send(ResponsePermit { slots: Some(self.clone()), user }) {
                Ok(()) => state.begin(user),
                // That caller no longer waits. The permit must not release itself: the state is locked.
                Err(mut permit) => permit.slots = None,
            }
        }
    }
}

impl SlotState {
    fn may_build(&self, user: &UserId) -> bool {
        self.building < MAX_BUILDING && self.loads.get(user).is_none_or(ResponseLoad::may_build)
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
        // Idle accounts leave the map, which would otherwise grow with every account.
        if *load == ResponseLoad::default() {
            self.loads.remove(&user);
        }
    }

    /// Removes the caller whose turn it is.
    fn next(&mut self) -> Option<(UserId, oneshot::Sender<ResponsePermit>)> {
        if self.building >= MAX_BUILDING {
            return None;
        }
        let loads = &self.loads;
        self.queue.pop(|user| loads.get(user).is_none_or(ResponseLoad::may_build))
    }
}

impl ResponseLoad {
    fn may_build(&self) -> bool {
        self.building < MAX_BUILDING_PER_ACCOUNT && self.unsent_bytes < MAX_UNSENT_BYTES
    }
}

impl Drop for ResponsePermit {
    fn drop(&mut self) {
        if let Some(slots) = self.slots.take() {
            slots.release(self.user, 1, 0);
        }
    }
}

impl Drop for UnsentBytes {
    fn drop(&mut self) {
        self.slots.release(self.user, 0, self.bytes);
    }
}

/// Returns the wait for the slot that this operation needs, or `None` if it needs none ([`Operation::NEEDS_RESPONSE_SLOT`]). The
/// request holds the permit once it has one. The wait ends with [`Error::Busy`] when there is no slot in time.
pub fn slot_wait<O: Operation>(request: &HttpRequest, caller: &Caller) -> Option<SlotWait> {
    O::NEEDS_RESPONSE_SLOT.then(|| -> SlotWait { Box::pin(wait_for_slot(request.clone(), caller.user)) })
}

/// Waits for a slot for this account. The request holds the permit once it has one.
///
/// # Errors
/// [`Error::Busy`] when there is no slot in time.
pub async fn wait_for_slot(request: HttpRequest, user: UserId) -> Result<(), Error> {
    let slots = request.app_data::<Data<ResponseSlots>>();
    let slots = slots.ok_or_else(|| Error::internal("the slots of responses are missing"))?;
    let permit = slots.acquire(user).await?;
    request.extensions_mut().insert(permit);
    Ok(())
}

/// Releases the slot that the request holds, if any.
pub fn release_slot(request: &HttpRequest) {
    drop(request.extensions_mut().remove::<ResponsePermit>());
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, poll};
    use values::time::Timestamp;

    use super::*;

    fn user() -> UserId {
        UserId::new(Timestamp::from_millis(0))
    }

    /// Permits of this account, as many as there are now.
    fn take(slots: &ResponseSlots, user: UserId) -> Vec<ResponsePermit> {
        std::iter::from_fn(|| slots.acquire(user).now_or_never()).map(Result::unwrap).collect()
    }

    #[actix_web::test]
    async fn account_builds_few_responses_at_once() {
        let (slots, greedy, other) = (ResponseSlots::default(), user(), user());
        let mut held = take(&slots, greedy);
        assert_eq!(held.len(), MAX_BUILDING_PER_ACCOUNT);
        let mut waiting = Box::pin(slots.acquire(greedy));
        assert!(poll!(&mut waiting).is_pending());

        assert!(slots.acquire(other).now_or_never().is_some());
        held.pop();

        assert!(poll!(&mut waiting).is_ready());
    }

    #[actix_web::test]
    async fn account_with_unsent_bytes_waits_until_some_are_sent() {
        let (slots, greedy, other) = (ResponseSlots::default(), user(), user());
        let unsent = slots.count_unsent(greedy, MAX_UNSENT_BYTES);
        let mut waiting = Box::pin(slots.acquire(greedy));
        assert!(poll!(&mut waiting).is_pending());

        assert_eq!(take(&slots, other).len(), MAX_BUILDING_PER_ACCOUNT);
        drop(unsent);

        assert!(poll!(&mut waiting).is_ready());
        drop(waiting);
        assert!(slots.state().loads.is_empty());
        assert_eq!(slots.state().building, 0);
    }

    #[actix_web::test]
    async fn accounts_take_turns_when_all_are_taken() {
        let slots = ResponseSlots::default();
        let (greedy, other) = (user(), user());
        let mut held: Vec<_> = (0..4).flat_map(|_| take(&slots, user())).collect();
        assert_eq!(held.len(), MAX_BUILDING);
        let mut waiting: Vec<_> =
            [greedy, greedy, other].into_iter().map(|user| Box::pin(slots.acquire(user))).collect();
        for permit in &mut waiting {
            assert!(poll!(permit).is_pending());
        }

        held.truncate(MAX_BUILDING - 2);

        // Kept until all were polled: a permit that is dropped goes to the next caller.
        let mut polled = Vec::new();
        for permit in &mut waiting {
            polled.push(poll!(permit));
        }
        let are_ready: Vec<bool> = polled.iter().map(|permit| permit.is_ready()).collect();
        assert_eq!(are_ready, [true, false, true]);
    }

    #[actix_web::test]
    async fn caller_that_waited_too_long_is_refused() {
        let slots = ResponseSlots { max_wait: Duration::from_millis(5), ..ResponseSlots::default() };
        let user = user();
        let held = take(&slots, user);

        assert!(matches!(slots.acquire(user).await, Err(Error::Busy(_))));

        // A slot is not given to a caller that no longer waits.
        drop(held);
        assert_eq!(take(&slots, user).len(), MAX_BUILDING_PER_ACCOUNT);
    }
}
