//! How long a client waits before it tries again.

use std::time::Duration;

use super::error::Error;
use super::spec::RetryRule;

impl Error {
    /// Returns how long a client waits before it retries (`Retry-After`), or `None` if the same request would fail again.
    pub fn retry_after(&self) -> Option<Duration> {
        match self.spec().retry {
            RetryRule::Never => None,
            RetryRule::After(wait) => Some(wait),
            RetryRule::Carried => self.carried_wait(),
        }
    }

    /// Returns the wait that the variant contains.
    fn carried_wait(&self) -> Option<Duration> {
        if let Error::Busy(wait)
        | Error::TooManyFailures(wait)
        | Error::AiPaused(wait)
        | Error::IndexUnreachable(wait)
        | Error::IndexIncomplete(wait) = self
        {
            Some(*wait)
        } else if let Error::RateLimited(exceeded) = self {
            Some(exceeded.retry_after)
        } else if let Error::StorageFailed(failure) = self {
            Some(failure.retry_after())
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_states_the_wait_of_the_header() {
        for (wait, words) in [(0, "1 second"), (1000, "1 second"), (2100, "3 seconds")] {
            let error = Error::Busy(Duration::from_millis(wait));

            assert_eq!(error.to_string(), format!("the server is busy; try again in {words}"));
        }
    }
}
