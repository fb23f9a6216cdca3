//! Why a page could not be fetched, in words that follow "the page ..." and that its reader may see: they hold
//! a status or a bound, never any part of an address. The cause below them is for the log; it may hold a host.

use std::error::Error;
use std::io;
use std::time::Duration;

use crate::address::Refusal;

/// A fetch that brought no page.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The address, one that it resolved to, or one that it redirected to, may not be opened: `URL_REJECTED`.
    #[error(transparent)]
    Rejected(#[from] Refusal),
    /// The whole took longer than this.
    #[error("took longer than {}", in_words(*.0))]
    Timeout(Duration),
    /// The body, unpacked, has more bytes than this.
    #[error("is larger than {}", size(*.0))]
    TooLarge(u64),
    /// The name did not resolve: it does not exist, or names cannot be looked up just now.
    #[error("is on a server whose name cannot be found")]
    UnknownHost(#[source] reqwest::Error),
    /// No connection came about.
    #[error("is on a server that cannot be reached")]
    Unreachable(#[source] reqwest::Error),
    /// The server's certificate is not for this name, has expired, or comes from nobody who is trusted.
    #[error("is on a server whose certificate is not trusted")]
    Untrusted(#[source] reqwest::Error),
    /// An answer that is no page.
    #[error("answered with status {status}")]
    Status {
        /// The status of the answer.
        status: u16,
        /// How long the server asks not to be asked again.
        retry_after: Option<Duration>,
        /// Host and port that answered, after redirects.
        host: String,
    },
    /// One redirect after the other.
    #[error("redirected more than {} times", super::MAX_REDIRECTS)]
    TooManyRedirects,
    /// The answer is no HTTP, its headers are too many or too large, or it ended before its end.
    #[error("was not sent whole, or not as web pages are sent")]
    Broken(#[source] reqwest::Error),
    /// A `Content-Encoding` that was not offered.
    #[error("was sent packed in a way that cannot be read")]
    UnknownPacking,
    /// There is no room to keep it in.
    #[error("could not be kept here")]
    Unkept(#[source] io::Error),
}

/// The client could not be made; most likely the system has no certificates of authorities (`ca-certificates`).
#[derive(Debug, thiserror::Error)]
#[error("set up the web client with the certificates of the system")]
pub struct SetupError(#[from] reqwest::Error);

impl FetchError {
    /// Whether the same fetch will most likely fail the same way: trying again soon makes no sense.
    pub fn permanent(&self) -> bool {
        match self {
            Self::Rejected(_)
            | Self::TooLarge(_)
            | Self::TooManyRedirects
            | Self::UnknownPacking
            | Self::Untrusted(_) => true,
            Self::Status { status, .. } => !matches!(status, 408 | 425 | 429 | 500 | 502..=504 | 506..=599),
            Self::Timeout(_)
            | Self::UnknownHost(_)
            | Self::Unreachable(_)
            | Self::Broken(_)
            | Self::Unkept(_) => false,
        }
    }

    /// How long the server asks not to be asked again, a day at most; only said with 429 and 503.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { status: 429 | 503, retry_after, .. } => *retry_after,
            Self::Status { .. }
            | Self::Rejected(_)
            | Self::Timeout(_)
            | Self::TooLarge(_)
            | Self::UnknownHost(_)
            | Self::Unreachable(_)
            | Self::Untrusted(_)
            | Self::TooManyRedirects
            | Self::Broken(_)
            | Self::UnknownPacking
            | Self::Unkept(_) => None,
        }
    }

    /// What became of a request or its answer. The guard's refusal comes back through the client's resolver.
    pub(super) fn of_exchange(error: reqwest::Error) -> Self {
        let error = error.without_url();
        if let Some(refusal) = find::<Refusal>(&error, |_| true) {
            return Self::Rejected(*refusal);
        }
        if find(&error, |cause| matches!(cause, rustls::Error::InvalidCertificate(_))).is_some() {
            Self::Untrusted(error)
        } else if error.is_dns() {
            Self::UnknownHost(error)
        } else if error.is_connect() {
            Self::Unreachable(error)
        } else {
            Self::Broken(error)
        }
    }
}

/// Whether a TLS connection just ended, without the message that says so. Rustls has no type for it.
pub(super) fn lacks_goodbye(error: &reqwest::Error) -> bool {
    let fits = |cause: &io::Error| {
        cause.kind() == io::ErrorKind::UnexpectedEof
            && cause.to_string().contains("without sending TLS close_notify")
    };
    find(error, fits).is_some()
}

/// The first cause that fits. An `io::Error` does not count what it carries among its sources.
fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static), fits: fn(&E) -> bool) -> Option<&'a E> {
    let carried = || error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    let here = error.downcast_ref().filter(|cause| fits(cause));
    here.or_else(|| find(carried()?, fits)).or_else(|| find(error.source()?, fits))
}

fn in_words(time: Duration) -> String {
    match time.as_secs() {
        1 if time.subsec_nanos() == 0 => "a second".to_owned(),
        _ => format!("{} seconds", time.as_secs_f64()),
    }
}

fn size(bytes: u64) -> String {
    const MIB: u64 = 1024 * 1024;
    const MB: u64 = 1_000_000;
    match bytes {
        _ if bytes > 0 && bytes.is_multiple_of(MIB) => format!("{} MiB", bytes / MIB),
        _ if bytes > 0 && bytes.is_multiple_of(MB) => format!("{} MB", bytes / MB),
        _ => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(status: u16) -> FetchError {
        FetchError::Status { status, retry_after: Some(Duration::from_secs(60)), host: String::new() }
    }

    #[test]
    fn a_person_can_read_why() {
        assert_eq!(FetchError::Timeout(Duration::from_secs(30)).to_string(), "took longer than 30 seconds");
        assert_eq!(
            FetchError::Timeout(Duration::from_millis(1500)).to_string(),
            "took longer than 1.5 seconds"
        );
        assert_eq!(FetchError::TooLarge(20_971_520).to_string(), "is larger than 20 MiB");
        assert_eq!(FetchError::TooLarge(2_000_000).to_string(), "is larger than 2 MB");
        assert_eq!(FetchError::TooLarge(999).to_string(), "is larger than 999 bytes");
        assert_eq!(status(404).to_string(), "answered with status 404");
        assert_eq!(FetchError::from(Refusal::Private).to_string(), "leads to a private or reserved address");
        assert_eq!(FetchError::TooManyRedirects.to_string(), "redirected more than 10 times");
    }

    #[test]
    fn what_may_pass_is_tried_again() {
        for passing in [408, 425, 429, 500, 502, 503, 504, 520, 599] {
            assert!(!status(passing).permanent(), "{passing}");
        }
        for lasting in [300, 304, 305, 400, 401, 403, 404, 410, 418, 451, 501, 505] {
            assert!(status(lasting).permanent(), "{lasting}");
        }
        assert!(FetchError::Rejected(Refusal::Port).permanent());
        assert!(!FetchError::Timeout(Duration::ZERO).permanent());
    }

    #[test]
    fn only_a_busy_server_says_when_to_come_again() {
        assert_eq!(status(429).retry_after(), Some(Duration::from_secs(60)));
        assert_eq!(status(503).retry_after(), Some(Duration::from_secs(60)));
        assert_eq!(status(404).retry_after(), None);
    }
}
