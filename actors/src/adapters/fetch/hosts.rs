//! Manners towards a host: of what nobody waits for, one fetch at a time. Each process keeps them for itself.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::address::PageUrl;

/// The hosts that are being asked. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Hosts(Arc<Mutex<HashSet<String>>>);

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

    fn asked(&self) -> MutexGuard<'_, HashSet<String>> {
        // Each use leaves the set whole, whatever panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
