//! Supervises an actor: restarts it whenever it stops or panics, with growing pauses, and leaves it down when it keeps crashing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use actix::{Actor, ActorContext, ActorFutureExt, Arbiter, ArbiterHandle, AsyncContext, Context, WrapFuture};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, sleep};
use tracing::{error, warn};

use super::health::Health;
use super::port::{Port, PortState};

/// The pause before the first restart; it doubles with each further one.
const MIN_RESTART_PAUSE: Duration = Duration::from_millis(1);
const MAX_RESTART_PAUSE: Duration = Duration::from_secs(1);
/// An actor that has run for this long starts over with the shortest pause.
const HEALTHY_AFTER: Duration = Duration::from_secs(10);
/// Ends of an actor within [`CRASH_WINDOW`] after which it is left down, so that health turns red.
const MAX_CRASHES: u32 = 60;
const CRASH_WINDOW: Duration = Duration::from_secs(60);

/// The limits of an actor and its supervision.
#[derive(Clone, Copy, Debug)]
pub struct SupervisorConfig {
    /// The actor's name, for health and the log.
    pub name: &'static str,
    /// Maximum number of questions in progress, of pieces of work in progress, and of messages in the mailbox. Each is counted apart.
    pub permits: u32,
    /// Maximum wait of a caller for an answer; longer than the deadline of the work.
    pub timeout: Duration,
}

/// Starts an actor on the arbiter and supervises it. `make` is called for each start, so each one begins with a fresh state.
pub fn supervise<A>(
    arbiter: &ArbiterHandle,
    config: SupervisorConfig,
    make: impl Fn() -> A + Send + 'static,
) -> Port<A>
where
    A: Actor<Context = Context<A>>,
{
    let state = Arc::new(PortState {
        address: RwLock::new(None),
        arbiter: arbiter.clone(),
        permits: Semaphore::new(config.permits as usize),
        work_permits: Arc::new(Semaphore::new(config.permits as usize)),
        max_permits: config.permits,
        timeout: config.timeout,
        health: Health::new(config.name),
        #[cfg(debug_assertions)]
        crash: Arc::default(),
    });
    if !arbiter.spawn(run_supervised(state.clone(), config, make)) {
        error!(actor = config.name, "the arbiter of an actor has stopped");
    }
    Port { state }
}

async fn run_supervised<A>(state: Arc<PortState<A>>, config: SupervisorConfig, make: impl Fn() -> A)
where
    A: Actor<Context = Context<A>>,
{
    let (mut pause, mut crashes, mut window_began) = (MIN_RESTART_PAUSE, 0, Instant::now());
    // Not `actix::Supervisor`: it is a future around the actor, and a panic of the actor ends it too.
    loop {
        let started_at = Instant::now();
        if let Some(exit) = start(&state, config, &make) {
            // The sender lives in the actor's context: whatever ends the actor drops it.
            let _ = exit.await;
        }
        state.health.up.store(false, Ordering::Relaxed);
        // Drained, because the server stops: the end of the actor is not a crash.
        if state.permits.is_closed() {
            return;
        }
        if started_at.elapsed() > HEALTHY_AFTER {
            pause = MIN_RESTART_PAUSE;
        }
        if window_began.elapsed() > CRASH_WINDOW {
            (crashes, window_began) = (0, Instant::now());
        }
        crashes += 1;
        if crashes > MAX_CRASHES {
            state.health.given_up.store(true, Ordering::Relaxed);
            error!(actor = config.name, crashes, "an actor crashed too often and is not restarted");
            return;
        }
        warn!(actor = config.name, crashes, "an actor crashed and is restarted");
        sleep(pause).await;
        pause = (pause * 2).min(MAX_RESTART_PAUSE);
    }
}

/// Starts the actor once. The receiver fails when the actor ends; `None` when `make` itself panicked.
fn start<A>(
    state: &Arc<PortState<A>>,
    config: SupervisorConfig,
    make: &impl Fn() -> A,
) -> Option<oneshot::Receiver<()>>
where
    A: Actor<Context = Context<A>>,
{
    let (alive, exit) = oneshot::channel::<()>();
    // Without this a panic in `make` would end the task that restarts the actor.
    let actor = catch_unwind(AssertUnwindSafe(make)).ok()?;
    let mut context = Context::new();
    // The default of 16 would make `Port::tell` refuse most messages of a burst.
    context.set_mailbox_capacity(config.permits as usize);
    #[cfg(debug_assertions)]
    let crash = state.crash.clone();
    context.spawn(
        async move {
            #[cfg(debug_assertions)]
            panic_when_notified(&crash).await;
            std::future::pending::<()>().await;
            // Never reached. It moves the sender into this future, so that the end of the context drops it.
            drop(alive);
        }
        .into_actor(&actor)
        .map(|(), _, context: &mut Context<A>| context.stop()),
    );
    let address = context.run(actor);
    *state.address.write().unwrap_or_else(PoisonError::into_inner) = Some(address);
    state.health.starts.fetch_add(1, Ordering::Relaxed);
    state.health.up.store(true, Ordering::Relaxed);
    debug_assert!(Arbiter::try_current().is_some());
    Some(exit)
}

/// A panic in a future of the actor's context has the effect of a panic in the actor itself.
#[cfg(debug_assertions)]
#[expect(clippy::panic, reason = "a test asked for it")]
async fn panic_when_notified(crash: &tokio::sync::Notify) {
    crash.notified().await;
    panic!("an actor panics because a test asked for it");
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    use actix::{Handler, Message, ResponseFuture};
    use concurrency::AskError;

    use super::*;

    struct Counter(u32);

    impl Actor for Counter {
        type Context = Context<Self>;
    }

    #[derive(Message)]
    #[rtype(result = "u32")]
    enum CounterCommand {
        Count,
        Panic,
        PanicLater,
        Stop,
    }

    impl Handler<CounterCommand> for Counter {
        type Result = ResponseFuture<u32>;

        fn handle(&mut self, message: CounterCommand, context: &mut Self::Context) -> Self::Result {
            match message {
                CounterCommand::Count => self.0 += 1,
                CounterCommand::Panic => panic!("as the test asked"),
                CounterCommand::PanicLater => return Box::pin(async { panic!("as the test asked") }),
                CounterCommand::Stop => context.stop(),
            }
            let count = self.0;
            Box::pin(async move { count })
        }
    }

    const CONFIG: SupervisorConfig =
        SupervisorConfig { name: "counter", permits: 4, timeout: Duration::from_secs(5) };

    async fn eventually_counts(port: &Port<Counter>) -> u32 {
        loop {
            match port.ask(CounterCommand::Count).await {
                Ok(count) => return count,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    }

    #[actix::test]
    async fn caller_of_a_panicking_actor_gets_an_error_and_it_restarts() {
        let port = supervise(&Arbiter::current(), CONFIG, || Counter(0));
        assert_eq!(eventually_counts(&port).await, 1);
        assert_eq!(port.ask(CounterCommand::Count).await, Ok(2));

        assert_eq!(port.ask(CounterCommand::Panic).await, Err(AskError::Crashed));

        assert_eq!(eventually_counts(&port).await, 1);
        assert_eq!(port.health().report().restarts, 1);
    }

    #[actix::test]
    async fn panic_in_an_answer_fails_one_caller_only() {
        let port = supervise(&Arbiter::current(), CONFIG, || Counter(0));
        assert_eq!(eventually_counts(&port).await, 1);

        assert_eq!(port.ask(CounterCommand::PanicLater).await, Err(AskError::Crashed));

        assert_eq!(port.ask(CounterCommand::Count).await, Ok(2));
        assert_eq!(port.health().report().restarts, 0);
    }

    #[actix::test]
    async fn crashed_actor_restarts_with_a_fresh_state() {
        let port = supervise(&Arbiter::current(), CONFIG, || Counter(0));
        eventually_counts(&port).await;
        assert_eq!(port.ask(CounterCommand::Count).await, Ok(2));

        port.crash();
        while port.health().report().restarts == 0 {
            tokio::task::yield_now().await;
        }

        assert_eq!(eventually_counts(&port).await, 1);
    }

    #[actix::test]
    async fn stopped_actor_is_restarted() {
        let port = supervise(&Arbiter::current(), CONFIG, || Counter(0));
        eventually_counts(&port).await;
        let _ = port.ask(CounterCommand::Stop).await;

        assert_eq!(eventually_counts(&port).await, 1);
    }

    #[actix::test]
    async fn panicking_factory_is_called_again() {
        let attempts = Arc::new(AtomicU32::new(0));
        let made = attempts.clone();
        let port = supervise(&Arbiter::current(), CONFIG, move || {
            assert!(made.fetch_add(1, Ordering::SeqCst) >= 3, "as the test asked");
            Counter(0)
        });

        assert_eq!(eventually_counts(&port).await, 1);
        assert_eq!(attempts.load(Ordering::SeqCst), 4);
    }

    #[actix::test]
    async fn drained_port_refuses_questions_and_work() {
        let port = supervise(&Arbiter::current(), CONFIG, || Counter(0));
        eventually_counts(&port).await;

        port.drain().await;

        assert_eq!(port.ask(CounterCommand::Count).await, Err(AskError::Busy));
        assert_eq!(port.run_to_end(async || ()).await, Err(AskError::Busy));
    }

    #[actix::test]
    async fn slow_work_is_awaited_beyond_the_timeout() {
        let config = SupervisorConfig { timeout: Duration::from_millis(1), ..CONFIG };
        let port = supervise(&Arbiter::current(), config, || Counter(0));

        let ended = port.run_to_end(async move || sleep(config.timeout * 20).await).await;

        assert_eq!(ended, Ok(()));
    }

    #[actix::test]
    async fn late_work_continues_without_its_permit() {
        let config = SupervisorConfig { permits: 1, timeout: Duration::from_millis(1), ..CONFIG };
        let port = supervise(&Arbiter::current(), config, || Counter(0));
        let (release, released) = oneshot::channel::<()>();
        let (end, ended) = oneshot::channel::<()>();

        let late = port
            .run_within_timeout(async move || {
                released.await.unwrap();
                end.send(()).unwrap();
            })
            .await;
        // Takes all permits.
        port.drain().await;
        release.send(()).unwrap();

        assert_eq!(late, Err(AskError::Timeout));
        ended.await.unwrap();
    }

    #[actix::test]
    async fn drain_waits_for_work_whose_caller_is_gone() {
        let port = supervise(&Arbiter::current(), CONFIG, || Counter(0));
        let (begin, begun) = oneshot::channel::<()>();
        let has_ended = Arc::new(AtomicBool::new(false));
        let ended = has_ended.clone();
        let work = async move || {
            begin.send(()).unwrap();
            tokio::task::yield_now().await;
            ended.store(true, Ordering::SeqCst);
        };
        let caller = actix::spawn({
            let port = port.clone();
            async move { port.run_to_end(work).await }
        });
        begun.await.unwrap();
        caller.abort();

        port.drain().await;

        assert!(has_ended.load(Ordering::SeqCst));
    }

    #[actix::test]
    async fn panic_in_work_fails_its_caller_alone() {
        let port = supervise(&Arbiter::current(), CONFIG, || Counter(0));
        assert_eq!(eventually_counts(&port).await, 1);

        let failed = port.run_to_end(async || -> u32 { panic!("as the test asked") }).await;

        assert_eq!(failed, Err(AskError::Crashed));
        assert_eq!(port.ask(CounterCommand::Count).await, Ok(2));
        assert_eq!(port.health().report().restarts, 0);
    }

    #[actix::test]
    async fn crash_of_the_actor_does_not_end_work() {
        let port = supervise(&Arbiter::current(), CONFIG, || Counter(0));
        eventually_counts(&port).await;
        let (crashing, health) = (port.clone(), port.health().clone());

        let ended = port
            .run_to_end(async move || {
                crashing.crash();
                while health.report().restarts == 0 {
                    tokio::task::yield_now().await;
                }
            })
            .await;

        assert_eq!(ended, Ok(()));
    }

    #[actix::test]
    async fn work_beyond_the_permits_is_refused() {
        let port = supervise(&Arbiter::current(), SupervisorConfig { permits: 1, ..CONFIG }, || Counter(0));
        let asking = port.clone();

        let inner = port.run_to_end(async move || asking.run_to_end(async || ()).await).await;

        assert_eq!(inner, Ok(Err(AskError::Busy)));
        assert_eq!(port.health().report().refused, 1);
    }

    #[actix::test]
    async fn work_takes_no_permit_of_questions() {
        let port = supervise(&Arbiter::current(), SupervisorConfig { permits: 1, ..CONFIG }, || Counter(0));
        assert_eq!(eventually_counts(&port).await, 1);
        let asking = port.clone();

        let answer = port.run_to_end(async move || asking.ask(CounterCommand::Count).await).await;

        assert_eq!(answer, Ok(Ok(2)));
    }

    #[actix::test]
    async fn work_on_a_stopped_arbiter_is_no_refusal() {
        let arbiter = Arbiter::new();
        let port = supervise(&arbiter.handle(), CONFIG, || Counter(0));
        arbiter.stop();
        arbiter.join().unwrap();

        assert_eq!(port.run_to_end(async || ()).await, Err(AskError::Crashed));
        assert_eq!(port.health().report().refused, 0);
    }
}
