//! What a fetch asks for.

/// Maximum number of redirects of one fetch (row S10).
pub const MAX_REDIRECTS: usize = 10;

/// The request of a fetch.
#[derive(Debug, Clone)]
pub struct FetchRequest {
    /// The value of the `Accept` header.
    pub accept: &'static str,
    /// The `ETag` of the stored copy; with it the response may be 304.
    pub if_none_match: Option<String>,
    /// The `Last-Modified` of the stored copy; with it the response may be 304.
    pub if_modified_since: Option<String>,
    /// Maximum length of the body in decompressed bytes, instead of [`FetchSettings::max_bytes`](super::FetchSettings::max_bytes).
    pub max_bytes: Option<u64>,
    /// Whether redirects are followed. If not, the first one is [`FetchError::TooManyRedirects`](super::FetchError::TooManyRedirects).
    pub follow_redirects: bool,
}

impl FetchRequest {
    /// Returns a request for a page to read. PDFs and media are accepted too.
    pub fn page() -> Self {
        Self::accepting("text/html,application/xhtml+xml;q=0.9,application/pdf;q=0.9,*/*;q=0.8")
    }

    /// Returns a request for a feed, or for a page that names one.
    pub fn feed() -> Self {
        Self::accepting(
            "application/feed+json,application/atom+xml,application/rss+xml,application/xml;q=0.9,text/xml;q=0.9,text/html;q=0.8,*/*;q=0.5",
        )
    }

    /// Returns a request for a picture of at most this length in decompressed bytes.
    pub fn picture(max_bytes: u64) -> Self {
        Self {
            max_bytes: Some(max_bytes),
            ..Self::accepting("image/webp,image/png,image/jpeg,image/gif;q=0.9,*/*;q=0.1")
        }
    }

    fn accepting(accept: &'static str) -> Self {
        Self { accept, if_none_match: None, if_modified_since: None, max_bytes: None, follow_redirects: true }
    }

    pub(super) fn is_conditional(&self) -> bool {
        self.if_none_match.is_some() || self.if_modified_since.is_some()
    }
}
