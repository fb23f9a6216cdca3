//! Links to pages of the web.

use feed_rs::model::Link;
use url::Url;
use values::url::MAX_URL_CHARS;

/// Returns whether a link leads to the page of its feed or entry: not to a recording, a hub or the feed itself.
pub(super) fn is_page(link: &Link) -> bool {
    let feed = link.media_type.as_deref().is_some_and(|kind| kind.contains("rss") || kind.contains("atom"));
    link.target.is_none() && !feed && matches!(link.rel.as_deref(), None | Some("alternate" | ""))
}

/// Resolves a URL of the web.
pub(super) fn resolve_url(stated: &str, base: &Url) -> Option<String> {
    let stated = stated.trim();
    let url = base.join(stated).ok()?;
    let fits =
        matches!(url.scheme(), "http" | "https") && url.has_host() && url.as_str().len() <= MAX_URL_CHARS;
    (fits && !stated.is_empty()).then(|| url.into())
}
