//! Failed authentications by address: 20 within a minute, then 429 for that address and only for failing requests
//! (contract.md, section 3).

use std::net::IpAddr;
use std::sync::Arc;

use super::addresses::Addresses;
use library::clock::Clock;
use errors::Error;

/// Counts failures by address.
pub struct Failures(Addresses);

impl Failures {
    /// Lets so many fail within a minute.
    pub fn new(a_minute: u32, clock: Arc<dyn Clock>) -> Self {
        Self(Addresses::a_minute(a_minute, clock))
    }

    /// Notes a failure of this address; the error that it is answered with.
    pub fn failed(&self, address: Option<IpAddr>) -> Error {
        match self.0.take(address) {
            Ok(()) => Error::KeyInvalid,
            Err(wait) => Error::TooManyFailures(wait),
        }
    }
}

#[cfg(test)]
mod tests {
    use entity::time::Timestamp;

    use super::*;
    use library::clock::TestClock;

    #[test]
    fn the_twenty_first_failure_of_an_address_is_told_to_wait_and_another_address_is_not() {
        let failures = Failures::new(20, Arc::new(TestClock::at(Timestamp::from_millis(0))));
        let (here, there) = ("127.0.0.3".parse().ok(), "127.0.0.4".parse().ok());

        for _ in 0..20 {
            assert!(matches!(failures.failed(here), Error::KeyInvalid));
        }

        assert!(matches!(failures.failed(here), Error::TooManyFailures(wait) if wait.as_secs() < 60));
        assert!(matches!(failures.failed(there), Error::KeyInvalid));
    }
}
