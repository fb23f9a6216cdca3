//! Manners towards a host: of what nobody waits for, one fetch at a time, and none while it asks to be left alone. Each
//! process keeps them for itself.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::FetchError;
use crate::address::PageUrl;

/// Searches of a site, for a feed say, that go on at the same time: each asks many addresses while somebody waits.
const SEARCHES: usize = 8;
/// Whatever a host says of one address, it is asked for others again after this.
const LONGEST: Duration = Duration::from_secs(3600);
/// Those who wait for a host come one after the other, so far apart.
const APART: Duration = Duration::from_secs(1);

/// The hosts that are being asked, or asked to be left alone. `K` is the id of an account. Clones share them.
#[derive(Clone, Debug)]
pub struct Hosts<K> {
    known: Arc<Mutex<HashMap<String, Host<K>>>>,
    searches: Arc<Semaphore>,
}

#[derive(Clone, Debug)]
struct Host<K> {
    /// Somebody has the turn.
    asked: bool,
    /// Nobody is to ask before.
    rests_until: Instant,
    /// When the last of those who wait comes again, for each person: a long list of one holds up no other's pages.
    last: HashMap<Option<K>, Instant>,
}

impl<K> Host<K> {
    fn resting(rests_until: Instant) -> Self {
        Self { asked: false, rests_until, last: HashMap::new() }
    }
}

impl<K> Default for Hosts<K> {
    fn default() -> Self {
        Self { known: Arc::default(), searches: Arc::new(Semaphore::new(SEARCHES)) }
    }
}

/// A turn at a host; it ends when this is dropped.
#[derive(Debug)]
pub struct Turn<K> {
    hosts: Hosts<K>,
    host: String,
}

impl<K: Copy + Eq + Hash> Hosts<K> {
    /// A turn at the host of this address; or after how long to ask again: what a person waits for is told another time
    /// each. Nobody's are what serves many.
    pub fn enter(&self, url: &PageUrl, user: Option<K>) -> Result<Turn<K>, Duration> {
        let (name, now) = (name(url), Instant::now());
        let mut known = self.known();
        known.retain(|_, host| {
            host.last.retain(|_, last| *last > now);
            host.asked || host.rests_until > now || !host.last.is_empty()
        });
        let host = known.entry(name.clone()).or_insert_with(|| Host::resting(now));
        if host.asked || host.rests_until > now {
            let last = host.last.entry(user).or_insert(now);
            *last = (*last).max(host.rests_until).max(now) + APART;
            return Err(last.duration_since(now));
        }
        host.asked = true;
        Ok(Turn { hosts: self.clone(), host: name })
    }

    /// Nobody else asks a host that answered so before the time that it named (`Retry-After`).
    pub fn heed(&self, answer: &FetchError) {
        let (FetchError::Status { host, .. }, Some(wait)) = (answer, answer.retry_after()) else { return };
        let until = Instant::now() + wait.min(LONGEST);
        let mut known = self.known();
        let host = known.entry(host.clone()).or_insert_with(|| Host::resting(until));
        host.rests_until = host.rests_until.max(until);
    }

    /// Whether the host of this address asked to be left alone for now.
    pub fn rests(&self, url: &PageUrl) -> bool {
        self.known().get(&name(url)).is_some_and(|host| host.rests_until > Instant::now())
    }

    /// A place for a search of a site; none while all are taken.
    pub fn search(&self) -> Option<OwnedSemaphorePermit> {
        self.searches.clone().try_acquire_owned().ok()
    }
}

impl<K> Hosts<K> {
    fn known(&self) -> MutexGuard<'_, HashMap<String, Host<K>>> {
        // Each use leaves the map whole, whatever panics.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// By what a host is known: a site is one whether it is asked by http or https, and with `www.` or without, for it sends from
/// the one to the other.
pub(super) fn name(url: &PageUrl) -> String {
    let host = url.host();
    let host = host.strip_prefix("www.").unwrap_or(host);
    match url.port() {
        80 | 443 => host.to_owned(),
        port => format!("{host}:{port}"),
    }
}

impl<K> Drop for Turn<K> {
    fn drop(&mut self) {
        if let Some(host) = self.hosts.known().get_mut(&self.host) {
            host.asked = false;
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
        let hosts = Hosts::<u8>::default();

        let turn = hosts.enter(&page("https://a.example/1"), None);
        assert!(turn.is_ok());
        let waits = [2, 3].map(|_| hosts.enter(&page("https://A.example/2"), None).unwrap_err());
        assert!(waits[0] <= APART && waits[1] > APART, "{waits:?}");
        let other = Some(1);
        assert!(hosts.enter(&page("https://a.example/4"), other).unwrap_err() <= APART);
        assert!(hosts.enter(&page("https://b.example/1"), None).is_ok());

        drop(turn);
        assert!(hosts.enter(&page("https://a.example/2"), None).is_ok());
    }

    #[test]
    fn a_host_that_asks_for_it_is_left_alone_by_all() {
        let hosts = Hosts::<u8>::default();

        let refused = |host: &str, wait| {
            let retry_after = Some(wait);
            hosts.heed(&FetchError::Status {
                status: 429,
                retry_after,
                host: name(&page(&format!("https://{host}/"))),
            });
        };
        refused("a.example", Duration::from_secs(86_400));
        let wait = hosts.enter(&page("https://a.example/2"), None).unwrap_err();
        assert!(wait <= LONGEST + APART && wait > LONGEST / 2, "{wait:?}");
        for same in ["http://a.example/3", "https://www.a.example/4"] {
            assert!(hosts.enter(&page(same), None).is_err(), "{same}");
        }
        assert!(hosts.enter(&page("https://a.example:8443/"), None).is_ok());

        refused("b.example", Duration::from_millis(1));
        std::thread::sleep(Duration::from_millis(5));
        assert!(hosts.enter(&page("https://b.example/2"), None).is_ok());
    }
}
