//! The HTTP clients, and the requests that the fetcher sends.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH};
use reqwest::{Client, ClientBuilder, Method, Request, redirect, retry};

use super::error::ClientSetupError;
use super::request::FetchRequest;
use super::resolve::GuardedResolver;
use crate::page_url::PageUrl;

/// Fixed, so that sites can recognise the server and learn nothing about its user.
const USER_AGENT: &str = concat!("Carrel/", env!("CARGO_PKG_VERSION"), " (a personal reading library)");

/// Timeout for resolving a name, connecting and TLS together (row S18).
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum length of the headers of an HTTP/2 response. An HTTP/1 response has at most 100 headers of about 400 KiB together
/// (bounds of hyper; row S20).
const MAX_HEADER_BYTES: u32 = 64 * 1024;

/// Redirects of a download.
const MAX_DOWNLOAD_REDIRECTS: usize = 5;

pub(super) fn build(resolver: GuardedResolver) -> Result<Client, ClientSetupError> {
    Ok(builder(resolver).build()?)
}

pub(super) fn builder(resolver: GuardedResolver) -> ClientBuilder {
    install_crypto_provider();
    Client::builder()
        .user_agent(USER_AGENT)
        .dns_resolver(Arc::new(resolver))
        // The fetcher follows redirects itself, because each target is checked by the guard first.
        .redirect(redirect::Policy::none())
        .referer(false)
        // A proxy of the environment would resolve the names itself, so the check of the resolved address would be void.
        .no_proxy()
        // Retries belong to jobs.
        .retry(retry::never())
        // A brotli stream may declare a window of a gigabyte, and its decoder allocates it (half of that was measured for
        // 324 bytes sent; row S19). Servers that support brotli support gzip.
        .no_brotli()
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_max_header_list_size(MAX_HEADER_BYTES)
        // Some servers send lines that are no valid headers. Browsers skip them, so a page is not refused for one.
        .http1_ignore_invalid_headers_in_responses(true)
        // Each request resolves and checks the name again, and leaves no connection or timer behind.
        .pool_max_idle_per_host(0)
}

/// Builds the GET request. A validator that is not valid in a header is left out, and the whole page is sent.
pub(super) fn get_request(url: &PageUrl, request: &FetchRequest) -> Request {
    let mut get = Request::new(Method::GET, url.url().clone());
    let headers = get.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static(request.accept));
    let mut validator = |name: HeaderName, value: &Option<String>| {
        if let Some(value) = value.as_deref().and_then(|value| HeaderValue::from_str(value).ok()) {
            headers.insert(name, value);
        }
    };
    validator(IF_NONE_MATCH, &request.if_none_match);
    validator(IF_MODIFIED_SINCE, &request.if_modified_since);
    get
}

/// Returns a builder of a client for a service that the operator configured, such as the endpoint of a model. It may connect to any IP
/// address and follows no redirects; the caller sets the timeouts.
pub fn service_client() -> ClientBuilder {
    install_crypto_provider();
    Client::builder()
        .user_agent(USER_AGENT)
        // A redirect could send the operator's key, or the text of a user, to another host.
        .redirect(redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .retry(retry::never())
        .http2_max_header_list_size(MAX_HEADER_BYTES)
}

/// Returns a builder of a client for downloads from URLs that the program contains, such as those of models. It may connect to any IP
/// address; the caller sets the timeouts.
pub fn download_client() -> ClientBuilder {
    install_crypto_provider();
    // The proxy of the environment is used: the URLs are not a user's, so there is no address to check, and a machine may reach the
    // internet in no other way.
    Client::builder()
        // From the URL of a file to its storage, which is another host.
        .redirect(redirect::Policy::limited(MAX_DOWNLOAD_REDIRECTS))
        // A range of a compressed response could not be appended to the part of the file that is there.
        .no_gzip()
        .no_brotli()
        .no_deflate()
        .no_zstd()
}

/// Installs ring as the provider of TLS for the process, where none is installed yet. Clients of other crates that use rustls call it
/// before they are built.
pub fn install_crypto_provider() {
    // An error means that a provider is installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
