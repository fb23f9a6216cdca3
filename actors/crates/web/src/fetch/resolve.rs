//! Names to addresses. The client only ever gets addresses that were checked, and it
//! connects to just those: a name that resolves to something else a moment later changes nothing. One
//! refused address among good ones refuses the name, because a client may try them in any order.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::address::Guard;

/// Looks names up.
pub trait Lookup: Send + Sync + 'static {
    /// The addresses of a host name, in the order in which to try them.
    fn addresses(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the system: `/etc/hosts`, DNS and what else it is configured to ask.
#[derive(Debug, Clone, Copy)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn addresses(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        async move { Ok(tokio::net::lookup_host((name, 0)).await?.map(|found| found.ip()).collect()) }.boxed()
    }
}

pub(super) struct Resolver {
    lookup: Arc<dyn Lookup>,
    guard: Arc<Guard>,
}

impl Resolver {
    /// Every address is judged.
    pub(super) fn guarded(lookup: Arc<dyn Lookup>, guard: Arc<Guard>) -> Self {
        Self { lookup, guard }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let found = self.lookup.addresses(name.as_str().to_owned());
        let guard = self.guard.clone();
        Box::pin(async move {
            let found = found.await?;
            if found.is_empty() {
                return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no addresses").into());
            }
            found.iter().try_for_each(|address| guard.address(*address))?;
            // Port 0 stands for the port of the request.
            Ok(Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}
