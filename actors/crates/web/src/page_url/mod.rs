//! URLs of pages: which strings are accepted ([`PageUrl`]), and which URLs name the same page
//! ([`PageUrl::normalized`]).
//!
//! One parser, that of the `url` crate, reads every URL, and the value that it returns is what is compared, checked,
//! fetched and stored. A second parser could see another host in the same string.

mod normalize;

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::hash::{Hash, Hasher};

use sha2::{Digest, Sha256};
use url::Url;
use values::url::MAX_URL_CHARS;

/// A longer normalised URL is shortened to this many bytes in its key. An entry of an index in PostgreSQL holds at most 2704
/// bytes, which the key shares with the id of a user.
const MAX_PLAIN_KEY_BYTES: usize = 1500;

/// Why a URL may not be saved or fetched. Each is `URL_REJECTED` (contract.md, section 2).
///
/// The messages never repeat any part of the URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlRejection {
    /// Another scheme, or not an absolute URL.
    NotHttp,
    /// It starts like an http URL, but its host, its port or a character in it is not valid.
    Malformed,
    /// The URL has more than [`MAX_URL_CHARS`] characters.
    TooLong,
    /// `user@` or `user:password@`, which would be stored, logged and sent to others.
    Credentials,
    /// A host name of this machine or of a local network.
    LocalName,
    /// A private or reserved IP address, in the URL itself or as what its name resolves to.
    Private,
    /// A URL of this server, which serves no pages to be saved.
    Own,
    /// A port that belongs to a server other than a web server.
    Port,
}

impl UrlRejection {
    /// All rejections.
    pub const ALL: [Self; 8] = [
        Self::NotHttp,
        Self::Malformed,
        Self::TooLong,
        Self::Credentials,
        Self::LocalName,
        Self::Private,
        Self::Own,
        Self::Port,
    ];

    /// Returns what is wrong with the URL.
    pub fn problem(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::NotHttp => "the URL is not an absolute http or https URL",
            Self::Malformed => "the URL is malformed",
            Self::TooLong => return format!("the URL is longer than {MAX_URL_CHARS} characters").into(),
            Self::Credentials => "the URL contains a user name or a password",
            Self::LocalName => "the host of the URL is this machine or in a private network",
            Self::Private => "the URL leads to a private or reserved IP address",
            Self::Own => "the URL is one of this server itself",
            Self::Port => "the port of the URL is one of another service, such as SSH or a database",
        })
    }

    /// Returns what the user can do about it.
    pub fn advice(self) -> &'static str {
        match self {
            Self::NotHttp => "write it in full, such as https://site.example/page",
            Self::Malformed => "check its host, its port and its characters",
            Self::TooLong => "use a shorter one",
            Self::Credentials => "remove them",
            Self::LocalName => {
                "use the URL of a public page; the operator can allow names of the local network, but not of this machine, with \
                 fetch.allow_private"
            }
            Self::Private => {
                "use the URL of a public page, or ask the operator to allow the network (fetch.allow_private)"
            }
            Self::Own => "use the URL of another site",
            Self::Port => "use the port of a web server",
        }
    }
}

impl fmt::Display for UrlRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.problem(), self.advice())
    }
}

impl Error for UrlRejection {}

/// The URL of a page: absolute, http or https, without credentials.
///
/// It may lead to a private network: [`Guard`](crate::Guard) checks that. Two values are equal when their serialised forms
/// are; compare [`PageUrl::normalized`] to find whether two URLs name the same page.
#[derive(Clone)]
pub struct PageUrl(Url);

impl PageUrl {
    /// Parses a URL as browsers do, ignoring spaces around it. Control characters are refused, although browsers drop
    /// them, so that the URL that a user sees is the one that is fetched.
    ///
    /// # Errors
    /// [`UrlRejection::NotHttp`], [`UrlRejection::Malformed`], [`UrlRejection::TooLong`] or [`UrlRejection::Credentials`].
    pub fn parse(text: &str) -> Result<Self, UrlRejection> {
        let text = trim_and_check(text)?;
        Self::try_from(Url::parse(text).map_err(|error| rejection(text, error))?)
    }

    /// Resolves `reference`, a link on this page or a `Location` header.
    ///
    /// # Errors
    /// The errors of [`PageUrl::parse`], except that a relative reference is valid here.
    pub fn join(&self, reference: &str) -> Result<Self, UrlRejection> {
        let reference = trim_and_check(reference)?;
        Self::try_from(self.0.join(reference).map_err(|error| rejection(reference, error))?)
    }

    /// Returns the whole URL with its fragment, as the parser serialises it.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the parsed URL, for a client or for parts that have no method here.
    pub fn url(&self) -> &Url {
        &self.0
    }

    /// Returns the host in lower case: a name in punycode, an IPv4 address, or an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Returns the port, which is the default port of the scheme if the URL contains none.
    pub fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }

    /// Returns the form in which URLs of the same page are equal (contract.md, section 6).
    pub fn normalized(&self) -> String {
        normalize::normalized(&self.0)
    }

    /// Returns the normalised URL for an index: a very long one as its start and the digest of the whole.
    pub fn key(&self) -> String {
        let whole = self.normalized();
        if whole.len() <= MAX_PLAIN_KEY_BYTES {
            return whole;
        }
        // The parser writes ASCII only, and a normalised URL has no fragment that this one could be mistaken for.
        let digest = Sha256::digest(whole.as_bytes());
        let hex = base16ct::lower::encode_string(&digest);
        format!("{}#sha256-{hex}", whole.get(..MAX_PLAIN_KEY_BYTES).unwrap_or_default())
    }
}

impl TryFrom<Url> for PageUrl {
    type Error = UrlRejection;

    fn try_from(url: Url) -> Result<Self, UrlRejection> {
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(UrlRejection::NotHttp);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(UrlRejection::Credentials);
        }
        Ok(Self(url))
    }
}

impl PartialEq for PageUrl {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for PageUrl {}

impl Hash for PageUrl {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Display for PageUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

// What a user reads is private: a stray `{:?}` in a log shows the scheme and the host only.
impl fmt::Debug for PageUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PageUrl({}://{}/..)", self.0.scheme(), self.host())
    }
}

fn trim_and_check(text: &str) -> Result<&str, UrlRejection> {
    let text = text.trim_matches(' ');
    if text.chars().any(char::is_control) {
        return Err(UrlRejection::Malformed);
    }
    // `nth` stops at the limit, where a count would read a text of any length.
    if text.chars().nth(MAX_URL_CHARS).is_some() {
        return Err(UrlRejection::TooLong);
    }
    Ok(text)
}

/// Maps an error of the parser: `http://` with an invalid host is malformed, `banana` is not a URL of a page.
fn rejection(text: &str, error: url::ParseError) -> UrlRejection {
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    // Without a scheme it is a reference such as `//[host`, which has the scheme of its page.
    let is_http = ["http", "https", ""].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    if is_http && error != url::ParseError::RelativeUrlWithoutBase {
        UrlRejection::Malformed
    } else {
        UrlRejection::NotHttp
    }
}

#[cfg(test)]
mod tests;
