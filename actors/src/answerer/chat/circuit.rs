//! A circuit breaker: an endpoint that times out is not asked for a while, so that callers need not wait for the deadline
//! each time.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Slow failures in a row that open the circuit.
const FAILURES_TO_OPEN: u32 = 3;
/// Minimum duration of a slow failure. A question that fails sooner costs its caller little and does not count.
const SLOW_FAILURE: Duration = Duration::from_secs(5);
/// Time for which an open circuit admits no question.
const OPEN_PERIOD: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug)]
enum State {
    /// Questions are asked. The number of slow failures in a row.
    Closed(u32),
    /// No question is asked before this time.
    Open(Instant),
    /// One question tries the endpoint. It has ended by this time.
    HalfOpen(Instant),
}

/// Determines whether an endpoint may be asked, from how earlier questions ended.
#[derive(Debug)]
pub(super) struct CircuitBreaker {
    /// Time within which a question ends.
    question_deadline: Duration,
    state: Mutex<State>,
}

impl CircuitBreaker {
    /// Creates a circuit breaker that is closed, for questions that end within `question_deadline`.
    pub(super) fn new(question_deadline: Duration) -> Self {
        Self { question_deadline, state: Mutex::new(State::Closed(0)) }
    }

    /// Returns whether a question may be asked now. After the open period one question at a time may.
    pub(super) fn admits(&self, now: Instant) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match *state {
            State::Closed(_) => true,
            State::Open(until) | State::HalfOpen(until) if now < until => false,
            State::Open(_) | State::HalfOpen(_) => {
                // A cancelled question never calls `record`. Its deadline ends the trial, so that the circuit does
                // not stay half-open.
                *state = State::HalfOpen(now + self.question_deadline);
                true
            }
        }
    }

    /// Records the end of a question that was asked at the time `asked`.
    pub(super) fn record(&self, is_answered: bool, asked: Instant, now: Instant) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = match *state {
            // A fast failure closes the circuit too: it costs its caller little, so there is nothing to protect
            // callers from.
            _ if is_answered || now - asked < SLOW_FAILURE => State::Closed(0),
            State::Closed(failures) if failures + 1 < FAILURES_TO_OPEN => State::Closed(failures + 1),
            State::Closed(_) | State::Open(_) | State::HalfOpen(_) => State::Open(now + OPEN_PERIOD),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLINE: Duration = Duration::from_secs(45);

    /// A breaker that was opened at the time that is returned with it.
    fn opened() -> (CircuitBreaker, Instant) {
        let (breaker, start) = (CircuitBreaker::new(DEADLINE), Instant::now());
        for failures in 0..FAILURES_TO_OPEN {
            assert!(breaker.admits(start), "after {failures}");
            breaker.record(false, start, start + SLOW_FAILURE);
        }
        (breaker, start + SLOW_FAILURE)
    }

    #[test]
    fn slow_failures_in_a_row_open_it_for_a_while() {
        let (breaker, now) = opened();

        assert!(!breaker.admits(now) && !breaker.admits(now + OPEN_PERIOD - SLOW_FAILURE));
        assert!(breaker.admits(now + OPEN_PERIOD));
    }

    #[test]
    fn one_question_at_a_time_tries_the_endpoint_again() {
        let (breaker, now) = opened();
        let again = now + OPEN_PERIOD;

        assert!(breaker.admits(again) && !breaker.admits(again));
        breaker.record(false, again, again + SLOW_FAILURE);
        assert!(!breaker.admits(again + SLOW_FAILURE));
        let later = again + SLOW_FAILURE + OPEN_PERIOD;
        assert!(breaker.admits(later));
        breaker.record(true, later, later + SLOW_FAILURE);
        assert!(breaker.admits(later) && breaker.admits(later));
    }

    #[test]
    fn cancelled_attempt_does_not_keep_it_open() {
        let (breaker, now) = opened();
        let again = now + OPEN_PERIOD;
        assert!(breaker.admits(again));

        assert!(!breaker.admits(again + DEADLINE - SLOW_FAILURE));
        assert!(breaker.admits(again + DEADLINE));
    }

    #[test]
    fn answers_and_fast_failures_keep_it_closed() {
        let (breaker, start) = (CircuitBreaker::new(DEADLINE), Instant::now());

        for (is_answered, took) in [
            (false, SLOW_FAILURE),
            (false, SLOW_FAILURE),
            (true, SLOW_FAILURE),
            (false, SLOW_FAILURE),
            (false, SLOW_FAILURE),
        ] {
            breaker.record(is_answered, start, start + took);
        }
        for _ in 0..FAILURES_TO_OPEN {
            breaker.record(false, start, start + SLOW_FAILURE - Duration::from_millis(1));
        }

        assert!(breaker.admits(start + SLOW_FAILURE));
    }
}
