//! # The web
//!
//! URLs of pages, the rules of where the server may connect to, and the HTTP client that keeps them. Every request to a URL
//! that a user, a page or a feed named goes through [`Fetcher`]; requests to services that the operator configured are sent by
//! clients from [`service_client`], and files at URLs that the program contains (models) are downloaded by clients from
//! [`download_client`]. The S3 client of crate `storage` alone brings HTTP of its own.
//!
//! | To | Call |
//! |---|---|
//! | parse the URL of a page, or a link on a page | [`PageUrl::parse`], [`PageUrl::join`] |
//! | compare two URLs, or store one in an index | [`PageUrl::normalized`], [`PageUrl::key`] |
//! | check a URL before it is stored | [`Guard::check_url`] |
//! | check an IP address or the name of a host | [`Guard::check_ip`], [`is_local_name`] |
//! | fetch a page or a feed into memory | [`Fetcher::get`] |
//! | fetch a page into memory or a file onto the disk | [`Fetcher::get_or_save`] |
//! | send a form | [`Fetcher::post`] |
//! | take turns at a host, and respect its `Retry-After` | [`HostThrottle`] |
//! | count requests of a site | [`site_key`] |
//! | build a client for a configured service | [`service_client`], [`retry_after`] |
//! | build a client for downloads | [`download_client`] |
//! | install the provider of TLS before another client is built | [`install_crypto_provider`] |
//! | send requests to this server itself, to test the connection | [`probe`] |
//!
//! A fetch never connects to an IP address that [`Guard`] refuses (SSRF): the addresses of a name are checked after it is
//! resolved, the client connects to just those, and each redirect is checked in the same way. One deadline covers names,
//! connections, at most [`MAX_REDIRECTS`] redirects and the body. The decompressed body has a maximum length.
//!
//! This crate parses no HTML and no feed, retries nothing and writes no log. It depends on no rows, actors or settings: bounds
//! are arguments. No error contains a URL; the source of one may contain a host name.

mod fetch;
mod guard;
mod page_url;
pub mod probe;

pub use fetch::{
    BodyPolicy, ClientSetupError, ContentType, FetchError, FetchOutcome, FetchRequest, FetchSettings,
    FetchedPage, Fetcher, HostLookup, HostPermit, HostThrottle, MAX_REDIRECTS, ResponseHeaders, SaveError,
    SystemLookup, WallClock, download_client, install_crypto_provider, retry_after, service_client, site_key,
};
pub use guard::{Guard, is_local_name};
pub use page_url::{PageUrl, UrlRejection};
