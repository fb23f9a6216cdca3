//! The hub and the own URL of a JSON Feed (JSON Feed 1.1: `hubs`, `feed_url`).

use serde::Deserialize;
use serde_json::from_slice;
use url::Url;

use super::web_links::resolve_url;

#[derive(Default, Deserialize)]
#[serde(default)]
struct JsonFeedHead {
    feed_url: Option<String>,
    hubs: Vec<Hub>,
}

#[derive(Deserialize)]
struct Hub {
    #[serde(rename = "type")]
    kind: String,
    url: String,
}

/// Returns the feed's WebSub hub and its own URL.
pub fn hub_and_self(feed: &[u8], base: &Url) -> (Option<String>, Option<String>) {
    // The parser of feeds drops these two fields, so the document is read once more. A fault in them costs no entry.
    let JsonFeedHead { feed_url, hubs } = from_slice(feed).unwrap_or_default();
    let hub = hubs.iter().find(|hub| hub.kind.eq_ignore_ascii_case("WebSub"));
    (hub.and_then(|hub| resolve_url(&hub.url, base)), feed_url.and_then(|own| resolve_url(&own, base)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hub_and_self_url_are_read() {
        let base = Url::parse("https://example.org/feed.json").unwrap();
        let feed = br#"{"feed_url": "/own.json", "hubs": [{"type": "rssCloud", "url": "https://a.example/"}, {"type": "WebSub", "url": "https://hub.example/"}]}"#;
        let (hub, own) = hub_and_self(feed, &base);
        assert_eq!(
            (hub.as_deref(), own.as_deref()),
            (Some("https://hub.example/"), Some("https://example.org/own.json"))
        );
        assert_eq!(hub_and_self(b"{\"hubs\": 1}", &base), (None, None));
    }
}
