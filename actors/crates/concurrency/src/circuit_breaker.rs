//! A circuit breaker: a service that fails is not called for a while, so that callers need not wait for the deadline each time.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// When a circuit opens, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct CircuitRules {
    /// Failures in a row that open the circuit, from 1.
    pub failures_to_open: u32,
    /// Timeouts in a row that open the circuit, from 1. Each has cost its caller the whole deadline, so fewer of them are enough.
    pub timeouts_to_open: u32,
    /// Minimum duration of a failure that counts. A call that fails sooner costs its caller little, and closes the circuit as a success
    /// does. Zero if every failure counts.
    pub min_failure_time: Duration,
    /// Time for which a circuit that has just opened admits no call. Doubles with every trial that fails.
    pub open_period: Duration,
    /// Upper bound of the doubled `open_period`.
    pub max_open_period: Duration,
    /// Time within which every call ends. If a trial does not report its end within it, the next call is a trial.
    pub trial_time: Duration,
}

impl CircuitRules {
    /// Returns whether these numbers of failures and of timeouts in a row open the circuit.
    fn open_after(&self, failures: u32, timeouts: u32) -> bool {
        failures >= self.failures_to_open || timeouts >= self.timeouts_to_open
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// The service works.
    Answered,
    /// The service failed before the deadline of the call.
    Failed,
    /// There was no answer within the whole deadline of the call.
    TimedOut,
}

impl CallOutcome {
    /// Returns the outcome of a call that did not time out.
    #[must_use]
    pub fn of_answer(is_answered: bool) -> Self {
        if is_answered { CallOutcome::Answered } else { CallOutcome::Failed }
    }
}

#[derive(Clone, Copy, Debug)]
enum CircuitState {
    /// Calls are made. The number of failures in a row, and how many of the last ones in a row were timeouts.
    Closed { failures: u32, timeouts: u32 },
    /// No call is made before `until`. `period` is how long it is open.
    Open { until: Instant, period: Duration },
    /// One call tries the service. It has ended by `until`. `period` is how long the circuit was open before.
    HalfOpen { until: Instant, period: Duration },
}

impl CircuitState {
    /// The state after an answer.
    const CLOSED: Self = CircuitState::Closed { failures: 0, timeouts: 0 };
}

/// Determines whether a service may be called, from how earlier calls ended.
#[derive(Debug)]
pub struct CircuitBreaker {
    rules: CircuitRules,
    state: Mutex<CircuitState>,
}

impl CircuitBreaker {
    /// Creates a circuit breaker that is closed.
    #[must_use]
    pub fn new(rules: CircuitRules) -> Self {
        Self { rules, state: Mutex::new(CircuitState::CLOSED) }
    }

    /// Returns whether a call may be made now. After the open period one call at a time may. The caller passes its end to
    /// [`Self::record`].
    pub fn admits(&self, now: Instant) -> bool {
        let mut state = self.state();
        match *state {
            CircuitState::Closed { .. } => true,
            CircuitState::Open { until, .. } | CircuitState::HalfOpen { until, .. } if now < until => false,
            CircuitState::Open { period, .. } | CircuitState::HalfOpen { period, .. } => {
                // A cancelled call never calls `record`. Its deadline ends the trial, so that the circuit does not stay half-open.
                *state = CircuitState::HalfOpen { until: now + self.rules.trial_time, period };
                true
            }
        }
    }

    /// Records the end of a call that was made at the time `called`. Returns whether it opened the circuit, which was closed.
    pub fn record(&self, outcome: CallOutcome, called: Instant, now: Instant) -> bool {
        let mut state = self.state();
        let CircuitRules { min_failure_time, open_period, max_open_period, .. } = self.rules;
        // A fast failure closes the circuit too: it costs its caller little, so there is nothing to protect callers from.
        if outcome == CallOutcome::Answered || now - called < min_failure_time {
            *state = CircuitState::CLOSED;
            return false;
        }
        let open = |period| CircuitState::Open { until: now + period, period };
        let was_closed = matches!(*state, CircuitState::Closed { .. });
        *state = match *state {
            CircuitState::Closed { failures, timeouts } => {
                let failures = failures + 1;
                let timeouts = if outcome == CallOutcome::TimedOut { timeouts + 1 } else { 0 };
                if self.rules.open_after(failures, timeouts) {
                    open(open_period)
                } else {
                    CircuitState::Closed { failures, timeouts }
                }
            }
            // A call that began before the circuit opened.
            CircuitState::Open { period, .. } => open(period),
            CircuitState::HalfOpen { period, .. } => open((period * 2).min(max_open_period)),
        };
        was_closed && matches!(*state, CircuitState::Open { .. })
    }

    /// Returns how long no call is admitted. Zero if one is admitted now.
    pub fn wait(&self, now: Instant) -> Duration {
        match *self.state() {
            CircuitState::Closed { .. } => Duration::ZERO,
            CircuitState::Open { until, .. } | CircuitState::HalfOpen { until, .. } => {
                until.saturating_duration_since(now)
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, CircuitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLINE: Duration = Duration::from_secs(45);
    const SLOW_FAILURE: Duration = Duration::from_secs(5);
    const OPEN_PERIOD: Duration = Duration::from_secs(30);
    const RULES: CircuitRules = CircuitRules {
        failures_to_open: 3,
        timeouts_to_open: 2,
        min_failure_time: SLOW_FAILURE,
        open_period: OPEN_PERIOD,
        max_open_period: OPEN_PERIOD,
        trial_time: DEADLINE,
    };

    /// A breaker that was opened at the time that is returned with it.
    fn opened(rules: CircuitRules) -> (CircuitBreaker, Instant) {
        let (breaker, start) = (CircuitBreaker::new(rules), Instant::now());
        for failures in 1..=rules.failures_to_open {
            assert!(breaker.admits(start), "before failure {failures}");
            let opens = breaker.record(CallOutcome::Failed, start, start + SLOW_FAILURE);
            assert_eq!(opens, failures == rules.failures_to_open);
        }
        (breaker, start + SLOW_FAILURE)
    }

    #[test]
    fn slow_failures_in_a_row_open_it_for_a_while() {
        let (breaker, now) = opened(RULES);

        assert!(!breaker.admits(now) && !breaker.admits(now + OPEN_PERIOD - SLOW_FAILURE));
        assert_eq!(breaker.wait(now), OPEN_PERIOD);
        assert_eq!(breaker.wait(now + OPEN_PERIOD), Duration::ZERO);
        assert!(breaker.admits(now + OPEN_PERIOD));
    }

    #[test]
    fn one_call_at_a_time_tries_the_service_again() {
        let (breaker, now) = opened(RULES);
        let again = now + OPEN_PERIOD;

        assert!(breaker.admits(again) && !breaker.admits(again));
        assert!(!breaker.record(CallOutcome::Failed, again, again + SLOW_FAILURE), "it was open already");
        assert!(!breaker.admits(again + SLOW_FAILURE));
        let later = again + SLOW_FAILURE + OPEN_PERIOD;
        assert!(breaker.admits(later));
        breaker.record(CallOutcome::Answered, later, later + SLOW_FAILURE);
        assert!(breaker.admits(later) && breaker.admits(later));
    }

    #[test]
    fn cancelled_attempt_does_not_keep_it_open() {
        let (breaker, now) = opened(RULES);
        let again = now + OPEN_PERIOD;
        assert!(breaker.admits(again));

        assert!(!breaker.admits(again + DEADLINE - SLOW_FAILURE));
        assert!(breaker.admits(again + DEADLINE));
    }

    #[test]
    fn answers_and_fast_failures_keep_it_closed() {
        let (breaker, start) = (CircuitBreaker::new(RULES), Instant::now());

        for is_answered in [false, false, true, false, false] {
            breaker.record(CallOutcome::of_answer(is_answered), start, start + SLOW_FAILURE);
        }
        for _ in 0..RULES.failures_to_open {
            breaker.record(CallOutcome::Failed, start, start + SLOW_FAILURE - Duration::from_millis(1));
        }

        assert!(breaker.admits(start + SLOW_FAILURE));
    }

    #[test]
    fn every_trial_that_fails_doubles_the_open_period() {
        let rules = CircuitRules { max_open_period: OPEN_PERIOD * 3, ..RULES };
        let (breaker, mut now) = opened(rules);

        for period in [1, 2, 3, 3].map(|times| OPEN_PERIOD * times) {
            assert!(!breaker.admits(now + period - SLOW_FAILURE), "{period:?}");
            let trial = now + period;
            assert!(breaker.admits(trial), "{period:?}");
            now = trial + SLOW_FAILURE;
            breaker.record(CallOutcome::Failed, trial, now);
        }
    }

    #[test]
    fn every_failure_counts_without_a_minimum_duration() {
        let rules = CircuitRules { min_failure_time: Duration::ZERO, ..RULES };
        let (breaker, start) = (CircuitBreaker::new(rules), Instant::now());

        let opens = [1, 2, 3].map(|_| breaker.record(CallOutcome::Failed, start, start));

        assert_eq!(opens, [false, false, true]);
        assert!(!breaker.admits(start));
    }

    #[test]
    fn timeouts_in_a_row_open_it_before_other_failures() {
        use CallOutcome::{Answered, Failed, TimedOut};
        for (outcomes, opens) in [
            (&[TimedOut, TimedOut][..], true),
            (&[Failed, TimedOut, TimedOut], true),
            (&[TimedOut, Failed, TimedOut], true),
            (&[TimedOut], false),
            (&[Failed, Failed], false),
            (&[TimedOut, Failed], false),
            (&[TimedOut, Answered, TimedOut], false),
        ] {
            let (breaker, start) = (CircuitBreaker::new(RULES), Instant::now());

            let opened = outcomes.iter().map(|outcome| breaker.record(*outcome, start, start + DEADLINE));

            assert_eq!(opened.collect::<Vec<_>>().last(), Some(&opens), "{outcomes:?}");
            assert_eq!(breaker.admits(start + DEADLINE), !opens, "{outcomes:?}");
        }
    }
}
