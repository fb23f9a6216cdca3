//! Resolves host names to IP addresses that the guard allows. The client connects to just the addresses that were checked, so
//! a name that resolves to something else a moment later (DNS rebinding) changes nothing. A name with one refused address is
//! refused.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::guard::Guard;

/// A resolver of host names. It does not check the addresses that it returns.
pub trait HostLookup: Send + Sync + 'static {
    /// Returns the IP addresses of a host name, in the order in which to try them.
    fn ip_addresses(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the system: `/etc/hosts`, DNS and whatever else it is configured to use.
#[derive(Debug, Clone, Copy)]
pub struct SystemLookup;

impl HostLookup for SystemLookup {
    fn ip_addresses(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        // The lookup requires a port, which is dropped from its result.
        async move { Ok(tokio::net::lookup_host((name, 0)).await?.map(|found| found.ip()).collect()) }.boxed()
    }
}

/// Resolves names for the client, and checks every IP address.
pub(super) struct GuardedResolver {
    lookup: Arc<dyn HostLookup>,
    guard: Arc<Guard>,
}

impl GuardedResolver {
    pub(super) fn new(lookup: Arc<dyn HostLookup>, guard: Arc<Guard>) -> Self {
        Self { lookup, guard }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let found = self.lookup.ip_addresses(name.as_str().to_owned());
        let guard = self.guard.clone();
        Box::pin(async move {
            let found = found.await?;
            if found.is_empty() {
                return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no addresses").into());
            }
            // All of them, not only the first: the client may try them in any order (row S7).
            found.iter().try_for_each(|address| guard.check_ip(*address))?;
            // Port 0 means the port of the request.
            Ok(Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}
