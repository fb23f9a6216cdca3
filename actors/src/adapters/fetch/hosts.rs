//! Manners towards a host: of what nobody waits for, one fetch at a time. Each process keeps them for itself.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::address::PageUrl;

/// Searches of a site, for a feed say, that go on at the same time: each asks many addresses while somebody waits.
const SEARCHES: usize = 8;

/// The hosts that are being asked. Clones share them.
#[derive(Clone, Debug)]
pub struct Hosts {
    asked: Arc<Mutex<HashSet<String>>>,
    searches: Arc<Semaphore>,
}

impl Default for Hosts {
    fn default() -> Self {
        Self { asked: Arc::default(), searches: Arc::new(Semaphore::new(SEARCHES)) }
    }
}

/// A turn at a host; it ends when this is dropped.
#[derive(Debug)]
pub struct Turn {
    hosts: Hosts,
    host: String,
}

impl Hosts {
    /// A turn at the host of this address; none while somebody else has it.
    pub fn enter(&self, url: &PageUrl) -> Option<Turn> {
        let host = format!("{}:{}", url.host(), url.port());
        self.asked().insert(host.clone()).then(|| Turn { hosts: self.clone(), host })
    }

    /// A place for a search of a site; none while all are taken.
    pub fn search(&self) -> Option<OwnedSemaphorePermit> {
        self.searches.clone().try_acquire_owned().ok()
    }

    fn asked(&self) -> MutexGuard<'_, HashSet<String>> {
        // Each use leaves the set whole, whatever panics.
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.hosts.asked().remove(&self.host);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_asked_by_one_at_a_time() {
        let hosts = Hosts::default();
        let page = |address| PageUrl::parse(address).unwrap();

        let turn = hosts.enter(&page("https://a.example/1"));
        assert!(turn.is_some());
        assert!(hosts.enter(&page("https://A.example/2")).is_none());
        assert!(hosts.enter(&page("https://b.example/1")).is_some());

        drop(turn);
        assert!(hosts.enter(&page("https://a.example/2")).is_some());
    }
}
