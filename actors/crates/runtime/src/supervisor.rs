//! Keeps an actor alive: starts it anew after any death, ever more slowly while it keeps dying, and gives up in the end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use actix::{Actor, ActorContext, ActorFutureExt, Arbiter, ArbiterHandle, AsyncContext, Context, WrapFuture};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, sleep};
use tracing::{error, warn};

use super::health::Health;
use super::port::{Port, Shared};

const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
const HEALTHY_AFTER: Duration = Duration::from_secs(10);
/// Deaths within [`WINDOW`] after which an actor is left down, so that health turns red.
const MOST_DEATHS: u32 = 60;
const WINDOW: Duration = Duration::from_secs(60);

/// How an actor is kept.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// Its name, for health and the log.
    pub name: &'static str,
    /// Questions in progress at once, and messages that wait.
    pub permits: u32,
    /// How long an answer is awaited; longer than the work's own deadline.
    pub patience: Duration,
}

/// Starts an actor on the arbiter and keeps it; `make` is called for each life, so each begins with fresh state.
pub fn keep<A>(on: &ArbiterHandle, how: Kept, make: impl Fn() -> A + Send + 'static) -> Port<A>
where
    A: Actor<Context = Context<A>>,
{
    let shared = Arc::new(Shared {
        address: RwLock::new(None),
        permits: Semaphore::new(how.permits as usize),
        most: how.permits,
        patience: how.patience,
        health: Health::new(how.name),
        #[cfg(debug_assertions)]
        crash: Arc::default(),
    });
    let kept = shared.clone();
    if !on.spawn(live(kept, how, make)) {
        error!(actor = how.name, "the arbiter of an actor has stopped");
    }
    Port { shared }
}

async fn live<A>(shared: Arc<Shared<A>>, how: Kept, make: impl Fn() -> A)
where
    A: Actor<Context = Context<A>>,
{
    let (mut pause, mut deaths, mut window) = (FIRST_PAUSE, 0, Instant::now());
    loop {
        let born = Instant::now();
        if let Some(death) = start(&shared, how, &make) {
            // The sender lives in the actor's context: whatever ends the actor drops it.
            let _ = death.await;
        }
        shared.health.up.store(false, Ordering::Relaxed);
        if shared.permits.is_closed() {
            return;
        }
        if born.elapsed() > HEALTHY_AFTER {
            pause = FIRST_PAUSE;
        }
        if window.elapsed() > WINDOW {
            (deaths, window) = (0, Instant::now());
        }
        deaths += 1;
        if deaths > MOST_DEATHS {
            shared.health.given_up.store(true, Ordering::Relaxed);
            error!(actor = how.name, deaths, "an actor keeps dying and is left down");
            return;
        }
        warn!(actor = how.name, deaths, "an actor died and is started anew");
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Begins one life; `None` when the factory itself panicked.
fn start<A>(shared: &Arc<Shared<A>>, how: Kept, make: &impl Fn() -> A) -> Option<oneshot::Receiver<()>>
where
    A: Actor<Context = Context<A>>,
{
    let (alive, death) = oneshot::channel::<()>();
    let actor = catch_unwind(AssertUnwindSafe(make)).ok()?;
    let mut context = Context::new();
    context.set_mailbox_capacity(how.permits as usize);
    #[cfg(debug_assertions)]
    let crash = shared.crash.clone();
    context.spawn(
        async move {
            #[cfg(debug_assertions)]
            die_when_told(&crash).await;
            std::future::pending::<()>().await;
            drop(alive);
        }
        .into_actor(&actor)
        .map(|(), _, context: &mut Context<A>| context.stop()),
    );
    let address = context.run(actor);
    *shared.address.write().unwrap_or_else(PoisonError::into_inner) = Some(address);
    shared.health.starts.fetch_add(1, Ordering::Relaxed);
    shared.health.up.store(true, Ordering::Relaxed);
    debug_assert!(Arbiter::try_current().is_some());
    Some(death)
}

/// A panic in a future of the actor's context is as a panic in the actor itself.
#[cfg(debug_assertions)]
#[expect(clippy::panic, reason = "a test asked for it")]
async fn die_when_told(crash: &tokio::sync::Notify) {
    crash.notified().await;
    panic!("an actor panics because a test asked for it");
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use actix::{Handler, Message, ResponseFuture};

    use super::super::port::Unanswered;
    use super::*;

    struct Counter(u32);

    impl Actor for Counter {
        type Context = Context<Self>;
    }

    #[derive(Message)]
    #[rtype(result = "u32")]
    enum Do {
        Count,
        Panic,
        PanicLater,
        Stop,
    }

    impl Handler<Do> for Counter {
        type Result = ResponseFuture<u32>;

        fn handle(&mut self, asked: Do, context: &mut Self::Context) -> Self::Result {
            match asked {
                Do::Count => self.0 += 1,
                Do::Panic => panic!("as the test asked"),
                Do::PanicLater => return Box::pin(async { panic!("as the test asked") }),
                Do::Stop => context.stop(),
            }
            let count = self.0;
            Box::pin(async move { count })
        }
    }

    const HOW: Kept = Kept { name: "counter", permits: 4, patience: Duration::from_secs(5) };

    async fn eventually_counts(port: &Port<Counter>) -> u32 {
        loop {
            match port.ask(Do::Count).await {
                Ok(count) => return count,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    }

    #[actix::test]
    async fn an_actor_that_panics_answers_its_caller_and_comes_back_fresh() {
        let port = keep(&Arbiter::current(), HOW, || Counter(0));
        assert_eq!(eventually_counts(&port).await, 1);
        assert_eq!(port.ask(Do::Count).await, Ok(2));

        assert_eq!(port.ask(Do::Panic).await, Err(Unanswered::Crashed));

        assert_eq!(eventually_counts(&port).await, 1);
        assert_eq!(port.health().report().restarts, 1);
    }

    #[actix::test]
    async fn a_panic_in_the_answer_costs_one_caller_only() {
        let port = keep(&Arbiter::current(), HOW, || Counter(0));
        assert_eq!(eventually_counts(&port).await, 1);

        assert_eq!(port.ask(Do::PanicLater).await, Err(Unanswered::Crashed));

        assert_eq!(port.ask(Do::Count).await, Ok(2));
        assert_eq!(port.health().report().restarts, 0);
    }

    #[actix::test]
    async fn an_actor_that_is_made_to_panic_comes_back_fresh() {
        let port = keep(&Arbiter::current(), HOW, || Counter(0));
        eventually_counts(&port).await;
        assert_eq!(port.ask(Do::Count).await, Ok(2));

        port.crash();
        while port.health().report().restarts == 0 {
            tokio::task::yield_now().await;
        }

        assert_eq!(eventually_counts(&port).await, 1);
    }

    #[actix::test]
    async fn an_actor_that_stops_is_started_anew() {
        let port = keep(&Arbiter::current(), HOW, || Counter(0));
        eventually_counts(&port).await;
        let _ = port.ask(Do::Stop).await;

        assert_eq!(eventually_counts(&port).await, 1);
    }

    #[actix::test]
    async fn a_panicking_factory_counts_as_a_failed_start() {
        let tries = Arc::new(AtomicU32::new(0));
        let made = tries.clone();
        let port = keep(&Arbiter::current(), HOW, move || {
            assert!(made.fetch_add(1, Ordering::SeqCst) >= 3, "as the test asked");
            Counter(0)
        });

        assert_eq!(eventually_counts(&port).await, 1);
        assert_eq!(tries.load(Ordering::SeqCst), 4);
    }

    #[actix::test]
    async fn a_drained_port_takes_no_more_questions() {
        let port = keep(&Arbiter::current(), HOW, || Counter(0));
        eventually_counts(&port).await;

        port.drain().await;

        assert_eq!(port.ask(Do::Count).await, Err(Unanswered::Busy));
    }
}
