//! Failed authentications by IP address: after 20 within a minute, further failures from that address are answered with 429. Valid
//! credentials are not affected (contract.md, section 3).

use std::net::IpAddr;
use std::sync::Arc;

use errors::Error;
use library::clock::Clock;

use super::ip_rate_limiter::IpRateLimiter;

/// Counts failed authentications by IP address.
pub struct AuthFailures(IpRateLimiter);

impl AuthFailures {
    /// Allows this number of failures from an IP address within a minute.
    pub fn new(max_per_minute: u32, clock: Arc<dyn Clock>) -> Self {
        Self(IpRateLimiter::per_minute(max_per_minute, clock))
    }

    /// Counts a failure, and returns the error that answers it: [`Error::KeyInvalid`], or [`Error::TooManyFailures`] beyond the limit.
    pub fn record(&self, ip_address: Option<IpAddr>) -> Error {
        match self.0.admit(ip_address) {
            Ok(()) => Error::KeyInvalid,
            Err(wait) => Error::TooManyFailures(wait),
        }
    }
}

#[cfg(test)]
mod tests {
    use library::clock::TestClock;
    use values::time::Timestamp;

    use super::*;

    #[test]
    fn twenty_first_failure_of_an_address_must_wait() {
        let failures = AuthFailures::new(20, Arc::new(TestClock::at(Timestamp::from_millis(0))));
        let (here, elsewhere) = ("127.0.0.3".parse().ok(), "127.0.0.4".parse().ok());

        for _ in 0..20 {
            assert!(matches!(failures.record(here), Error::KeyInvalid));
        }

        assert!(matches!(failures.record(here), Error::TooManyFailures(wait) if wait.as_secs() < 60));
        assert!(matches!(failures.record(elsewhere), Error::KeyInvalid));
    }
}
