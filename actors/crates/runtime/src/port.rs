//! The port of an actor: permits bound what is in progress, patience bounds how long an answer is awaited.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use actix::dev::ToEnvelope;
use actix::{Actor, Addr, Context, Handler, MailboxError, Message};
use tokio::sync::Semaphore;

use super::health::Health;

/// Why a question got no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// As much is in progress as the actor may have.
    #[error("busy")]
    Busy,
    /// No answer within the port's patience. The work's own deadline is shorter, so this is rare.
    #[error("late")]
    Late,
    /// The actor died while it answered. Whoever asks before it is there again is told that it is busy.
    #[error("crashed")]
    Crashed,
}

/// The way to one actor. Clones share permits and address; the keeper swaps the address when it starts the actor anew.
///
/// A permit is held for as long as an answer is awaited: work whose caller went away, or lost patience, goes on without
/// one, so what an actor does must end by a deadline of its own.
pub struct Port<A: Actor> {
    pub(super) shared: Arc<Shared<A>>,
}

pub(super) struct Shared<A: Actor> {
    pub(super) address: RwLock<Option<Addr<A>>>,
    pub(super) permits: Semaphore,
    pub(super) most: u32,
    pub(super) patience: Duration,
    pub(super) health: Health,
    #[cfg(debug_assertions)]
    pub(super) crash: Arc<tokio::sync::Notify>,
}

impl<A: Actor> Clone for Port<A> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<A: Actor<Context = Context<A>>> Port<A> {
    /// Asks and waits for the answer.
    pub async fn ask<M>(&self, message: M) -> Result<M::Result, Unanswered>
    where
        M: Message + Send + 'static,
        M::Result: Send,
        A: Handler<M>,
        Context<A>: ToEnvelope<A, M>,
    {
        let _permit = self.shared.permits.try_acquire().map_err(|_| self.refused())?;
        let address = self.address().filter(Addr::connected).ok_or(Unanswered::Busy)?;
        let answer = address.send(message).timeout(self.shared.patience).await;
        answer.map_err(|error| match error {
            MailboxError::Closed => Unanswered::Crashed,
            MailboxError::Timeout => Unanswered::Late,
        })
    }

    /// Tells without waiting; `false` when the mailbox is full or the actor is not there. Refusals are counted.
    pub fn tell<M>(&self, message: M) -> bool
    where
        M: Message + Send + 'static,
        M::Result: Send,
        A: Handler<M>,
        Context<A>: ToEnvelope<A, M>,
    {
        // The one shared address is used, not a clone: each clone has a place of its own and is never full.
        let guard = self.shared.address.read().unwrap_or_else(PoisonError::into_inner);
        let told = guard.as_ref().is_some_and(|address| address.try_send(message).is_ok());
        drop(guard);
        if !told {
            self.refused();
        }
        told
    }

    /// Waits until no answer is awaited any more, and refuses all further questions.
    pub async fn drain(&self) {
        if let Ok(all) = self.shared.permits.acquire_many(self.shared.most).await {
            all.forget();
        }
        self.shared.permits.close();
    }

    /// How the actor is doing.
    pub fn health(&self) -> &Health {
        &self.shared.health
    }

    /// Makes the actor panic, for tests of what its callers see of that. Builds with optimisations have no such thing.
    #[cfg(debug_assertions)]
    #[doc(hidden)]
    pub fn crash(&self) {
        self.shared.crash.notify_one();
    }

    fn address(&self) -> Option<Addr<A>> {
        self.shared.address.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn refused(&self) -> Unanswered {
        self.shared.health.refused.fetch_add(1, Ordering::Relaxed);
        Unanswered::Busy
    }
}
