//! Addresses of pages: which text names a page of the web (`PageUrl`), by what two addresses are the
//! same page (`normalize`), and which of them the service may open at all (`Guard`).
//!
//! One parser, that of the `url` crate, reads every address, and the very value it read is what is
//! compared, guarded, fetched and stored: no second reading can see another host in the same text.

mod guard;
mod normalize;
mod ports;
mod special;

use std::fmt;
use std::hash::{Hash, Hasher};

use sha2::{Digest, Sha256};
use url::Url;

pub use guard::{Guard, is_local_name};

/// The longest address that is a key as it is, in bytes.
const LONGEST_KEY: usize = 1500;

/// Most characters of an address (contract.md, section 11, "v1").
pub const MAX_CHARS: usize = 8_192;

/// Why an address may not be saved or fetched. Every one of them is `URL_REJECTED` (contract.md, section 2).
///
/// The words follow "the address ..." and never repeat any part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Another scheme, or no absolute address at all.
    #[error("is no absolute http or https address")]
    NotHttp,
    /// It begins like one, but a host, a port or a character in it cannot be.
    #[error("is malformed")]
    Malformed,
    /// More than [`MAX_CHARS`] characters.
    #[error("is longer than 8192 characters")]
    TooLong,
    /// `user@` or `user:password@`: would be stored, logged and sent on.
    #[error("carries a user name or a password")]
    Credentials,
    /// A name that means this machine or the network around it.
    #[error("names this machine or a private network")]
    LocalName,
    /// A private or reserved address, written out, resolved or reached over a redirect.
    #[error("leads to a private or reserved address")]
    Private,
    /// The service's own address: it serves nothing that is read as a page of the web.
    #[error("is one of this service itself")]
    Own,
    /// A port at which no web server answers.
    #[error("uses a port that is not for web pages")]
    Port,
}

/// The address of a page: absolute, http or https, without credentials.
///
/// Says nothing yet about where it leads; see [`Guard`]. Equal when the serialised texts are equal;
/// whether two addresses are the same page is told by [`PageUrl::normalized`].
#[derive(Clone)]
pub struct PageUrl(Url);

impl PageUrl {
    /// Reads an address as a browser would. White space around it is no part of it; a control character
    /// anywhere is refused, though browsers would drop it, so that what is shown is what is fetched.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let text = checked(text)?;
        Self::try_from(Url::parse(text).map_err(|error| refusal(text, error))?)
    }

    /// The address that `reference`, a link or a `Location`, names on this page.
    pub fn join(&self, reference: &str) -> Result<Self, Refusal> {
        let reference = checked(reference)?;
        Self::try_from(self.0.join(reference).map_err(|error| refusal(reference, error))?)
    }

    /// The whole address, with its fragment, as the parser writes it.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The parsed address.
    pub fn url(&self) -> &Url {
        &self.0
    }

    /// The host in lower case: a name in punycode, an IPv4 address, or an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// The port, the scheme's own when none is written.
    pub fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }

    /// What two addresses are compared by (contract.md, section 6).
    pub fn normalized(&self) -> String {
        normalize::normalized(&self.0)
    }

    /// The normalised address as an index holds it: of a very long one the beginning and a digest of all of it. (An index
    /// of PostgreSQL holds no more than 2704 bytes.)
    pub fn key(&self) -> String {
        let whole = self.normalized();
        if whole.len() <= LONGEST_KEY {
            return whole;
        }
        // The address is ASCII: its parser has seen to that. What was normalised has no fragment of its own.
        let digest = Sha256::digest(whole.as_bytes());
        let hex = text::hexadecimal(&digest);
        format!("{}#sha256-{hex}", whole.get(..LONGEST_KEY).unwrap_or_default())
    }
}

impl TryFrom<Url> for PageUrl {
    type Error = Refusal;

    fn try_from(url: Url) -> Result<Self, Refusal> {
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(Refusal::NotHttp);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refusal::Credentials);
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

// What somebody reads is theirs: a stray `{:?}` in a log shows the host and no more.
impl fmt::Debug for PageUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PageUrl({}://{}/..)", self.0.scheme(), self.host())
    }
}

fn checked(text: &str) -> Result<&str, Refusal> {
    let text = text.trim_matches(' ');
    if text.chars().any(char::is_control) {
        return Err(Refusal::Malformed);
    }
    if text.chars().nth(MAX_CHARS).is_some() {
        return Err(Refusal::TooLong);
    }
    Ok(text)
}

/// A parser's fault in words for a person: `http://` with a bad host is malformed, `banana` is no address.
fn refusal(text: &str, error: url::ParseError) -> Refusal {
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    let of_the_web = ["http", "https", ""].iter().any(|web| scheme.eq_ignore_ascii_case(web));
    if of_the_web && error != url::ParseError::RelativeUrlWithoutBase {
        Refusal::Malformed
    } else {
        Refusal::NotHttp
    }
}

#[cfg(test)]
mod tests;
