//! Fetches pages, feeds and files from the web. Every request to a URL that a user, a page or a feed named goes through
//! [`Fetcher`]; nothing else in the server connects to such a URL.
//!
//! [`Fetcher`] guarantees (rows S1 to S21):
//! - no connection to an IP address that [`Guard`] refuses, the server's own origin included, whether the address is in the
//!   URL, was resolved (the address that was checked is the one that is connected to), or is the target of a redirect;
//! - one deadline for names, connections, redirects and the body together, at most [`MAX_REDIRECTS`] redirects, and a maximum
//!   of decompressed bytes in memory;
//! - no cookies, no credentials, no referrer, no proxy, and one fixed User-Agent.
//!
//! A redirect may lead from https to http, as in a browser's address bar: there is nothing secret to lose. Dropping the
//! future of a fetch closes its connection.

mod body;
mod client;
mod content_type;
mod error;
mod headers;
mod host_throttle;
mod request;
mod resolve;

use std::sync::Arc;
use std::time::Duration;

use disk::{Scratch, ScratchFile};
use ipnet::IpNet;
use reqwest::{Client, Response, StatusCode, header};
use text::charset;
use tokio::time::{Instant, timeout_at};

use crate::guard::Guard;
use crate::page_url::{PageUrl, UrlRejection};

pub use client::{download_client, install_crypto_provider, service_client};
pub use content_type::ContentType;
pub use error::{ClientSetupError, FetchError, SaveError};
pub use headers::{ResponseHeaders, WallClock, retry_after};
pub use host_throttle::{HostPermit, HostThrottle, site_key};
pub use request::{FetchRequest, MAX_REDIRECTS};
pub use resolve::{HostLookup, SystemLookup};

/// The bounds of a fetcher, and where it may connect to.
#[derive(Debug, Clone)]
pub struct FetchSettings {
    /// Timeout of one fetch, from the first name to the last byte (`fetch.timeout_seconds`).
    pub timeout: Duration,
    /// Maximum length of a body in decompressed bytes (`fetch.max_bytes`).
    pub max_bytes: u64,
    /// Timeout for the body of a fetch into a file (`fetch.file_timeout_seconds`).
    pub file_timeout: Duration,
    /// Maximum length of such a body in decompressed bytes (`fetch.max_file_bytes`).
    pub max_file_bytes: u64,
    /// Networks that may be fetched although they are private (`fetch.allow_private`).
    pub allow_private: Vec<IpNet>,
    /// `server.base_url`, whose origin is never fetched.
    pub own_url: Option<PageUrl>,
}

/// A page with its body in memory, or the news that it has not changed.
#[derive(Clone)]
pub struct FetchedPage {
    /// The URL that responded, after redirects.
    pub url: PageUrl,
    /// Whether there were redirects and all of them were permanent (301, 308), so that the URL has moved.
    pub redirected_permanently: bool,
    /// 200 to 299; or 304, only if the request had validators.
    pub status: u16,
    /// The `Content-Type` of the body; `None` if the server sent none that can be parsed.
    pub content_type: Option<ContentType>,
    /// The other headers that callers use.
    pub headers: ResponseHeaders,
    /// The whole body, decompressed; empty with a 304.
    pub body: Vec<u8>,
}

impl FetchedPage {
    /// Returns whether the stored copy is still current (304). The body is empty then.
    pub fn is_unchanged(&self) -> bool {
        self.status == StatusCode::NOT_MODIFIED.as_u16()
    }

    /// Returns the media type in lower case, without parameters: `text/html`.
    pub fn media_type(&self) -> Option<&str> {
        self.content_type.as_ref().map(ContentType::essence)
    }

    /// Decodes the body, in the encoding that it declares or else in one that is detected.
    pub fn text(&self) -> String {
        charset::decode(
            &self.body,
            self.content_type.as_ref().and_then(ContentType::charset),
            self.url.host(),
        )
    }
}

/// The treatment of the body of a response, decided by its media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyPolicy {
    /// Read the body into memory, within the timeout and the maximum length of a page.
    Memory,
    /// Write the body to a file, within the timeout and the maximum length of a file.
    File,
    /// Do not read the body; its connection is closed.
    Skip,
}

/// The result of a fetch whose body is handled by a [`BodyPolicy`].
pub enum FetchOutcome {
    /// The page that [`BodyPolicy::Memory`] read.
    Page(Box<FetchedPage>),
    /// The file that [`BodyPolicy::File`] wrote; it is deleted when this is dropped.
    File(ScratchFile),
    /// A complete response whose body was not read, by [`BodyPolicy::Skip`].
    Skipped,
}

/// The guarded HTTP client. Clones are cheap; the server has one.
#[derive(Clone)]
pub struct Fetcher {
    guard: Arc<Guard>,
    client: Client,
    clock: WallClock,
    timeout: Duration,
    max_bytes: u64,
    file_timeout: Duration,
    max_file_bytes: u64,
}

/// The response at the end of all redirects, its body not read yet.
struct FinalResponse {
    url: PageUrl,
    redirected_permanently: bool,
    response: Response,
}

/// A redirect to another URL, which is not checked by the guard yet.
struct Redirect {
    target: PageUrl,
    is_permanent: bool,
}

/// The result of one request.
enum Exchange {
    Response(Response),
    Redirect(Redirect),
}

impl Fetcher {
    /// Creates a fetcher that uses the resolver of the system. The clock is read when a response asks to be retried at a date.
    ///
    /// # Errors
    /// [`ClientSetupError`], most likely because the certificates of the system cannot be read.
    pub fn new(settings: FetchSettings, clock: WallClock) -> Result<Self, ClientSetupError> {
        Self::with_lookup(settings, clock, Arc::new(SystemLookup))
    }

    /// Creates a fetcher that uses another resolver; the IP addresses from it are checked in the same way.
    ///
    /// # Errors
    /// The same errors as [`Fetcher::new`].
    pub fn with_lookup(
        settings: FetchSettings,
        clock: WallClock,
        lookup: Arc<dyn HostLookup>,
    ) -> Result<Self, ClientSetupError> {
        let FetchSettings { timeout, max_bytes, file_timeout, max_file_bytes, allow_private, own_url } =
            settings;
        let guard = Arc::new(Guard::new(allow_private, own_url.as_ref()));
        let client = client::build(resolve::GuardedResolver::new(lookup, guard.clone()))?;
        Ok(Self { guard, client, clock, timeout, max_bytes, file_timeout, max_file_bytes })
    }

    /// Returns the rules of where fetches may go, for a check of a URL before it is fetched.
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Fetches a page into memory, following redirects.
    ///
    /// # Errors
    /// [`FetchError`], for everything except a complete body with a status of 200 to 299, or a requested 304.
    pub async fn get(&self, url: &PageUrl, request: FetchRequest) -> Result<FetchedPage, FetchError> {
        let fetch = async { self.read_page(self.follow(url, &request).await?, &request).await };
        within(self.timeout, fetch).await
    }

    /// Fetches what may be a page or a file: `policy` decides by the media type, which is `None` if the server declares
    /// none. A file has a separate timeout and maximum length.
    ///
    /// # Errors
    /// [`SaveError::Fetch`] with the errors of [`Self::get`]; [`SaveError::Disk`] when a file could not be written.
    pub async fn get_or_save(
        &self,
        url: &PageUrl,
        request: FetchRequest,
        scratch: &Scratch,
        policy: impl Fn(Option<&str>) -> BodyPolicy,
    ) -> Result<FetchOutcome, SaveError> {
        let deadline = Instant::now() + self.timeout;
        let timed_out = || FetchError::Timeout(self.timeout);
        let follow = async {
            let last = self.follow(url, &request).await?;
            // Before the policy reads the media type: an error page is neither a page nor a file to keep.
            self.require_success(&last.response)?;
            Ok(last)
        };
        let last = timeout_at(deadline, follow).await.unwrap_or_else(|_| Err(timed_out()))?;
        let content_type = ContentType::from_headers(last.response.headers());
        match policy(content_type.as_ref().map(ContentType::essence)) {
            BodyPolicy::Skip => Ok(FetchOutcome::Skipped),
            BodyPolicy::Memory => {
                let page = timeout_at(deadline, self.read_page(last, &request)).await;
                Ok(FetchOutcome::Page(Box::new(page.unwrap_or_else(|_| Err(timed_out()))?)))
            }
            BodyPolicy::File => {
                // A file gets a new deadline: a recording takes longer than any page, and its headers have arrived in time.
                let save = body::save(last.response, scratch, self.max_file_bytes);
                within(self.file_timeout, save).await.map(FetchOutcome::File)
            }
        }
    }

    /// Sends a form, as the hub of a feed expects it. The body of the response is not read, and no redirect is followed: the
    /// form is meant for this URL only.
    ///
    /// # Errors
    /// [`FetchError`], for everything except a status of 200 to 299.
    pub async fn post(&self, url: &PageUrl, form: &[(&'static str, String)]) -> Result<(), FetchError> {
        let send = async {
            // The URL is one that a feed named, so it is trusted no more than that of a page.
            self.guard.check_url(url)?;
            let response = self.client.post(url.url().clone()).form(form).send().await;
            self.require_success(&response.map_err(FetchError::from_exchange)?)
        };
        within(self.timeout, send).await
    }

    async fn follow(&self, start: &PageUrl, request: &FetchRequest) -> Result<FinalResponse, FetchError> {
        let mut url = start.clone();
        let mut all_permanent = true;
        let max_redirects = if request.follow_redirects { MAX_REDIRECTS } else { 0 };
        for redirects in 0..=max_redirects {
            match self.exchange(&url, request).await? {
                Exchange::Response(response) => {
                    let redirected_permanently = redirects > 0 && all_permanent;
                    return Ok(FinalResponse { url, redirected_permanently, response });
                }
                Exchange::Redirect(Redirect { target, is_permanent }) => {
                    url = target;
                    all_permanent &= is_permanent;
                }
            }
        }
        Err(FetchError::TooManyRedirects)
    }

    async fn exchange(&self, url: &PageUrl, request: &FetchRequest) -> Result<Exchange, FetchError> {
        // The resolver never sees an IP address that is written in the URL, so it is checked here.
        self.guard.check_url(url)?;
        let sent = self.client.execute(client::get_request(url, request)).await;
        let response = sent.map_err(FetchError::from_exchange)?;
        let status = response.status();
        match response.headers().get(header::LOCATION) {
            Some(location) if is_redirect(status) => {
                // Header values are bytes; a `Location` in another encoding than UTF-8 names no URL.
                let reference =
                    std::str::from_utf8(location.as_bytes()).map_err(|_| UrlRejection::Malformed)?;
                let target = url.join(reference)?;
                Ok(Exchange::Redirect(Redirect { target, is_permanent: is_permanent(status) }))
            }
            Some(_) | None => Ok(Exchange::Response(response)),
        }
    }

    async fn read_page(
        &self,
        last: FinalResponse,
        request: &FetchRequest,
    ) -> Result<FetchedPage, FetchError> {
        let FinalResponse { url, redirected_permanently, response } = last;
        let status = response.status();
        let headers = ResponseHeaders::from_map(response.headers());
        // A 304 without a condition in the request is a fault of the server: there is no stored copy that it could confirm.
        let unchanged = status == StatusCode::NOT_MODIFIED && request.is_conditional();
        if !unchanged {
            self.require_success(&response)?;
        }
        let content_type = ContentType::from_headers(response.headers());
        let max_bytes = request.max_bytes.unwrap_or(self.max_bytes);
        let body = if unchanged { Vec::new() } else { body::read_body(response, max_bytes).await? };
        Ok(FetchedPage { url, redirected_permanently, status: status.as_u16(), content_type, headers, body })
    }

    /// Fails unless the status is 200 to 299.
    fn require_success(&self, response: &Response) -> Result<(), FetchError> {
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let retry_after = retry_after(response.headers(), (self.clock)());
        // The host that responded, which after redirects is not the one that was asked, is the one that asks for a delay.
        let url = PageUrl::parse(response.url().as_str());
        let host = url.map_or_else(|_| String::new(), |url| site_key(&url));
        Err(FetchError::Status { status: status.as_u16(), retry_after, host })
    }
}

async fn within<T, E: From<FetchError>>(
    timeout: Duration,
    fetch: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    tokio::time::timeout(timeout, fetch).await.unwrap_or_else(|_| Err(FetchError::Timeout(timeout).into()))
}

fn is_redirect(status: StatusCode) -> bool {
    // Not 300, 304, 305 and 306: none of them names the page to fetch instead.
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

fn is_permanent(status: StatusCode) -> bool {
    // After the others the page may be at the first URL again, so a bookmark keeps it.
    matches!(status.as_u16(), 301 | 308)
}

#[cfg(test)]
mod tests;
