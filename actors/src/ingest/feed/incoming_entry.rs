//! The entries of a fetched feed, before they are compared with those of a follower.

use parse::feed::{Feed, Item};
use sha2::{Digest, Sha256};
use web::PageUrl;

/// An entry of a fetched feed, with the values by which it is compared with existing entries.
#[derive(Debug)]
pub struct IncomingEntry {
    pub(super) item: Item,
    pub(super) url: String,
    /// The URL by which pages are compared; empty if the entry has no separate page.
    pub(super) normalized_url: String,
    pub(super) key_hash: Vec<u8>,
    pub(super) content_hash: Vec<u8>,
}

/// Computes the values by which the entries of a feed are compared. An entry without a separate page gets the URL of the
/// feed's site. Hashes all texts, so it runs on a worker.
pub fn prepare_entries(feed: Feed, feed_url: &str) -> Vec<IncomingEntry> {
    let site_url = feed.site_url.unwrap_or_else(|| feed_url.to_owned());
    let incoming = feed.items.into_iter().map(|item| {
        let url = item.url.clone().unwrap_or_else(|| site_url.clone());
        // Empty instead of the URL of the site: a bookmark of the site is not a bookmark of such an entry.
        let page = item.url.as_deref().map(PageUrl::parse);
        let normalized_url =
            page.map_or_else(String::new, |page| page.map_or_else(|_| url.clone(), |page| page.key()));
        IncomingEntry {
            key_hash: hash_parts([item.key.as_str()]),
            content_hash: content_hash(&item),
            item,
            url,
            normalized_url,
        }
    });
    incoming.collect()
}

fn content_hash(item: &Item) -> Vec<u8> {
    let Item { url, title, author, summary, text, enclosure, .. } = item;
    let enclosure = enclosure.as_ref().map(|enclosure| enclosure.url.as_str());
    let parts =
        [url.as_deref(), Some(title.as_str()), author.as_deref(), summary.as_deref(), Some(text), enclosure];
    hash_parts(parts.map(Option::unwrap_or_default))
}

fn hash_parts<'a>(parts: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    let mut hash = Sha256::new();
    for part in parts {
        // Each part with its length: otherwise ["ab", "c"] and ["a", "bc"] would have one hash.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().to_vec()
}
