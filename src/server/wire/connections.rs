//! Open connections, counted by the network address of their peer.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use actors::limits::network;
use ipnet::IpNet;

/// Files that the service needs besides connections: database, index, scratch files, children.
const RESERVED_FILES: usize = 128;
/// More connections of one worker than these are never served at once.
const MAX_PER_WORKER: usize = 25_600;

/// The connections of the service, for all workers together.
#[derive(Debug)]
pub struct Connections {
    max_per_address: usize,
    /// Proxies forward the connections of many clients and are not limited.
    trusted: Vec<IpNet>,
    open: Mutex<HashMap<IpAddr, usize>>,
}

/// One connection, counted until this is dropped.
#[derive(Debug)]
pub struct ConnectionSlot {
    connections: Arc<Connections>,
    /// None where the connection is not counted.
    network: Option<IpAddr>,
}

impl Connections {
    /// At most `max_per_address` connections of one address that is no trusted proxy.
    pub fn new(max_per_address: usize, trusted: Vec<IpNet>) -> Arc<Self> {
        Arc::new(Self { max_per_address, trusted, open: Mutex::default() })
    }

    /// Counts a connection of this peer; `None` if it already has the maximum.
    pub fn admit(self: &Arc<Self>, peer: Option<IpAddr>) -> Option<ConnectionSlot> {
        let peer = peer.map(|address| address.to_canonical());
        let bounded = peer.filter(|address| !self.trusted.iter().any(|proxies| proxies.contains(address)));
        let network = bounded.map(network);
        if let Some(network) = network {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            let count = open.entry(network).or_default();
            if *count >= self.max_per_address {
                return None;
            }
            *count += 1;
        }
        Some(ConnectionSlot { connections: self.clone(), network })
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let Some(network) = self.network else { return };
        let mut open = self.connections.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&network) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                open.remove(&network);
            }
        }
    }
}

/// How many connections one of `workers` workers may hold where the process may open `max_files` files: beyond that they
/// wait in the socket's queue instead of taking the files that the database needs.
pub fn max_per_worker(max_files: Option<u64>, workers: usize) -> usize {
    let files = max_files.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX);
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
        let connections = Connections::new(2, Vec::new());
        let first = connections.admit(peer("192.0.2.1"));
        let second = connections.admit(peer("::ffff:192.0.2.1"));
        assert!(first.is_some() && second.is_some());

        assert!(connections.admit(peer("192.0.2.1")).is_none());
        assert!(connections.admit(peer("192.0.2.2")).is_some());
        drop(second);
        assert!(connections.admit(peer("192.0.2.1")).is_some());
        drop(first);
        assert!(connections.open.lock().unwrap().is_empty());
    }

    #[test]
    fn trusted_proxy_is_not_bounded() {
        let connections = Connections::new(1, vec!["10.0.0.0/8".parse().unwrap()]);

        let held: Vec<_> = (0..9).filter_map(|_| connections.admit(peer("10.1.2.3"))).collect();

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
