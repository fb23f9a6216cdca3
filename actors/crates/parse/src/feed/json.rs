//! What a JSON Feed says of where it is told of (JSON Feed 1.1: `hubs`, `feed_url`).

use serde::Deserialize;
use serde_json::from_slice;
use url::Url;

use super::address;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Said {
    feed_url: Option<String>,
    hubs: Vec<Hub>,
}

#[derive(Deserialize)]
struct Hub {
    #[serde(rename = "type")]
    kind: String,
    url: String,
}

/// Its hub by WebSub, and the address by which it names itself.
pub fn hub_and_own(feed: &[u8], base: &Url) -> (Option<String>, Option<String>) {
    let Said { feed_url, hubs } = from_slice(feed).unwrap_or_default();
    let hub = hubs.iter().find(|hub| hub.kind.eq_ignore_ascii_case("WebSub"));
    (hub.and_then(|hub| address(&hub.url, base)), feed_url.and_then(|own| address(&own, base)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hub_and_own_address_are_read() {
        let base = Url::parse("https://example.org/feed.json").unwrap();
        let feed = br#"{"feed_url": "/own.json", "hubs": [{"type": "rssCloud", "url": "https://a.example/"}, {"type": "WebSub", "url": "https://hub.example/"}]}"#;
        let (hub, own) = hub_and_own(feed, &base);
        assert_eq!(
            (hub.as_deref(), own.as_deref()),
            (Some("https://hub.example/"), Some("https://example.org/own.json"))
        );
        assert_eq!(hub_and_own(b"{\"hubs\": 1}", &base), (None, None));
    }
}
