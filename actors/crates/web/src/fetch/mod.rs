//! The one door to the web: every request to an address that a user, a page or a feed named goes through
//! `Fetcher`, and nothing else in the service opens a connection to such an address.
//!
//! What the door promises (faults-and-threats.md, S1 to S21):
//! - no connection to an address that the `Guard` refuses, the service's own among them, whether written out,
//!   resolved, resolved anew (the address that was checked is the one connected to) or reached over a redirect;
//! - one deadline over names, connections, redirects and body together, at most ten redirects, and never
//!   more unpacked bytes in memory than asked for;
//! - no cookies, no credentials, no referrer, no proxy; one fixed User-Agent.
//!
//! A redirect may lead from https to http, as in a browser's address bar: there is nothing secret to lose.
//! Dropping the future of a fetch ends it with its connection.

mod body;
mod client;
mod content_type;
mod error;
mod headers;
mod hosts;
mod resolve;

use std::sync::Arc;
use std::time::Duration;

use disk::{Scratch, ScratchFile};
use ipnet::IpNet;
use reqwest::{Client, Response, StatusCode, header};
use tokio::time::{Instant, timeout_at};

use crate::address::{Guard, PageUrl, Refusal};
use crate::charset;

pub use client::service_client;
pub use content_type::ContentType;
pub use error::{FetchError, SetupError};
pub use headers::{Headers, retry_after};
pub use hosts::{Hosts, Turn};
pub use resolve::{Lookup, SystemLookup};

/// Most redirects of one fetch (faults-and-threats.md, S10).
pub const MAX_REDIRECTS: usize = 10;

/// What a fetcher may do.
#[derive(Debug, Clone)]
pub struct FetchSettings {
    /// Most time of one fetch, from the first name to the last byte (`fetch.timeout_seconds`).
    pub timeout: Duration,
    /// Most bytes of a body, unpacked (`fetch.max_bytes`).
    pub max_bytes: u64,
    /// Most time of a fetch whose body goes into a file (`fetch.file_timeout_seconds`).
    pub file_timeout: Duration,
    /// Most bytes of such a body (`fetch.max_file_bytes`).
    pub max_file_bytes: u64,
    /// Networks that may be fetched although private (`fetch.allow_private`).
    pub allow_private: Vec<IpNet>,
    /// `server.base_url`, whose origin is never fetched.
    pub own: Option<PageUrl>,
}

/// What is asked of one fetch.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The `Accept` header.
    pub accept: &'static str,
    /// The `ETag` of what is already there; with it the answer may be 304.
    pub if_none_match: Option<String>,
    /// The `Last-Modified` of what is already there; with it the answer may be 304.
    pub if_modified_since: Option<String>,
    /// Most bytes of the body, unpacked, instead of the setting's.
    pub max_bytes: Option<u64>,
    /// Whether redirects are followed; where not, the first is [`FetchError::TooManyRedirects`].
    pub follow: bool,
}

impl Wanted {
    /// A page to read; PDFs and media are as welcome.
    pub fn page() -> Self {
        Self::kind("text/html,application/xhtml+xml;q=0.9,application/pdf;q=0.9,*/*;q=0.8")
    }

    /// A feed, or a page that names one.
    pub fn feed() -> Self {
        Self::kind(
            "application/feed+json,application/atom+xml,application/rss+xml,application/xml;q=0.9,text/xml;q=0.9,text/html;q=0.8,*/*;q=0.5",
        )
    }

    fn kind(accept: &'static str) -> Self {
        Self { accept, if_none_match: None, if_modified_since: None, max_bytes: None, follow: true }
    }

    fn is_conditional(&self) -> bool {
        self.if_none_match.is_some() || self.if_modified_since.is_some()
    }
}

/// A page as its server gave it.
#[derive(Clone)]
pub struct Fetched {
    /// The address that answered, after redirects.
    pub url: PageUrl,
    /// Whether there were redirects and each of them was permanent (301, 308): the old address is history.
    pub redirected_permanently: bool,
    /// 200 to 299; or 304, only when validators were sent.
    pub status: u16,
    /// What the body is said to be.
    pub content_type: Option<ContentType>,
    /// The other headers that somebody needs.
    pub headers: Headers,
    /// The whole body, unpacked.
    pub body: Vec<u8>,
}

impl Fetched {
    /// Whether what is already there is still right; the body is empty then.
    pub fn is_unchanged(&self) -> bool {
        self.status == StatusCode::NOT_MODIFIED.as_u16()
    }

    /// The media type in lower case, without parameters: `text/html`.
    pub fn media_type(&self) -> Option<&str> {
        self.content_type.as_ref().map(ContentType::essence)
    }

    /// The body as text, in the encoding that it declares or seems to have.
    pub fn text(&self) -> String {
        charset::decode(
            &self.body,
            self.content_type.as_ref().and_then(ContentType::charset),
            self.url.host(),
        )
    }
}

/// What is to be done with a body, once its headers tell what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// Read it into memory.
    Read,
    /// Write it to a file.
    Keep,
    /// Nothing: it is of no use.
    Leave,
}

/// What came of a fetch that decides by the headers.
pub enum Got {
    /// A page, read.
    Page(Box<Fetched>),
    /// A file.
    File(ScratchFile),
    /// The body was left where it is.
    Left,
}

/// Opens the door. Cheap to clone; one for the whole service.
#[derive(Clone)]
pub struct Fetcher {
    guard: Arc<Guard>,
    web: Client,
    timeout: Duration,
    max_bytes: u64,
    file_timeout: Duration,
    max_file_bytes: u64,
}

/// An answer at the end of all redirects, its body still to come.
struct Arrival {
    url: PageUrl,
    redirected_permanently: bool,
    response: Response,
}

/// One hop: an answer to read, or the address that it points to.
enum Hop {
    Arrived(Response),
    Onward { to: PageUrl, permanently: bool },
}

impl Fetcher {
    /// A fetcher that asks the system's resolver. Fails when the system's certificates cannot be read.
    pub fn new(settings: FetchSettings) -> Result<Self, SetupError> {
        Self::with_lookup(settings, Arc::new(SystemLookup))
    }

    /// A fetcher that asks another resolver; its answers are guarded like the system's.
    pub fn with_lookup(settings: FetchSettings, lookup: Arc<dyn Lookup>) -> Result<Self, SetupError> {
        let FetchSettings { timeout, max_bytes, file_timeout, max_file_bytes, allow_private, own } = settings;
        let guard = Arc::new(Guard::new(allow_private, own.as_ref()));
        let web = client::build(resolve::Resolver::guarded(lookup, guard.clone()))?;
        Ok(Self { guard, web, timeout, max_bytes, file_timeout, max_file_bytes })
    }

    /// The rules of where fetches may go, for a first answer before anything is fetched.
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Fetches a page, following redirects.
    ///
    /// Errors: everything that is not a whole body with a status of 200 to 299, or a 304 that was asked for.
    pub async fn get(&self, url: &PageUrl, wanted: Wanted) -> Result<Fetched, FetchError> {
        let fetch = async { self.read(self.follow(url, &wanted).await?, &wanted).await };
        within(self.timeout, fetch).await
    }

    /// Fetches what may be a page or a file: `how` says by the media type, of which a page's server may say nothing. A file
    /// has its own bounds of time and size.
    ///
    /// Errors: as [`Self::get`].
    pub async fn get_or_keep(
        &self,
        url: &PageUrl,
        wanted: Wanted,
        scratch: &Scratch,
        how: impl Fn(Option<&str>) -> Take,
    ) -> Result<Got, FetchError> {
        let until = Instant::now() + self.timeout;
        let late = || FetchError::Timeout(self.timeout);
        let follow = async {
            let arrival = self.follow(url, &wanted).await?;
            answered(&arrival.response)?;
            Ok(arrival)
        };
        let arrival = timeout_at(until, follow).await.unwrap_or_else(|_| Err(late()))?;
        match how(ContentType::of(arrival.response.headers()).as_ref().map(ContentType::essence)) {
            Take::Leave => Ok(Got::Left),
            Take::Read => {
                let read = timeout_at(until, self.read(arrival, &wanted)).await;
                Ok(Got::Page(Box::new(read.unwrap_or_else(|_| Err(late()))?)))
            }
            Take::Keep => {
                let keep = body::keep(arrival.response, scratch, self.max_file_bytes);
                within(self.file_timeout, keep).await.map(Got::File)
            }
        }
    }

    /// Sends a form, as a hub wants it; whatever comes back beside its status is left, and no redirect is followed: what is
    /// in the form is for this address alone.
    ///
    /// Errors: everything but a status of 200 to 299.
    pub async fn post(&self, url: &PageUrl, form: &[(&'static str, String)]) -> Result<(), FetchError> {
        let send = async {
            self.guard.literal(url)?;
            let asked = self.web.post(url.url().clone()).form(form).send();
            answered(&asked.await.map_err(FetchError::of_exchange)?)
        };
        within(self.timeout, send).await
    }

    async fn follow(&self, start: &PageUrl, wanted: &Wanted) -> Result<Arrival, FetchError> {
        let mut url = start.clone();
        let mut all_permanent = true;
        let most = if wanted.follow { MAX_REDIRECTS } else { 0 };
        for hops in 0..=most {
            match self.hop(&url, wanted).await? {
                Hop::Arrived(response) => {
                    let redirected_permanently = hops > 0 && all_permanent;
                    return Ok(Arrival { url, redirected_permanently, response });
                }
                Hop::Onward { to, permanently } => {
                    url = to;
                    all_permanent &= permanently;
                }
            }
        }
        Err(FetchError::TooManyRedirects)
    }

    async fn hop(&self, url: &PageUrl, wanted: &Wanted) -> Result<Hop, FetchError> {
        // The resolver never sees an address that is written as a number: it is judged here.
        self.guard.literal(url)?;
        let response =
            self.web.execute(client::request(url, wanted)).await.map_err(FetchError::of_exchange)?;
        let status = response.status();
        match response.headers().get(header::LOCATION) {
            Some(location) if is_redirect(status) => {
                let reference = std::str::from_utf8(location.as_bytes()).map_err(|_| Refusal::Malformed)?;
                Ok(Hop::Onward { to: url.join(reference)?, permanently: is_permanent(status) })
            }
            Some(_) | None => Ok(Hop::Arrived(response)),
        }
    }

    async fn read(&self, arrival: Arrival, wanted: &Wanted) -> Result<Fetched, FetchError> {
        let Arrival { url, redirected_permanently, response } = arrival;
        let status = response.status();
        let headers = Headers::of(response.headers());
        let unchanged = status == StatusCode::NOT_MODIFIED && wanted.is_conditional();
        if !unchanged {
            answered(&response)?;
        }
        let content_type = ContentType::of(response.headers());
        let body = if unchanged { Vec::new() } else { body::read(response, self.most(wanted)).await? };
        Ok(Fetched { url, redirected_permanently, status: status.as_u16(), content_type, headers, body })
    }

    fn most(&self, wanted: &Wanted) -> u64 {
        wanted.max_bytes.unwrap_or(self.max_bytes)
    }
}

async fn within<T>(
    time: Duration,
    fetch: impl Future<Output = Result<T, FetchError>>,
) -> Result<T, FetchError> {
    tokio::time::timeout(time, fetch).await.unwrap_or(Err(FetchError::Timeout(time)))
}

/// Whether the answer is one that has what was asked for.
fn answered(response: &Response) -> Result<(), FetchError> {
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    let retry_after = Headers::of(response.headers()).retry_after;
    let host =
        PageUrl::parse(response.url().as_str()).map_or_else(|_| String::new(), |url| hosts::name(&url));
    Err(FetchError::Status { status: status.as_u16(), retry_after, host })
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

fn is_permanent(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 308)
}

#[cfg(test)]
mod tests;
