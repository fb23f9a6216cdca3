//! Why an attempt of a job failed.

use std::time::Duration;

use errors::Error;

/// Why an attempt of a job failed. It decides whether and when another attempt follows.
///
/// Reasons are sentences for the user. They are stored with the job and its subject.
#[derive(Debug)]
pub enum JobError {
    /// Another attempt may succeed.
    Transient {
        /// Why the attempt failed, as a sentence for the user.
        reason: String,
        /// The minimum delay that the other side asked for.
        after: Option<Duration>,
    },
    /// A page or a recording was not fetched. Another attempt may succeed, as after [`JobError::Transient`].
    FailedFetch {
        /// Why the fetch failed, as a sentence for the user.
        reason: String,
        /// What the user can do after the last attempt. It follows the reason after a semicolon.
        last_advice: &'static str,
        /// The minimum delay that the other side asked for.
        after: Option<Duration>,
    },
    /// A parser crashed, hung or ran out of memory: another attempt may succeed when the machine is less busy, but there are few.
    ParserCrash(String),
    /// No other attempt would succeed, for this reason: the job is given up.
    Permanent(String),
    /// Something that the job needs is not available. The attempt does not count.
    Blocked {
        /// What the job waits for, as a sentence for the user.
        reason: &'static str,
        /// The delay until the next attempt.
        after: Duration,
    },
    /// Other requests to the same host come first, or the host asked to be left alone. The attempt does not count, and the job
    /// waits for this long.
    HostBusy(Duration),
    /// Another worker has claimed the job since, so the attempt ends and changes nothing.
    LeaseLost,
    /// A failure inside the server: another attempt follows, and the cause goes to the log.
    Internal(Error),
}

impl<E: Into<Error>> From<E> for JobError {
    fn from(error: E) -> Self {
        JobError::Internal(error.into())
    }
}
