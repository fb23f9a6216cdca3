//! The port of an actor: permits bound the questions and, apart from them, the work in progress, and a timeout bounds the wait for each
//! answer.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use actix::dev::ToEnvelope;
use actix::{Actor, Addr, ArbiterHandle, Context, Handler, MailboxError, Message};
use concurrency::AskError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tracing::{Instrument, Span};

use super::health::Health;

/// A handle of one actor. Clones share permits and address; the supervisor swaps the address when it restarts the actor.
///
/// The permit of a question is held for as long as its answer is awaited. An actor continues without one when the caller is dropped or
/// the timeout is over, so everything an actor does must have a deadline. The permit of [`Self::run_to_end`] is held until the work
/// has ended, that of [`Self::run_within_timeout`] for as long as its end is awaited. It is not one of those of questions: slow work
/// refuses further work, and no question.
pub struct Port<A: Actor> {
    pub(super) state: Arc<PortState<A>>,
}

pub(super) struct PortState<A: Actor> {
    pub(super) address: RwLock<Option<Addr<A>>>,
    /// The thread of the actor.
    pub(super) arbiter: ArbiterHandle,
    /// Permits of questions that the actor answers.
    pub(super) permits: Semaphore,
    /// Permits of work. There are as many as for questions.
    pub(super) work_permits: Arc<Semaphore>,
    pub(super) max_permits: u32,
    pub(super) timeout: Duration,
    pub(super) health: Health,
    #[cfg(debug_assertions)]
    pub(super) crash: Arc<tokio::sync::Notify>,
}

impl<A: Actor> Clone for Port<A> {
    fn clone(&self) -> Self {
        Self { state: self.state.clone() }
    }
}

impl<A: Actor<Context = Context<A>>> Port<A> {
    /// Sends a message and waits for the answer.
    ///
    /// # Errors
    /// [`AskError::Busy`] at once when there is no permit or the actor is being restarted; [`AskError::Timeout`] when no answer came in
    /// time; [`AskError::Crashed`] when the actor ended before it answered.
    pub async fn ask<M>(&self, message: M) -> Result<M::Result, AskError>
    where
        M: Message + Send + 'static,
        M::Result: Send,
        A: Handler<M>,
        Context<A>: ToEnvelope<A, M>,
    {
        let _permit = self.state.permits.try_acquire().map_err(|_| self.count_refusal())?;
        // After a crash the address of the former actor stays until the supervisor replaces it.
        let address = self.address().filter(Addr::connected).ok_or(AskError::Busy)?;
        // actix queues this message even when the mailbox is full, so the permits are what bounds the questions.
        let answer = address.send(message).timeout(self.state.timeout).await;
        answer.map_err(|error| match error {
            MailboxError::Closed => AskError::Crashed,
            MailboxError::Timeout => AskError::Timeout,
        })
    }

    /// Runs work that touches no state of the actor, as a separate task on the actor's thread, and waits for its end. The timeout of
    /// the port does not apply, so an error never leaves work behind that may still succeed. The work ends although its caller is
    /// dropped. A panic in it concerns its caller alone, and a crash of the actor does not concern it.
    ///
    /// The work has to set its deadline itself, such as by the timeouts of a database, because its permit is held until it ends.
    ///
    /// # Errors
    /// [`AskError::Busy`] at once, and without a start of the work, when there is no permit; [`AskError::Crashed`] when the work panicked, or
    /// when the thread of the actor has stopped.
    pub async fn run_to_end<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce() -> T + Send + 'static,
    ) -> Result<T, AskError> {
        let permit = self.state.work_permits.clone().try_acquire_owned().map_err(|_| self.count_refusal())?;
        let output = self.start_work(work, Some(permit))?;
        output.await.map_err(|_| AskError::Crashed)
    }

    /// Runs work as [`Self::run_to_end`] does, but waits for its end only until the timeout of the port. The work continues after that, and
    /// its permit is free again, so it must be work that can be repeated. For changes that a slow disk holds up, such as those of the
    /// passage index: a caller that repeats them, such as a job, is not held up with them.
    ///
    /// # Errors
    /// The same errors as [`Self::run_to_end`]; [`AskError::Timeout`] when the work has not ended in time.
    pub async fn run_within_timeout<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce() -> T + Send + 'static,
    ) -> Result<T, AskError> {
        let _permit = self.state.work_permits.try_acquire().map_err(|_| self.count_refusal())?;
        let output = self.start_work(work, None)?;
        match tokio::time::timeout(self.state.timeout, output).await {
            Ok(output) => output.map_err(|_| AskError::Crashed),
            Err(_) => Err(AskError::Timeout),
        }
    }

    /// Starts work as a task on the actor's thread, which holds this permit until its end. Returns the receiver of its output.
    fn start_work<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce() -> T + Send + 'static,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Result<oneshot::Receiver<T>, AskError> {
        let (sender, output) = oneshot::channel();
        // A task does not inherit the span, which gives log lines the id of the request.
        let span = Span::current();
        // The future is created on the actor's thread, so it need not be `Send`.
        let is_started = self.state.arbiter.spawn_fn(move || {
            let task = async move {
                // Fails if the caller is gone, who does not need the result.
                let _ = sender.send(work().await);
                drop(permit);
            };
            drop(actix::spawn(task.instrument(span)));
        });
        // An arbiter that has stopped is no refusal: more permits would not help.
        if is_started { Ok(output) } else { Err(AskError::Crashed) }
    }

    /// Sends a message without waiting. Returns `false`, and counts a refusal, when the mailbox is full or the actor is being
    /// restarted.
    pub fn tell<M>(&self, message: M) -> bool
    where
        M: Message + Send + 'static,
        M::Result: Send,
        A: Handler<M>,
        Context<A>: ToEnvelope<A, M>,
    {
        // Not through a clone of the address: each clone has one more slot in the mailbox, so that it would never be full.
        let guard = self.state.address.read().unwrap_or_else(PoisonError::into_inner);
        let is_sent = guard.as_ref().is_some_and(|address| address.try_send(message).is_ok());
        drop(guard);
        if !is_sent {
            self.count_refusal();
        }
        is_sent
    }

    /// Waits until all questions in progress have an answer and all work in progress has ended, and refuses further ones with
    /// [`AskError::Busy`].
    pub async fn drain(&self) {
        let state = &self.state;
        // Together, so that neither lets more in while the other is awaited.
        tokio::join!(
            take_all(&state.permits, state.max_permits),
            take_all(&state.work_permits, state.max_permits)
        );
        state.permits.close();
        state.work_permits.close();
    }

    /// Returns the health of the actor.
    pub fn health(&self) -> &Health {
        &self.state.health
    }

    /// Makes the actor panic, for tests of what its callers see of that. Only in builds with debug assertions.
    #[cfg(debug_assertions)]
    #[doc(hidden)]
    pub fn crash(&self) {
        self.state.crash.notify_one();
    }

    fn address(&self) -> Option<Addr<A>> {
        self.state.address.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn count_refusal(&self) -> AskError {
        self.state.health.refused.fetch_add(1, Ordering::Relaxed);
        AskError::Busy
    }
}

/// Waits for all permits of a semaphore and takes them for good.
async fn take_all(permits: &Semaphore, number: u32) {
    if let Ok(all) = permits.acquire_many(number).await {
        // Released permits would admit others before the close.
        all.forget();
    }
}
