//! Manners towards a host: of what nobody waits for, one fetch at a time, and none while it asks to be left alone. Each
//! process keeps them for itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::address::PageUrl;

/// Searches of a site, for a feed say, that go on at the same time: each asks many addresses while somebody waits.
const SEARCHES: usize = 8;
/// Whatever a host says, it is asked again after this.
const LONGEST: Duration = Duration::from_secs(3600);

/// The hosts that are being asked, or asked to be left alone. Clones share them.
#[derive(Clone, Debug)]
pub struct Hosts {
    known: Arc<Mutex<HashMap<String, State>>>,
    searches: Arc<Semaphore>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Somebody has the turn.
    Asked,
    /// Nobody is to ask before.
    Resting(Instant),
}

impl Default for Hosts {
    fn default() -> Self {
        Self { known: Arc::default(), searches: Arc::new(Semaphore::new(SEARCHES)) }
    }
}

/// A turn at a host; it ends when this is dropped.
#[derive(Debug)]
pub struct Turn {
    hosts: Hosts,
    host: String,
    rest: Duration,
}

impl Hosts {
    /// A turn at the host of this address; or how long it is to be left alone at least, which is nothing where somebody else
    /// has the turn.
    pub fn enter(&self, url: &PageUrl) -> Result<Turn, Duration> {
        let (host, now) = (format!("{}:{}", url.host(), url.port()), Instant::now());
        let mut known = self.known();
        known.retain(|_, state| !matches!(state, State::Resting(until) if *until <= now));
        match known.get(&host) {
            Some(State::Asked) => Err(Duration::ZERO),
            Some(State::Resting(until)) => Err(until.duration_since(now)),
            None => {
                known.insert(host.clone(), State::Asked);
                Ok(Turn { hosts: self.clone(), host, rest: Duration::ZERO })
            }
        }
    }

    /// A place for a search of a site; none while all are taken.
    pub fn search(&self) -> Option<OwnedSemaphorePermit> {
        self.searches.clone().try_acquire_owned().ok()
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, State>> {
        // Each use leaves the map whole, whatever panics.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// The host asked to be left alone for so long (`Retry-After`): nobody else asks it before.
    pub fn rest(&mut self, wait: Duration) {
        self.rest = wait.min(LONGEST);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let (host, mut known) = (std::mem::take(&mut self.host), self.hosts.known());
        if self.rest.is_zero() {
            known.remove(&host);
        } else {
            known.insert(host, State::Resting(Instant::now() + self.rest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(address: &str) -> PageUrl {
        PageUrl::parse(address).unwrap()
    }

    #[test]
    fn a_host_is_asked_by_one_at_a_time() {
        let hosts = Hosts::default();

        let turn = hosts.enter(&page("https://a.example/1"));
        assert!(turn.is_ok());
        assert_eq!(hosts.enter(&page("https://A.example/2")).err(), Some(Duration::ZERO));
        assert!(hosts.enter(&page("https://b.example/1")).is_ok());

        drop(turn);
        assert!(hosts.enter(&page("https://a.example/2")).is_ok());
    }

    #[test]
    fn a_host_that_asks_for_it_is_left_alone_by_all() {
        let hosts = Hosts::default();

        hosts.enter(&page("https://a.example/1")).unwrap().rest(Duration::from_secs(86_400));
        let wait = hosts.enter(&page("https://a.example/2")).unwrap_err();
        assert!(wait <= LONGEST && wait > LONGEST / 2, "{wait:?}");

        hosts.enter(&page("https://b.example/1")).unwrap().rest(Duration::from_millis(1));
        std::thread::sleep(Duration::from_millis(5));
        assert!(hosts.enter(&page("https://b.example/2")).is_ok());
    }
}
