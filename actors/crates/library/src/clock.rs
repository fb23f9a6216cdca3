//! The clock: the only place that reads the machine's time. Tests of other crates use [`TestClock`].

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use values::time::Timestamp;

/// A source of time. Row logic takes it from its context, so that a test decides what time it is.
pub trait Clock: Send + Sync + 'static {
    /// Returns the current time in UTC.
    fn now(&self) -> Timestamp;

    /// Returns the time since an arbitrary start. It never goes backwards; hourly limits and ages of caches use it.
    fn elapsed(&self) -> Duration;
}

/// The machine's clock: wall-clock time for rows, monotonic time for intervals.
pub struct SystemClock {
    start: std::time::Instant,
}

impl SystemClock {
    /// Returns a clock whose [`Clock::elapsed`] starts now.
    #[expect(clippy::new_without_default, reason = "reading the clock is not a default")]
    pub fn new() -> Self {
        Self { start: std::time::Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A machine whose clock is before 1970 gets the year 1970 rather than a panic.
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

/// A clock that a test moves.
pub struct TestClock {
    now: AtomicI64,
    elapsed: AtomicU64,
}

impl TestClock {
    /// Returns a clock that shows this time until it is moved.
    pub fn at(time: Timestamp) -> Self {
        Self { now: AtomicI64::new(time.millis()), elapsed: AtomicU64::new(0) }
    }

    /// Moves both the time and [`Clock::elapsed`] forward.
    pub fn advance(&self, by: Duration) {
        self.now.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::SeqCst);
        self.elapsed.fetch_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX), Ordering::SeqCst);
    }

    /// Sets the time back, as a machine's clock may be; [`Clock::elapsed`] does not change.
    pub fn set_back(&self, by: Duration) {
        self.now.fetch_sub(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now.load(Ordering::SeqCst))
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.elapsed.load(Ordering::SeqCst))
    }
}
