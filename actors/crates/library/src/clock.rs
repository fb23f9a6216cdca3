//! The clock: the only place that asks the machine for the time.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use entity::time::Timestamp;

/// What time it is.
pub trait Clock: Send + Sync + 'static {
    /// Now, in UTC.
    fn now(&self) -> Timestamp;

    /// Time that never goes backwards, from a start of its own: for hours of keys and ages of caches.
    fn elapsed(&self) -> Duration;
}

/// The machine's clock.
pub struct SystemClock {
    start: std::time::Instant,
}

impl SystemClock {
    /// Begins now.
    #[expect(clippy::new_without_default, reason = "reading the clock is not a default")]
    pub fn new() -> Self {
        Self { start: std::time::Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

/// A clock that stands until a test moves it.
pub struct TestClock {
    now: AtomicI64,
    elapsed: AtomicU64,
}

impl TestClock {
    /// Stands at this moment.
    pub fn at(moment: Timestamp) -> Self {
        Self { now: AtomicI64::new(moment.millis()), elapsed: AtomicU64::new(0) }
    }

    /// Moves on.
    pub fn advance(&self, by: Duration) {
        self.now.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::SeqCst);
        self.elapsed.fetch_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX), Ordering::SeqCst);
    }

    /// Jumps back, as a machine's clock may; what has elapsed stays.
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
