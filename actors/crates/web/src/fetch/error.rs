//! Why a page could not be fetched. The messages may be shown to its reader: they contain a status or a bound, never any part
//! of a URL. Their sources are for the log; one may contain a host name.

use std::error::Error;
use std::io;
use std::time::Duration;

use super::request::MAX_REDIRECTS;
use crate::page_url::UrlRejection;

/// Why a fetch failed, as a message that may be shown to the user.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The URL, an IP address that it resolved to, or a redirect is not allowed: `URL_REJECTED`.
    #[error(transparent)]
    Rejected(#[from] UrlRejection),
    /// The fetch took longer than this.
    #[error("the fetch took longer than {}", format_duration(*.0))]
    Timeout(Duration),
    /// The decompressed body has more bytes than this.
    #[error("the response is larger than {}", format_bytes(*.0))]
    TooLarge(u64),
    /// The name did not resolve: it does not exist, or the resolver failed.
    #[error("the name of the server was not found")]
    UnknownHost(#[source] reqwest::Error),
    /// No connection was made: it was refused, the network is unreachable, or TLS failed.
    #[error("the server cannot be reached")]
    Unreachable(#[source] reqwest::Error),
    /// The certificate of the server is not for this name, has expired, or has no trusted issuer.
    #[error("the certificate of the server is not trusted")]
    Untrusted(#[source] reqwest::Error),
    /// A response with an error status, or with a redirect that names no target.
    #[error("the server answered with status {status}")]
    Status {
        /// The HTTP status, which is not 200 to 299.
        status: u16,
        /// `Retry-After`, at most a day.
        retry_after: Option<Duration>,
        /// The site that responded, after redirects, as [`HostThrottle`](super::HostThrottle) names it.
        host: String,
    },
    /// More than [`MAX_REDIRECTS`] redirects, or one where none are followed.
    #[error("the server redirected more than {} times", MAX_REDIRECTS)]
    TooManyRedirects,
    /// The response is not HTTP, has too many or too large headers, or is incomplete.
    #[error("the response is incomplete or not valid HTTP")]
    InvalidResponse(#[source] reqwest::Error),
    /// A `Content-Encoding` that the request did not offer.
    #[error("the response has a Content-Encoding that is not supported")]
    UnsupportedEncoding,
}

/// Why [`Fetcher::get_or_save`](super::Fetcher::get_or_save) failed.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The page or the file could not be fetched.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The body could not be written to a file.
    #[error("the response could not be saved")]
    Disk(#[source] io::Error),
}

/// The client could not be created, most likely because the system has no root certificates (`ca-certificates`).
#[derive(Debug, thiserror::Error)]
#[error("could not create the HTTP client: install the root certificates of the system (ca-certificates)")]
pub struct ClientSetupError(#[from] reqwest::Error);

impl FetchError {
    /// Returns whether a retry would most likely fail in the same way.
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Rejected(_)
            | Self::TooLarge(_)
            | Self::TooManyRedirects
            | Self::UnsupportedEncoding
            | Self::Untrusted(_) => true,
            // 501 and 505 say that the server does not support the request; every other 5xx may pass.
            Self::Status { status, .. } => !matches!(status, 408 | 425 | 429 | 500 | 502..=504 | 506..=599),
            Self::Timeout(_) | Self::UnknownHost(_) | Self::Unreachable(_) | Self::InvalidResponse(_) => {
                false
            }
        }
    }

    /// Returns the time that the server asks to wait before a retry, at most a day; only with 429 and 503.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            // RFC 9110 defines the header for 503, and RFC 6585 for 429.
            Self::Status { status: 429 | 503, retry_after, .. } => *retry_after,
            Self::Status { .. }
            | Self::Rejected(_)
            | Self::Timeout(_)
            | Self::TooLarge(_)
            | Self::UnknownHost(_)
            | Self::Unreachable(_)
            | Self::Untrusted(_)
            | Self::TooManyRedirects
            | Self::InvalidResponse(_)
            | Self::UnsupportedEncoding => None,
        }
    }

    /// Classifies an error of the client. A rejection by the guard arrives as an error of the client's resolver.
    pub(super) fn from_exchange(error: reqwest::Error) -> Self {
        // The URL is private and must not reach the log with the error.
        let error = error.without_url();
        if let Some(rejection) = find_cause::<UrlRejection>(&error, |_| true) {
            return Self::Rejected(*rejection);
        }
        // `is_connect` comes last, because it is also true for a refused certificate and for a name that was not found.
        if find_cause(&error, |cause| matches!(cause, rustls::Error::InvalidCertificate(_))).is_some() {
            Self::Untrusted(error)
        } else if error.is_dns() {
            Self::UnknownHost(error)
        } else if error.is_connect() {
            Self::Unreachable(error)
        } else {
            Self::InvalidResponse(error)
        }
    }
}

/// Returns whether a TLS connection ended without the close_notify message.
pub(super) fn is_missing_close_notify(error: &reqwest::Error) -> bool {
    // Rustls has no type for this error, so its message is compared.
    let matches = |cause: &io::Error| {
        cause.kind() == io::ErrorKind::UnexpectedEof
            && cause.to_string().contains("without sending TLS close_notify")
    };
    find_cause(error, matches).is_some()
}

/// Returns the first matching error in the chain.
fn find_cause<'a, E: Error + 'static>(
    error: &'a (dyn Error + 'static),
    matches: fn(&E) -> bool,
) -> Option<&'a E> {
    // The error that an `io::Error` wraps is not among its sources.
    let inner = || error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    let own = error.downcast_ref().filter(|cause| matches(cause));
    own.or_else(|| find_cause(inner()?, matches)).or_else(|| find_cause(error.source()?, matches))
}

fn format_duration(duration: Duration) -> String {
    match duration.as_secs() {
        1 if duration.subsec_nanos() == 0 => "a second".to_owned(),
        _ => format!("{} seconds", duration.as_secs_f64()),
    }
}

fn format_bytes(bytes: u64) -> String {
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
    fn messages_state_the_bound_or_status() {
        assert_eq!(
            FetchError::Timeout(Duration::from_secs(30)).to_string(),
            "the fetch took longer than 30 seconds"
        );
        assert_eq!(
            FetchError::Timeout(Duration::from_millis(1500)).to_string(),
            "the fetch took longer than 1.5 seconds"
        );
        assert_eq!(FetchError::TooLarge(20_971_520).to_string(), "the response is larger than 20 MiB");
        assert_eq!(FetchError::TooLarge(2_000_000).to_string(), "the response is larger than 2 MB");
        assert_eq!(FetchError::TooLarge(999).to_string(), "the response is larger than 999 bytes");
        assert_eq!(status(404).to_string(), "the server answered with status 404");
        assert_eq!(
            FetchError::from(UrlRejection::Private).to_string(),
            "the URL leads to a private or reserved IP address; use the URL of a public page, or ask the operator to allow the \
             network (fetch.allow_private)"
        );
        assert_eq!(FetchError::TooManyRedirects.to_string(), "the server redirected more than 10 times");
    }

    #[test]
    fn lasting_failure_is_permanent() {
        for transient in [408, 425, 429, 500, 502, 503, 504, 520, 599] {
            assert!(!status(transient).is_permanent(), "{transient}");
        }
        for permanent in [300, 304, 305, 400, 401, 403, 404, 410, 418, 451, 501, 505] {
            assert!(status(permanent).is_permanent(), "{permanent}");
        }
        assert!(FetchError::Rejected(UrlRejection::Port).is_permanent());
        assert!(!FetchError::Timeout(Duration::ZERO).is_permanent());
    }

    #[test]
    fn retry_after_counts_for_429_and_503_only() {
        assert_eq!(status(429).retry_after(), Some(Duration::from_secs(60)));
        assert_eq!(status(503).retry_after(), Some(Duration::from_secs(60)));
        assert_eq!(status(404).retry_after(), None);
    }
}
