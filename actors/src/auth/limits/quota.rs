//! The calls that a limit leaves.

use std::time::Duration;

/// The limit with the fewest calls left after a call, as the X-RateLimit headers state it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Calls that the limit allows within its hour or day.
    pub limit: u32,
    /// Calls that are left after this one.
    pub remaining: u32,
    /// How long until all of them are left again.
    pub reset: Duration,
}
