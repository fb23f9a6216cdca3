//! The limit on requests that a caller has reached.

use std::fmt;
use std::time::Duration;

/// The limit on requests that was reached, and how long the client waits (spec.md: Limits, rule 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitExceeded {
    /// Requests that the limit allows.
    pub limit: u32,
    /// What the limit counts: the requests of an hour or of a day.
    pub window: RateWindow,
    /// Time until one more request is allowed.
    pub retry_after: Duration,
    /// Time until the full limit is available again.
    pub reset: Duration,
}

/// The window in which a limit counts requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateWindow {
    /// The requests of one key or grant in an hour.
    Hour,
    /// The requests of an account on a UTC day.
    Day,
}

impl fmt::Display for RateWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hour => "requests per hour",
            Self::Day => "requests per day",
        })
    }
}
