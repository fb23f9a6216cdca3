//! Open connections, counted by the network address of their peer, so that one address cannot use all that there may be. Each has
//! one of the slots of its address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;

use actors::auth::limits::network;
use ipnet::IpNet;
use rustix::process::{Resource, getrlimit};

use crate::settings;

/// Files that the server needs besides connections: database, index, scratch files, children.
const RESERVED_FILES: usize = 128;
/// The most connections that one worker serves at the same time.
const MAX_PER_WORKER: usize = 25_600;

/// It takes at least as many addresses to use up all connections.
const MIN_ADDRESSES_TO_FILL: usize = 4;

/// The open connections of the process: those of all workers of the main HTTP server, and those of the small one that answers
/// while Carrel starts and stops.
#[derive(Debug)]
pub struct Connections {
    workers: usize,
    max_per_worker: usize,
    max: usize,
    max_per_address: usize,
    /// Proxies forward the connections of many clients and are not limited.
    trusted: Vec<IpNet>,
    open: Mutex<OpenConnections>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    /// Those of trusted proxies are among them.
    all: usize,
    by_network: HashMap<IpAddr, usize>,
}

/// The permit of one connection, which is counted until this is dropped.
#[derive(Debug)]
pub struct ConnectionPermit {
    connections: Arc<Connections>,
    /// `None` if the connection is not counted for an address.
    network: Option<IpAddr>,
}

impl Connections {
    /// No connections yet. How many there may be depends on the files that the process may open, and on the settings.
    pub fn from_settings(settings: &settings::Server) -> Arc<Self> {
        let workers = available_parallelism().map_or(2, NonZeroUsize::get);
        let max_per_worker = max_per_worker(getrlimit(Resource::Nofile).current, workers);
        let trusted = settings.trusted_proxies.clone();
        Self::of_workers(workers, max_per_worker, settings.max_connections_per_address, trusted)
    }

    /// At most `max` connections at a time. One address that is not a trusted proxy may have `max_per_address` of
    /// them, and at most a quarter.
    #[cfg(test)]
    pub fn new(max: usize, max_per_address: usize, trusted: Vec<IpNet>) -> Arc<Self> {
        Self::of_workers(1, max, max_per_address, trusted)
    }

    fn of_workers(
        workers: usize,
        max_per_worker: usize,
        max_per_address: usize,
        trusted: Vec<IpNet>,
    ) -> Arc<Self> {
        let max = workers * max_per_worker;
        // A quarter even if the setting allows more: at least four addresses are needed to use up all connections.
        let max_per_address = max_per_address.min(max / MIN_ADDRESSES_TO_FILL).max(1);
        let open = Mutex::default();
        Arc::new(Self { workers, max_per_worker, max, max_per_address, trusted, open })
    }

    /// Returns the number of workers of the main server.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Returns the maximum number of connections that one worker serves at the same time.
    pub fn max_per_worker(&self) -> usize {
        self.max_per_worker
    }

    /// Returns whether fewer connections are open than there may be. The main server bounds those of each worker instead.
    pub fn has_room(&self) -> bool {
        self.open().all < self.max
    }

    /// Counts a connection of this peer; `None` if the peer already has the maximum. Unlike in a `concurrency::KeyedSemaphore`,
    /// connections of trusted proxies are counted without a bound.
    pub fn try_acquire(self: &Arc<Self>, peer: Option<IpAddr>) -> Option<ConnectionPermit> {
        // One client must not have two shares, as `a.b.c.d` and as `::ffff:a.b.c.d`.
        let peer = peer.map(|address| address.to_canonical());
        let bounded = peer.filter(|address| !self.trusted.iter().any(|proxies| proxies.contains(address)));
        let network = bounded.map(network);
        let mut open = self.open();
        if let Some(network) = network {
            let count = open.by_network.entry(network).or_default();
            if *count >= self.max_per_address {
                metrics::counter!("carrel_connections_refused_total").increment(1);
                return None;
            }
            *count += 1;
        }
        open.all += 1;
        Some(ConnectionPermit { connections: self.clone(), network })
    }

    fn open(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionPermit {
    /// Returns whether more than half of all connections that there may be are open, or of those that the peer's address may have. If
    /// so, connections without a request are closed.
    pub fn is_crowded(&self) -> bool {
        let open = self.connections.open();
        let of_address = self.network.and_then(|network| open.by_network.get(&network).copied());
        open.all > self.connections.max / 2
            || of_address.is_some_and(|count| count > self.connections.max_per_address / 2)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut open = self.connections.open();
        open.all = open.all.saturating_sub(1);
        let Some(network) = self.network else { return };
        if let Some(count) = open.by_network.get_mut(&network) {
            *count = count.saturating_sub(1);
            // Otherwise every address that ever connected would stay in memory.
            if *count == 0 {
                open.by_network.remove(&network);
            }
        }
    }
}

/// Returns how many connections each worker may hold if the process may open `max_files` files. Further ones wait in the socket's
/// queue instead of taking the files that the database needs.
fn max_per_worker(max_files: Option<u64>, workers: usize) -> usize {
    let files = max_files.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX);
    // Half of the files at least: with a very low limit the reserve alone would leave none for connections.
    let for_connections = files.saturating_sub(RESERVED_FILES).max(files / 2);
    (for_connections / workers.max(1)).clamp(1, MAX_PER_WORKER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(text: &str) -> Option<IpAddr> {
        text.parse().ok()
    }

    #[test]
    fn connections_of_an_address_are_bounded() {
        let connections = Connections::new(100, 2, Vec::new());
        let first = connections.try_acquire(peer("192.0.2.1"));
        let second = connections.try_acquire(peer("::ffff:192.0.2.1"));
        assert!(first.is_some() && second.is_some());

        assert!(connections.try_acquire(peer("192.0.2.1")).is_none());
        assert!(connections.try_acquire(peer("192.0.2.2")).is_some());
        drop(second);
        assert!(connections.try_acquire(peer("192.0.2.1")).is_some());
        drop(first);
        let open = connections.open.lock().unwrap();
        assert!(open.by_network.is_empty() && open.all == 0);
    }

    #[test]
    fn address_gets_a_quarter_of_all_connections_at_most() {
        for (max, setting, expected) in [(896, 1024, 224), (896, 100, 100), (100, 1024, 25), (2, 1024, 1)] {
            let connections = Connections::new(max, setting, Vec::new());

            let held: Vec<_> = (0..max).filter_map(|_| connections.try_acquire(peer("192.0.2.1"))).collect();

            assert_eq!(held.len(), expected, "{setting} of {max}");
            assert!(connections.try_acquire(peer("192.0.2.2")).is_some());
        }
    }

    #[test]
    fn connection_is_crowded_by_its_address_or_by_all() {
        let connections = Connections::new(16, 4, Vec::new());
        let of = |host: &str, count: usize| -> Vec<_> {
            (0..count).filter_map(|_| connections.try_acquire(peer(host))).collect()
        };

        let (first, second) = (of("192.0.2.1", 2), of("192.0.2.2", 3));
        assert!(!first[0].is_crowded() && second[0].is_crowded());
        let others = [of("192.0.2.3", 2), of("192.0.2.4", 2)];
        assert!(first[0].is_crowded());
        drop(others);
        assert!(!first[0].is_crowded());
    }

    #[test]
    fn trusted_proxy_is_not_bounded() {
        let connections = Connections::new(4, 1, vec!["10.0.0.0/8".parse().unwrap()]);

        let held: Vec<_> = (0..9).filter_map(|_| connections.try_acquire(peer("10.1.2.3"))).collect();

        assert_eq!(held.len(), 9);
    }

    #[test]
    fn connections_leave_files_to_the_rest_of_the_service() {
        assert_eq!(max_per_worker(Some(256), 2), 64);
        assert_eq!(max_per_worker(Some(1024), 2), 448);
        assert_eq!(max_per_worker(Some(1 << 20), 2), 25_600);
        assert_eq!(max_per_worker(None, 2), 25_600);
        assert_eq!(max_per_worker(Some(1), 4), 1);
    }
}
