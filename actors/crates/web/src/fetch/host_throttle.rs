//! Politeness towards hosts: background fetches of one host run one after the other, and none runs while the host asks to be
//! left alone (`Retry-After`). Each process throttles for itself.
//!
//! A host has one permit, and callers do not queue for it: a refused one, whose job is in the queue of jobs, learns when to try
//! again.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::error::FetchError;
use crate::page_url::PageUrl;

/// A longer `Retry-After` is reduced to this, because it may be meant for one URL of the host only.
const MAX_BACKOFF: Duration = Duration::from_secs(3600);
/// Interval between the retry times that are given to refused callers.
const RETRY_SPACING: Duration = Duration::from_secs(1);

/// Which hosts are being fetched, and which ones ask to be left alone. `K` is the id of an account. Clones share the state.
#[derive(Clone, Debug)]
pub struct HostThrottle<K> {
    hosts: Arc<Mutex<HashMap<String, HostState<K>>>>,
}

#[derive(Clone, Debug)]
struct HostState<K> {
    /// Whether a caller holds the permit of the host.
    is_taken: bool,
    /// No permit is given before this time, which a `Retry-After` sets.
    backoff_until: Instant,
    /// The latest retry of each account: a long list of one account does not delay the pages of another.
    last_retries: HashMap<Option<K>, Instant>,
}

impl<K> HostState<K> {
    fn new(backoff_until: Instant) -> Self {
        Self { is_taken: false, backoff_until, last_retries: HashMap::new() }
    }
}

impl<K> Default for HostThrottle<K> {
    fn default() -> Self {
        Self { hosts: Arc::default() }
    }
}

/// The permit to fetch from a host. It is released when it is dropped.
#[derive(Debug)]
pub struct HostPermit<K> {
    throttle: HostThrottle<K>,
    site: String,
}

impl<K: Copy + Eq + Hash> HostThrottle<K> {
    /// Acquires the permit for the host of this URL without waiting, on behalf of an account, or of none for what serves many.
    ///
    /// # Errors
    /// The wait before the next attempt, as a [`Duration`], if the permit is taken or the host has asked for a delay. Each caller of
    /// an account gets another time.
    pub fn try_acquire(&self, url: &PageUrl, account: Option<K>) -> Result<HostPermit<K>, Duration> {
        let (site, now) = (site_key(url), Instant::now());
        let mut hosts = self.hosts();
        // Hosts that are neither fetched nor waited for are removed here, so the map does not grow with every host ever fetched.
        hosts.retain(|_, host| {
            host.last_retries.retain(|_, retry| *retry > now);
            host.is_taken || host.backoff_until > now || !host.last_retries.is_empty()
        });
        let host = hosts.entry(site.clone()).or_insert_with(|| HostState::new(now));
        if host.is_taken || host.backoff_until > now {
            let retry = host.last_retries.entry(account).or_insert(now);
            // Each refusal of an account gets the next second, so that its jobs do not all come back at the same
            // time.
            *retry = (*retry).max(host.backoff_until).max(now) + RETRY_SPACING;
            return Err(retry.duration_since(now));
        }
        host.is_taken = true;
        Ok(HostPermit { throttle: self.clone(), site })
    }

    /// Records the `Retry-After` of a failed fetch, if it has one: no permit for the host is given before that time.
    pub fn record_retry_after(&self, error: &FetchError) {
        let (FetchError::Status { host, .. }, Some(wait)) = (error, error.retry_after()) else { return };
        let until = Instant::now() + wait.min(MAX_BACKOFF);
        let mut hosts = self.hosts();
        let host = hosts.entry(host.clone()).or_insert_with(|| HostState::new(until));
        host.backoff_until = host.backoff_until.max(until);
    }

    /// Returns whether the host of this URL has asked for a delay that is not over.
    pub fn is_backing_off(&self, url: &PageUrl) -> bool {
        self.hosts().get(&site_key(url)).is_some_and(|host| host.backoff_until > Instant::now())
    }
}

impl<K> HostThrottle<K> {
    fn hosts(&self) -> MutexGuard<'_, HashMap<String, HostState<K>>> {
        // Each use leaves the map consistent, even if it panics.
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the name under which a site is throttled. It is the same for http and https, and with and without `www.`, because sites
/// redirect from the one to the other.
pub fn site_key(url: &PageUrl) -> String {
    let host = url.host();
    let host = host.strip_prefix("www.").unwrap_or(host);
    match url.port() {
        80 | 443 => host.to_owned(),
        port => format!("{host}:{port}"),
    }
}

impl<K> Drop for HostPermit<K> {
    fn drop(&mut self) {
        if let Some(host) = self.throttle.hosts().get_mut(&self.site) {
            host.is_taken = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(url: &str) -> PageUrl {
        PageUrl::parse(url).unwrap()
    }

    #[test]
    fn host_has_one_permit_at_a_time() {
        let throttle = HostThrottle::<u8>::default();

        let permit = throttle.try_acquire(&page("https://a.example/1"), None);
        assert!(permit.is_ok());
        let waits = [2, 3].map(|_| throttle.try_acquire(&page("https://A.example/2"), None).unwrap_err());
        assert!(waits[0] <= RETRY_SPACING && waits[1] > RETRY_SPACING, "{waits:?}");
        let other = Some(1);
        assert!(throttle.try_acquire(&page("https://a.example/4"), other).unwrap_err() <= RETRY_SPACING);
        assert!(throttle.try_acquire(&page("https://b.example/1"), None).is_ok());

        drop(permit);
        assert!(throttle.try_acquire(&page("https://a.example/2"), None).is_ok());
    }

    #[test]
    fn retry_after_holds_for_all_callers() {
        let throttle = HostThrottle::<u8>::default();

        let record = |host: &str, wait| {
            let retry_after = Some(wait);
            throttle.record_retry_after(&FetchError::Status {
                status: 429,
                retry_after,
                host: site_key(&page(&format!("https://{host}/"))),
            });
        };
        record("a.example", Duration::from_secs(86_400));
        let wait = throttle.try_acquire(&page("https://a.example/2"), None).unwrap_err();
        assert!(wait <= MAX_BACKOFF + RETRY_SPACING && wait > MAX_BACKOFF / 2, "{wait:?}");
        for same in ["http://a.example/3", "https://www.a.example/4"] {
            assert!(throttle.try_acquire(&page(same), None).is_err(), "{same}");
        }
        assert!(throttle.try_acquire(&page("https://a.example:8443/"), None).is_ok());

        record("b.example", Duration::from_millis(1));
        std::thread::sleep(Duration::from_millis(5));
        assert!(throttle.try_acquire(&page("https://b.example/2"), None).is_ok());
    }
}
