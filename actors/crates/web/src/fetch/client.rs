//! The HTTP client behind the door, and the requests it sends.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH};
use reqwest::{Client, ClientBuilder, Method, Request, redirect, retry};

use super::resolve::Resolver;
use super::{SetupError, Wanted};
use crate::address::PageUrl;

/// Who asks. Fixed, so that a site can tell the service and the service tells nothing about its reader.
const USER_AGENT: &str = concat!("Carrel/", env!("CARGO_PKG_VERSION"), " (a personal reading library)");

/// Most time for a name, a connection and TLS together (faults-and-threats.md, S18).
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Most bytes of the headers of an answer over HTTP/2; over HTTP/1 there are at most a hundred headers, of
/// about 400 KiB together (hyper's own bounds; faults-and-threats.md, S20).
const MAX_HEADER_BYTES: u32 = 64 * 1024;

pub(super) fn build(resolver: Resolver) -> Result<Client, SetupError> {
    Ok(builder(resolver).build()?)
}

pub(super) fn builder(resolver: Resolver) -> ClientBuilder {
    install_crypto();
    Client::builder()
        .user_agent(USER_AGENT)
        .dns_resolver(Arc::new(resolver))
        .redirect(redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .retry(retry::never())
        // A brotli stream may ask for a window of a gigabyte, and its decoder takes it (half of that was measured for
        // 324 bytes sent; faults-and-threats.md, S19). Servers that have brotli have gzip.
        .no_brotli()
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_max_header_list_size(MAX_HEADER_BYTES)
        .http1_ignore_invalid_headers_in_responses(true)
        // Each request resolves and checks anew, and nothing outlives it: no connection, no timer.
        .pool_max_idle_per_host(0)
}

/// A GET of this page. A validator that cannot stand in a header is left out: the page then comes whole.
pub(super) fn request(url: &PageUrl, wanted: &Wanted) -> Request {
    let mut request = Request::new(Method::GET, url.url().clone());
    let headers = request.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static(wanted.accept));
    let mut validator = |name: HeaderName, value: &Option<String>| {
        if let Some(value) = value.as_deref().and_then(|value| HeaderValue::from_str(value).ok()) {
            headers.insert(name, value);
        }
    };
    validator(IF_NONE_MATCH, &wanted.if_none_match);
    validator(IF_MODIFIED_SINCE, &wanted.if_modified_since);
    request
}

/// The beginnings of a client for a service that the operator configured: it may lead anywhere, and follows nothing.
pub fn service_client() -> ClientBuilder {
    install_crypto();
    Client::builder()
        .user_agent(USER_AGENT)
        .redirect(redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .retry(retry::never())
        .http2_max_header_list_size(MAX_HEADER_BYTES)
}

/// TLS by ring, once for the process; an Err says that somebody else has installed a provider already.
fn install_crypto() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
