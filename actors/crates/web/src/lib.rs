//! # The web
//!
//! URLs of pages, the rules of where the service may connect to, and the HTTP client that keeps them. Every request to a URL
//! that a user, a page or a feed named goes through [`Fetcher`]; requests to services that the operator configured begin
//! with [`service_client`].
//!
//! | To | Call |
//! |---|---|
//! | parse the URL of a page, or a link on a page | [`PageUrl::parse`], [`PageUrl::join`] |
//! | compare two URLs, or store one in an index | [`PageUrl::normalized`], [`PageUrl::key`] |
//! | check a URL before it is stored | [`Guard::literal`] |
//! | check an IP address or the name of a host | [`Guard::address`], [`is_local_name`] |
//! | fetch a page or a feed into memory | [`Fetcher::get`] |
//! | fetch a page into memory or a file onto the disk | [`Fetcher::get_or_keep`] |
//! | send a form | [`Fetcher::post`] |
//! | take turns at a host, and respect its `Retry-After` | [`Hosts`] |
//! | decode bytes in an unknown encoding | [`decoded`] |
//! | build a client for a configured service | [`service_client`], [`retry_after`] |
//! | send requests to this service itself, to test the connection | [`probe`] |
//!
//! A fetch never connects to an IP address that [`Guard`] refuses (SSRF): the addresses of a name are checked after it is
//! resolved, the client connects to just those, and each redirect is checked in the same way. One deadline covers names,
//! connections, at most [`MAX_REDIRECTS`] redirects and the body. The body, decompressed, has a maximum of bytes.
//!
//! This crate parses no HTML and no feed, retries nothing and writes no log. It knows no rows, no actors and no settings: bounds
//! are arguments. No error contains a URL; the cause of one may contain the name of a host.

mod address;
mod charset;
mod fetch;
pub mod probe;

pub use address::{Guard, MAX_CHARS, PageUrl, Refusal, is_local_name};
pub use charset::decoded;
pub use fetch::{
    ContentType, FetchError, FetchSettings, Fetched, Fetcher, Got, Headers, Hosts, Lookup, MAX_REDIRECTS,
    SetupError, SystemLookup, Take, Turn, Wanted, retry_after, service_client,
};
